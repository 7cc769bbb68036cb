//! The stages from process start to the first result, next to the floor of a minimal native
//! program.

use maud::{Markup, html};
use preheat_model::lab::{Experiment, ExperimentId, SampleKind, Series, names};

use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::figure::{Figure, Table, folded, key};
use crate::html::scale::{Axis, round_step};
use crate::html::svg::{Anchor, Svg};
use crate::html::{append, is_empty};
use crate::lab;
use crate::lab::html::Page;
use crate::lab::overview::{by_subject, is_part_of_first};
use crate::units::duration;

/// The number of colors before they repeat; one more color is reserved for the floor.
const COLORS: usize = 10;
/// The name of the bar of the minimal native program.
const FLOOR: &str = "floor";
/// The name of its only stage if it is drawn as a whole.
const WHOLE_NAME: &str = "a minimal native program";

/// A bar of consecutive stages.
struct Bar {
    name: String,
    parts: Vec<(String, f64)>,
}

impl Bar {
    fn total(&self) -> f64 {
        self.parts.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Adds the section.
pub(super) fn add(page: &mut Page) {
    let report = page.report;
    let mut content = Markup::default();
    for experiments in by_subject(report) {
        let figures = figures(page, &experiments);
        let title = lab::subject_title(report, experiments[0]);
        if experiments[0].device != report.device.kind {
            append(&mut content, &folded(&title, &figures));
        } else if !is_empty(&figures) {
            append(&mut content, &html! { h3 { (title) } (figures) });
        }
    }
    page.section(
        "stages",
        "Stages",
        "The stages that happen once per start, in order. The floor is the time that a minimal \
         native program needs on the same device from its first line to its first result, with a \
         precompiled kernel.",
        content,
    );
}

/// The charts of one subject, each with the floor of its device on top.
fn figures(page: &mut Page, experiments: &[&Experiment]) -> Markup {
    let native = experiments[0].framework.is_none();
    let wanted: &[(ExperimentId, &str)] = match native {
        true => &[
            (
                ExperimentId::Launch,
                "From process start to the first kernel launch",
            ),
            (
                ExperimentId::Infer,
                "From process start to the first inference",
            ),
        ],
        false => &[
            (
                ExperimentId::Train,
                "From import to the end of the first training iteration",
            ),
            (
                ExperimentId::Infer,
                "From import to the end of the first inference",
            ),
        ],
    };
    let mut charts = Markup::default();
    for (id, title) in wanted {
        let mut bars = Vec::new();
        for experiment in experiments.iter().filter(|experiment| experiment.id == *id) {
            let mut variants: Vec<&str> = Vec::new();
            for series in &experiment.series {
                if !variants.contains(&series.variant.as_str()) {
                    variants.push(&series.variant);
                }
            }
            bars.extend(
                variants
                    .into_iter()
                    .filter_map(|variant| bar(experiment, variant)),
            );
        }
        if bars.is_empty() {
            continue;
        }
        // Show its stages separately only if the other bars have the same stages.
        let whole = !native || *id != ExperimentId::Launch;
        if let Some(floor) = floor(page, &experiments[0].device, whole) {
            bars.insert(0, floor);
        }
        let chart = figure(page, title, &experiments[0].subject(), &bars);
        append(&mut charts, &chart);
    }
    charts
}

/// The bar of the minimal native program, as a whole or by stage.
fn floor(page: &Page, device: &str, whole: bool) -> Option<Bar> {
    let floor = page
        .report
        .floors
        .iter()
        .find(|floor| floor.device == device)?;
    let drawable = |(_, seconds): &(String, f64)| seconds.is_finite() && *seconds > 0.0;
    let mut parts: Vec<(String, f64)> = floor.parts.clone();
    if whole || parts.is_empty() {
        parts = vec![(WHOLE_NAME.to_owned(), floor.seconds)];
    }
    parts.retain(drawable);
    (!parts.is_empty()).then(|| Bar {
        name: FLOOR.to_owned(),
        parts,
    })
}

fn bar(experiment: &Experiment, variant: &str) -> Option<Bar> {
    let of = |kind: SampleKind| {
        experiment
            .series
            .iter()
            .filter(move |series| series.variant == variant && series.kind == kind)
            .filter(|series| series.size.is_none())
            .filter(|series| series.first.is_finite() && series.first > 0.0)
    };
    let mut parts: Vec<(String, f64)> = of(SampleKind::Stage)
        .map(|series| (series.name.clone(), series.first))
        .collect();
    // In a framework, stages come before the first iteration, except those that are steps of
    // it. Natively, all stages are part of it.
    if experiment.framework.is_some() {
        let first = |series: &&Series| {
            [names::ITERATION, names::FRESH_INPUT, names::RESIDENT_INPUT]
                .contains(&series.name.as_str())
        };
        let name = match experiment.id {
            ExperimentId::Train => "first iteration",
            _ => "first inference",
        };
        let (steps, before): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .partition(|(name, _)| is_part_of_first(name));
        let steps_take: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
        parts = before;
        let rest = of(SampleKind::Iterations)
            .find(first)
            .map(|series| series.first - steps_take);
        let named = match steps.is_empty() {
            true => name.to_owned(),
            false => format!("{name}: the rest"),
        };
        parts.extend(steps);
        parts.extend(rest.filter(|rest| *rest > 0.0).map(|rest| (named, rest)));
    }
    let name = if variant.is_empty() {
        experiment.id.id()
    } else {
        variant
    };
    (parts.len() > 1).then(|| Bar {
        name: name.to_owned(),
        parts,
    })
}

fn figure(page: &mut Page, title: &str, subject: &str, bars: &[Bar]) -> Markup {
    let mut stages: Vec<&str> = Vec::new();
    for (name, _) in bars.iter().flat_map(|bar| &bar.parts) {
        if !stages.contains(&name.as_str()) {
            stages.push(name);
        }
    }
    let longest = bars.iter().map(Bar::total).fold(0.0, f64::max);
    let name = format!("{title}, {subject}");
    let description = bars
        .iter()
        .map(|bar| format!("{}: {}.", bar.name, duration(bar.total())))
        .collect::<Vec<_>>()
        .join(" ");
    let drawings = [WIDE, NARROW].map(|layout| {
        draw(layout, bars, &stages, longest).finish(&page.id(), layout.class, &name, &description)
    });
    let mut data = Table::new(&["bar", "stage", "time"]);
    data.words = vec![1];
    for bar in bars {
        let row = |name: &str, seconds| vec![bar.name.clone(), name.to_owned(), duration(seconds)];
        data.rows
            .extend(bar.parts.iter().map(|(name, seconds)| row(name, *seconds)));
        data.rows.push(row("total", bar.total()));
    }
    let figure = Figure {
        title: title.to_owned(),
        key: stage_key(&stages),
        drawings: drawings.to_vec(),
        data,
        ..Figure::default()
    };
    figure.html()
}

fn color(stages: &[&str], index: usize) -> usize {
    if stages[index] == WHOLE_NAME {
        COLORS
    } else {
        index % COLORS
    }
}

/// The legend: the number and color of each stage.
fn stage_key(stages: &[&str]) -> Markup {
    key(stages.iter().enumerate().map(|(index, name)| {
        html! {
            span class={ "stage s" (color(stages, index)) } { (index + 1) }
            (lab::stage_name(name))
        }
    }))
}

fn draw(layout: Layout, bars: &[Bar], stages: &[&str], longest: f64) -> Svg {
    let step = round_step(longest, layout.ticks.min(5));
    let news: Vec<bool> = (0..bars.len())
        .map(|row| row > 0 && bars[row - 1].name == FLOOR)
        .collect();
    let mut bands = Bands::new(layout, &news, Axis::from_zero(longest, step, duration));
    for (row, bar) in bars.iter().enumerate() {
        bands.name(row, &bar.name);
        bands.end(row, &duration(bar.total()), "");
        let top = bands.middle(row) - 9.0;
        let mut sum = 0.0;
        for (name, seconds) in &bar.parts {
            let from = bands.axis.at(sum);
            sum += seconds;
            let width = bands.axis.at(sum) - from;
            let index = stages.iter().position(|stage| stage == name).unwrap_or(0);
            let tooltip = format!("{}: {name} {}", bar.name, duration(*seconds));
            // A stage that is too short to see is still drawn as a line.
            let class = format!("bar s{}", color(stages, index));
            bands
                .svg
                .rect(&class, (from, top), (width.max(0.6), 18.0), &tooltip);
            if width > 17.0 {
                let number = (index + 1).to_string();
                let class = format!("bar-number n{}", color(stages, index));
                let middle = (from + width / 2.0, top + 13.0);
                bands.svg.text(&class, Anchor::Middle, middle, &number);
            }
        }
    }
    bands.svg
}
