//! The timeline from exec to the third iteration, thread by thread. A script draws it;
//! without JavaScript, the page shows a static picture of the path.

use preheat_model::run::{Cause, RunView};

use super::super::RunPage;
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::data::longest;
use crate::html::figure::{Figure, Table};
use crate::html::look;
use crate::html::moving::help;
use crate::html::scale::{Axis, round_step};
use crate::html::svg::Svg;
use crate::units::duration;

/// The numbers of parts of the path in the static picture and in the data table: the
/// longest ones.
const STILL: usize = 150;
const DATA: usize = 60;

/// Adds the section.
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
            "Each instant in the color of its cause.",
        )
    });
    let number = view.start + 1;
    let moving = format!(
        "<div class=\"moving\" id=\"timeline-chart\" hidden></div>\
         <noscript><p class=\"note\">With JavaScript, this is a timeline of all threads that can be \
         zoomed.</p>{}</noscript>",
        still.concat()
    );
    let figure = Figure {
        title: format!("Start {number}, from exec to {}", duration(view.until)),
        note:
            "The path shows the cause of the time at each instant; the causes above are its sums. \
               Below it is each thread with its activity."
                .to_owned(),
        key: look::key(&causes),
        drawings: vec![moving],
        data: data(view),
        ..Figure::default()
    };
    page.section(
        "timeline",
        "Timeline",
        "",
        &format!("{}{}", figure.html(), help()),
    );
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
    for part in longest(&view.path, STILL, |part| (part.begin, part.end)) {
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
    let mut table = Table::new(&["from", "to", "time", "cause", "main item"]);
    table.words = vec![3, 4];
    for part in longest(&view.path, DATA, |part| (part.begin, part.end)) {
        table.rows.push(vec![
            duration(part.begin),
            duration(part.end),
            duration(part.end - part.begin),
            part.cause.as_str().to_owned(),
            crate::html::escape::cut(&part.label, 90),
        ]);
    }
    table
}
