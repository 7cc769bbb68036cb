//! The first iteration against steady ones: the causes of the difference, and every
//! iteration of every start.

use maud::{Markup, html};
use preheat_model::run::CauseSeconds;

use super::RunPage;
use crate::html::cause_style;
use crate::html::figure::{Figure, Table, grid};
use crate::html::plot::{POINTS_OF_LINE, Series, starts_key};
use crate::html::scale::Axis;
use crate::html::svg::{Anchor, Svg};
use crate::units::{counted, duration, minus, number, percent, ratio};

/// The number of causes with a separate bar.
const BARS: usize = 6;

/// Adds the section.
pub(super) fn add(page: &mut RunPage) {
    let mut figures = Vec::new();
    figures.extend(excess(page));
    let series = iterations(page);
    let several = page.report.starts.len() > 1;
    let legend = series.as_ref().map(|_| starts_key(several));
    figures.extend(series);
    // Two iterations have no steady state.
    let only_two = page.report.first_excess.is_empty() && !page.report.second_excess.is_empty();
    let (title, other) = match only_two {
        true => ("First and second", "the second"),
        false => ("First and steady", "a steady one"),
    };
    let lead = format!(
        "The excess of the first iteration over {other}, and all iterations of all starts, each of \
         which is a fresh process."
    );
    page.section(
        "first-and-steady",
        title,
        &lead,
        html! { @if let Some(legend) = legend { (legend) } (grid(&figures)) },
    );
}

fn excess(page: &mut RunPage) -> Option<Markup> {
    let report = page.report;
    let (excess, title) = match report.first_excess.is_empty() {
        false => (
            &report.first_excess,
            "The first iteration against a steady one, by cause",
        ),
        true => (
            &report.second_excess,
            "The first iteration against the second, by cause",
        ),
    };
    let mut parts: Vec<&CauseSeconds> = excess
        .iter()
        .filter(|part| part.seconds.is_finite() && part.seconds != 0.0)
        .collect();
    // Sort by size, regardless of sign: savings of the first iteration are drawn too.
    parts.sort_by(|a, b| b.seconds.abs().total_cmp(&a.seconds.abs()));
    let sizes = parts.iter().map(|part| part.seconds.abs());
    let largest = sizes.fold(0.0, f64::max);
    if parts.is_empty() {
        return None;
    }
    let total: f64 = parts.iter().map(|part| part.seconds).sum();
    let (width, row) = (480.0, 46.0);
    let axis = Axis::from_zero(largest, largest, duration).over(0.0, width);
    let drawn = parts.len().min(BARS);
    let mut svg = Svg::new(width, drawn as f64 * row + 4.0);
    for (index, part) in parts.iter().take(BARS).enumerate() {
        let top = index as f64 * row;
        let (name, time) = (part.cause.as_str(), minus(&duration(part.seconds)));
        svg.text("axis-name", Anchor::Start, (0.0, top + 16.0), name);
        svg.text("axis-name strong", Anchor::End, (width, top + 16.0), &time);
        svg.rect(
            &format!("bar {}", cause_style::class(part.cause)),
            (0.0, top + 22.0),
            (axis.at(part.seconds.abs()).max(1.0), 16.0),
            &format!("{name} {time}"),
        );
    }
    let more = if total < 0.0 { "less" } else { "more" };
    let mut note = format!("{} {more} in total", duration(total.abs()));
    if parts.len() > BARS {
        note.push_str(&format!(", the {BARS} largest are shown"));
    }
    // With mixed signs, parts are not shares of their sum.
    let shares = parts.iter().all(|part| part.seconds > 0.0);
    let mut head = vec!["cause", "time"];
    head.extend(shares.then_some("share"));
    let mut data = Table::new(&head);
    for part in &parts {
        let mut row = vec![
            part.cause.as_str().to_owned(),
            minus(&duration(part.seconds)),
        ];
        row.extend(shares.then(|| percent(part.seconds / total)));
        data.rows.push(row);
    }
    let figure = Figure {
        title: title.to_owned(),
        drawings: vec![svg.finish(&page.id(), "plot-chart", title, &note)],
        note,
        data,
        ..Figure::default()
    };
    Some(figure.html())
}

fn iterations(page: &mut RunPage) -> Option<Markup> {
    let report = page.report;
    let iterations: Vec<Vec<f64>> = report
        .starts
        .iter()
        .map(|start| start.iterations.clone())
        .collect();
    let mut numbers = Vec::new();
    numbers.extend(
        report
            .first
            .map(|first| format!("first {}", duration(first))),
    );
    numbers.extend(
        report
            .steady
            .map(|steady| format!("steady {}", duration(steady))),
    );
    numbers.extend(report.ratio.map(|interval| ratio(interval.value)));
    numbers.extend(report.class.map(|class| class.as_str().to_owned()));
    numbers.extend(
        report
            .consistency
            .filter(|_| report.starts.len() > 1)
            .map(|consistency| consistency.as_str().to_owned()),
    );
    numbers.extend(
        report
            .warmup
            .filter(|warmup| warmup.is_finite())
            .map(
                |warmup| match warmup.fract() == 0.0 && (0.0..1e9).contains(&warmup) {
                    true => format!(
                        "{} before the steady state",
                        counted(warmup as usize, "iteration")
                    ),
                    false => format!("{} iterations before the steady state", number(warmup)),
                },
            ),
    );
    numbers.extend(
        report
            .excess
            .map(|excess| format!("warm-up cost {}", duration(excess))),
    );
    let series = Series {
        iterations: &iterations,
        steady: report.steady,
        limit: POINTS_OF_LINE,
    };
    series.figure(&page.id(), "Iterations", &numbers.join(", "))
}
