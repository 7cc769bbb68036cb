//! The time line from exec to the third iteration, thread by thread. The script draws
//! it; without the script there is the path alone, as a still picture.

use preheat_analyze::run::{Cause, RunView, Segment};

use super::super::RunPage;
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::escape::escape;
use crate::html::figure::{Figure, Table};
use crate::html::look;
use crate::html::scale::{Axis, round_step};
use crate::html::svg::Svg;
use crate::units::duration;

/// Of the path, so many parts are in the still picture and in the data: the longest.
const STILL: usize = 150;
const DATA: usize = 60;

/// The section.
pub(in crate::run::html) fn add(page: &mut RunPage, view: &RunView) {
    if view.path.is_empty() && view.rows.is_empty() {
        return;
    }
    let causes: Vec<Cause> = view
        .path
        .iter()
        .map(|part| part.cause)
        .chain(
            view.rows
                .iter()
                .flat_map(|row| &row.bars)
                .filter_map(|bar| bar.cause),
        )
        .collect();
    let still = [WIDE, NARROW].map(|layout| {
        draw(layout, view).finish(
            &page.id(),
            layout.class,
            "The path from exec to the third iteration",
            "Each instant in the colour of its cause.",
        )
    });
    let number = view.start + 1;
    let moving = format!(
        "<div class=\"moving\" id=\"timeline-chart\" hidden></div>\
         <noscript><p class=\"note\">With JavaScript this is a picture of all threads that can be \
         zoomed.</p>{}</noscript>",
        still.concat()
    );
    let figure = Figure {
        title: format!("Start {number}, from exec to {}", duration(view.until)),
        note: "The path is what the program was waiting on at each instant; the causes above are \
               its sums. Below it, each thread with what it was doing."
            .to_owned(),
        key: look::key(&causes),
        drawings: vec![moving],
        data: data(view),
        ..Figure::default()
    };
    page.section(
        "timeline",
        "Time line",
        "",
        &format!("{}{}", figure.html(), help()),
    );
}

/// How the drawings are moved.
fn help() -> String {
    let keys = [
        ("+ −", "zoom"),
        ("← →", "move"),
        ("0", "all of it"),
        ("Home End", "to the beginning, to the end"),
        (", .", "select the bar before, after"),
        ("↑ ↓", "select above, below"),
        ("Enter", "zoom to what is selected"),
        ("Esc", "select nothing"),
    ];
    let keys: String = keys
        .iter()
        .map(|(key, what)| format!("<dt>{}</dt><dd>{}</dd>", escape(key), escape(what)))
        .collect();
    format!(
        "<details class=\"data\"><summary>How to move in it</summary><p>Drag to move; click to \
         select; double-click to zoom to a bar. The wheel zooms with Ctrl held, or once the \
         picture has been clicked. Keys, once it has been clicked or reached with Tab:</p>\
         <dl class=\"keys\">{keys}</dl></details>"
    )
}

/// The longest parts, in order of time.
fn longest(view: &RunView, most: usize) -> Vec<&Segment> {
    let mut parts: Vec<&Segment> = view
        .path
        .iter()
        .filter(|part| part.end > part.begin)
        .collect();
    parts.sort_by(|a, b| (b.end - b.begin).total_cmp(&(a.end - a.begin)));
    parts.truncate(most);
    parts.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    parts
}

fn draw(layout: Layout, view: &RunView) -> Svg {
    let layout = Layout {
        left: 4.0,
        right: layout.width - 4.0,
        row: 30.0,
        middle: 13.0,
        ..layout
    };
    let step = round_step(view.until, layout.ticks);
    let mut bands = Bands::new(layout, &[true], Axis::from_zero(view.until, step, duration));
    let top = bands.middle(0) - 11.0;
    for part in longest(view, STILL) {
        let (from, to) = (bands.axis.at(part.begin), bands.axis.at(part.end));
        let say = format!(
            "{}: {} {}",
            part.cause.as_str(),
            part.label,
            duration(part.end - part.begin)
        );
        bands.svg.rect(
            &format!("bar {}", look::class(part.cause)),
            (from, top),
            ((to - from).max(0.6), 22.0),
            &say,
        );
    }
    for (begin, end) in &view.iterations {
        for at in [begin, end] {
            let at = bands.axis.at(*at);
            bands
                .svg
                .line("iteration-line", (at, top - 3.0), (at, top + 27.0));
        }
    }
    bands.svg
}

fn data(view: &RunView) -> Table {
    let mut table = Table::new(&["from", "to", "time", "cause", "most of it"]);
    table.words = vec![3, 4];
    for part in longest(view, DATA) {
        table.rows.push(vec![
            duration(part.begin),
            duration(part.end),
            duration(part.end - part.begin),
            part.cause.as_str().to_owned(),
            crate::html::cut::cut(&part.label, 90),
        ]);
    }
    table
}
