//! Renders a measurement of remedies as one self-contained HTML file without scripts.

use maud::{Markup, html};
use preheat_model::measurement::{ConfigurationResult, Decision, MeasurementReport};
use preheat_model::run::{Cause, Temperature};

use crate::html::bands::{Bands, Layout, NARROW, Stack, WIDE, in_order};
use crate::html::figure::{Figure, Table, list};
use crate::html::page::{Frame, Page, cards, fact, facts, gate, header, method};
use crate::html::scale::{Axis, round_step};
use crate::html::svg::{Mark, Svg};
use crate::html::{PROGRAM_STYLE, cause_style};
use crate::html::{code, command_line, cut};
use crate::measurement;
use crate::terminal::clean;
use crate::units::{ABSENT, bytes, duration, ratio, tie};
use preheat_model::RemedyId;

/// Style rules in addition to those of all program pages.
const STYLE: &str = include_str!("style.css");

/// The page under construction.
type MeasurementPage<'a> = Page<'a, MeasurementReport>;

/// Renders the measurement as one self-contained HTML file.
pub fn measurement_html(report: &MeasurementReport) -> String {
    let mut page = Page::new(report);
    add(&mut page);
    remedies(&mut page);
    notes(&mut page);
    page.section("method", "How to read this", "", method(&METHOD));
    let command = cut(&clean(&command_line(&report.command)), 120);
    Frame {
        title: format!("preheat start: {command}"),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", cause_style::rules()),
        header: html! { (cause_style::patterns()) (top(report)) },
        body: page.finish(),
        script: "",
        version: &report.preheat,
    }
    .html()
}

/// The top of the page: the improvement, the decision, and where it was measured.
fn top(report: &MeasurementReport) -> Markup {
    let color = match report.kept.is_empty() {
        true => "open",
        false => "holds",
    };
    let mut rows = vec![
        fact("starts", measurement::about(report)),
        fact("measured", &*report.created),
        fact("by", format!("preheat {}", report.preheat)),
    ];
    if let Some(machine) = &report.machine {
        let cores = format!("{} cores, {}", machine.cores, bytes(machine.memory));
        rows.push(fact("machine", format!("{}, {cores}", machine.cpu)));
        rows.push(fact(
            "system",
            format!("{}, kernel {}", machine.os, machine.kernel),
        ));
    }
    let command = cut(&clean(&command_line(&report.command)), 300);
    let content = html! {
        (gate(color, &code(&measurement::decision(report))))
        (cards(&[facts("command", &command, &rows)]))
    };
    header(
        Some("run-header"),
        "preheat start --measure",
        &tie(&headline(report)),
        &content,
    )
}

/// The improvement by the kept remedies, as far as they are compared with plain starts.
fn headline(report: &MeasurementReport) -> String {
    let alike = |of: &&ConfigurationResult| of.against == Temperature::Process;
    let mut all = report.configurations.iter().filter(alike);
    let plain = all.clone().find(|of| of.remedies.is_empty());
    let measured = |id: &&RemedyId| all.clone().any(|of| of.remedies.contains(id));
    let wanted: Vec<&RemedyId> = report.kept.iter().filter(measured).collect();
    let kept = all.find(|of| {
        let same = of.remedies.iter().all(|id| wanted.contains(&id));
        !wanted.is_empty() && same && of.remedies.len() == wanted.len()
    });
    let time = |of: &ConfigurationResult| of.time_to_first.map(|time| duration(time.value));
    let from = plain.and_then(time);
    match (from, kept.and_then(time), kept.and_then(|of| of.times)) {
        (None, ..) => "No start could be measured.".to_owned(),
        (Some(from), _, _) if report.interrupted => format!("Interrupted; plain: {from}."),
        (Some(from), Some(to), Some(times)) => {
            format!("{} as fast: {from} → {to}.", ratio(times.value))
        }
        (Some(from), ..) if report.kept.is_empty() => {
            format!("No remedy reduces {from} significantly.")
        }
        (Some(from), ..) => format!("Plain: {from}; remedies that help are kept."),
    }
}

/// The predicted and the measured saving of each remedy.
fn remedies(page: &mut MeasurementPage) {
    let report = page.report;
    if report.remedies.is_empty() {
        return;
    }
    let beside = report.remedies.iter().any(|of| of.with_others.is_some());
    let mut head = vec!["remedy", "predicted", "alone"];
    head.extend(beside.then_some("added to the others"));
    head.push("kept");
    let mut table = Table::new(&head);
    table.words = vec![head.len() - 1];
    table.class = Some("results");
    let absent = || ABSENT.to_owned();
    for of in &report.remedies {
        let predicted = of
            .predicted
            .map(|seconds| format!("−{}", duration(seconds)));
        let mut row = vec![
            measurement::remedy(of.id),
            predicted.unwrap_or_else(absent),
            of.alone.map_or_else(absent, measurement::saved),
        ];
        row.extend(beside.then(|| of.with_others.map_or_else(absent, measurement::saved)));
        row.push(measurement::kept(of.kept).to_owned());
        table.rows.push(row);
        table.badges.push(match of.kept {
            Decision::Alone | Decision::WithOthers => "holds",
            Decision::Costs | Decision::Slows => "fails",
            Decision::Unclear | Decision::OtherForm | Decision::NotMeasured => "open",
        });
    }
    let conditions = measurement::memory_held(report)
        .into_iter()
        .chain(measurement::variables(report));
    let content = html! {
        (table.html())
        @for text in conditions { p { (text) } }
    };
    let lead = "The time that each remedy saves per start, with 95 % intervals. Predictions come from \
                a recording of a plain start, made before any remedy was measured.";
    page.section("remedies", "Predicted and measured", lead, content);
}

/// The remedies that were not measured, and the notes.
fn notes(page: &mut MeasurementPage) {
    let report = page.report;
    let skipped = report.skipped.iter().map(|other| {
        html! { b { (measurement::remedy(other.id)) } " was not measured: " (clean(&other.why)) }
    });
    let notes = report.notes.iter().map(|note| html! { (clean(note)) });
    page.section("notes", "Notes", "", list("plain", skipped.chain(notes)));
}

/// The explanation of the method, the same for every report.
const METHOD: [(&str, &str); 3] = [
    (
        "Each start counts once.",
        " Its time runs from exec of the command to the end of the first iteration, or to \
         the end of the program if nothing repeats. Times are compared on a logarithmic \
         scale: means are geometric, and 95 % intervals use Welch’s method.",
    ),
    (
        "Kept",
        " are the remedy that saves most alone, if its saving is significant, and every \
         remedy that adds a significant saving to all others together. A saving is \
         significant if chance alone would produce it in fewer than one of twenty \
         measurements, corrected for the number of remedies (Holm’s method), and if it is \
         at least half a percent of a plain start. A remedy that makes later iterations \
         significantly slower, so that 1,000 of them (or all, if there are more) lose what \
         it saves, is not kept.",
    ),
    (
        "Baselines.",
        " Remedies for a cold disk or empty caches are compared with plain starts under the \
         same conditions, which are restored before each start.",
    ),
];

// The configurations: a bar by cause for each, and a mark for every start.

/// Half the height of a bar.
const HALF_BAR: f64 = 10.0;
/// The distance from the middle of a bar to the marks below it.
const BELOW: f64 = 17.0;

/// Layouts with space for marks below the bars.
const LAYOUTS: [Layout; 2] = [
    Layout {
        row: 46.0,
        middle: 16.0,
        label: 20.5,
        ..WIDE
    },
    Layout {
        row: 64.0,
        ..NARROW
    },
];

/// The section.
fn add(page: &mut MeasurementPage) {
    let report = page.report;
    let measured = |of: &ConfigurationResult| of.values.iter().copied().fold(0.0, f64::max);
    let longest = report
        .configurations
        .iter()
        .map(measured)
        .fold(0.0, f64::max);
    if !(longest.is_finite() && longest > 0.0) {
        return;
    }
    let title = match report.iteration.is_empty() {
        true => "Time to the end of the program",
        false => "Time to first",
    };
    let description = (report.configurations.iter())
        .map(|of| {
            format!(
                "{}: {}.",
                measurement::configuration(of, report),
                measurement::time(of.time_to_first)
            )
        })
        .collect::<Vec<_>>()
        .join(" ");
    let drawings = LAYOUTS.map(|layout| {
        let svg = draw(layout, report, longest);
        svg.finish(&page.id(), layout.class, title, &description)
    });
    let causes: Vec<Cause> = (report.configurations.iter())
        .flat_map(|of| of.causes.iter())
        .filter(|of| of.seconds > 0.0)
        .map(|of| of.cause)
        .collect();
    let figure = Figure {
        title: title.to_owned(),
        note: "each bar shows the causes of a median start, each mark below it one start"
            .to_owned(),
        key: cause_style::key(&causes),
        drawings: drawings.to_vec(),
        data: table(report),
        ..Figure::default()
    };
    let lead = "The starts of all configurations were interleaved, each in a fresh process. The \
                first start of each is left out: it may have found cold disks and caches.";
    page.section("configurations", "Configurations", lead, figure.html());
}

fn draw(layout: Layout, report: &MeasurementReport, longest: f64) -> Svg {
    let step = round_step(longest, layout.ticks.min(6));
    let mut last = None;
    let news: Vec<bool> = (report.configurations.iter())
        .map(|of| last.replace(of.against) != Some(of.against))
        .collect();
    let mut bands = Bands::new(layout, &news, Axis::from_zero(longest, step, duration));
    for (row, of) in report.configurations.iter().enumerate() {
        let name = measurement::configuration(of, report);
        bands.name(row, &name);
        let value = of.time_to_first.map(|time| time.value);
        let speedup = of
            .times
            .map_or_else(String::new, |times| ratio(times.value));
        let time = value.map_or(ABSENT.to_owned(), duration);
        bands.end(row, &time, &speedup);
        let middle = bands.middle(row);
        let parts = in_order(of.causes.iter().map(|of| (of.cause, of.seconds)));
        if parts.is_empty() {
            let from = bands.axis.at(0.0);
            let to = bands.axis.at(value.unwrap_or(0.0));
            let size = ((to - from).max(0.6), 2.0 * HALF_BAR);
            bands
                .svg
                .rect("bar whole", (from, middle - HALF_BAR), size, &name);
        }
        let stack = Stack {
            axis: &bands.axis,
            top: middle - HALF_BAR,
            height: 2.0 * HALF_BAR,
            name: &name,
        };
        stack.draw(&mut bands.svg, &parts);
        for value in of.values.iter().filter(|value| value.is_finite()) {
            let at = (bands.axis.at(*value), middle + BELOW);
            let tooltip = format!("{name}: {}", duration(*value));
            bands.svg.mark(Mark::Circle, "mark start", at, &tooltip);
        }
    }
    bands.svg
}

fn table(report: &MeasurementReport) -> Table {
    let mut table = Table::new(&[
        "configuration",
        "time to first",
        "saved",
        "speedup",
        "starts",
        "recording",
    ]);
    table.words = vec![5];
    for of in &report.configurations {
        table.rows.push(vec![
            measurement::configuration(of, report),
            measurement::time(of.time_to_first),
            of.saved.map_or(ABSENT.to_owned(), measurement::saved),
            of.times
                .map_or(ABSENT.to_owned(), |times| ratio(times.value)),
            of.values.len().to_string(),
            of.recording.clone(),
        ]);
    }
    table
}
