//! Regions that the program times itself, with their causes, and the moments that it marks.

use maud::{Markup, html};
use preheat_model::run::{CauseSeconds, MarkReport, RegionReport};
use preheat_model::stats::Estimate;

use super::RunPage;
use crate::html::bands::{Bar, bars, in_order, key};
use crate::html::cut;
use crate::html::figure::Table;
use crate::html::page::note;
use crate::run::text::{
    around_sentence, capitalized, first_start, time_span, timed_and_levels, unfinished_sentence,
};
use crate::units::{ABSENT, duration, ratio};

/// The number of regions to draw.
const MAX_DRAWN: usize = 12;

/// Adds the section.
pub(super) fn add(page: &mut RunPage) {
    let report = page.report;
    if !report.marks.is_empty() {
        page.section(
            "marks",
            "Marked by the program",
            "From exec to the first time that each mark was reached.",
            marks(&report.marks).html(),
        );
    }
    let (timed, levels) = timed_and_levels(report);
    if !timed.is_empty() {
        let content = drawn(page, "Timed regions", &timed);
        let very_first = match timed.iter().any(|region| first_start(region).is_some()) {
            true => {
                " The very first start may find cold files and caches and does not count; a \
                 single run prints its numbers."
            }
            false => "",
        };
        let about = format!(
            "The time between two clock readings in the program's own code: the numbers that it \
             prints itself, with their causes.{very_first}"
        );
        page.section("regions", "Timed by the program", &about, content);
    }
    if let [level, ..] = levels[..] {
        let content = drawn(page, &capitalized(&level.name), &levels);
        page.section(
            "levels",
            "Other levels",
            "What repeats above or below the iterations, or is called once. preheat measures it; \
             the program need not read a clock.",
            content,
        );
    }
}

/// Draws regions as bars, with a table and notes.
fn drawn(page: &mut RunPage, title: &str, regions: &[&RegionReport]) -> Markup {
    let mut all = Vec::new();
    for region in regions.iter().take(MAX_DRAWN) {
        let name = cut(&region.name, 40);
        let first = match (region.count, &region.repeats) {
            (2.., _) => format!("{name}, first of {}", region.count),
            (_, Some(repeats)) if repeats.position == 2 => format!("{name}, second time"),
            (_, Some(repeats)) => format!("{name}, time {}", repeats.position),
            _ => name,
        };
        all.push(bar(first, &region.first, &region.causes, true));
        if let Some(second) = &region.second {
            all.push(bar(
                "second".to_owned(),
                second,
                &region.second_causes,
                false,
            ));
        }
    }
    let caption = (title, "in order of execution");
    let figure = bars(page, caption, key(&all), &all, table(regions));
    let first = page.report.first;
    let mut notes = Vec::new();
    for region in regions {
        let around = (region.around.as_ref()).map(|around| around_sentence(around, first));
        let unfinished = (region.unfinished.as_ref())
            .map(|unfinished| unfinished_sentence(unfinished, region.clock));
        for sentence in around.into_iter().chain(unfinished) {
            notes.push(format!("{}: {sentence}", region.name));
        }
    }
    html! {
        (figure)
        @for text in &notes { (note(text)) }
    }
}

fn marks(marks: &[MarkReport]) -> Table {
    let mut data = Table::new(&["mark", "reached after", "95 % interval", "count"]);
    for mark in marks {
        data.rows.push(vec![
            mark.name.clone(),
            duration(mark.first.value),
            time_span(&mark.first).unwrap_or_else(|| ABSENT.to_owned()),
            mark.count.to_string(),
        ]);
    }
    data
}

fn bar(name: String, time: &Estimate, causes: &[CauseSeconds], new: bool) -> Bar {
    Bar {
        name,
        parts: in_order(causes.iter().map(|part| (part.cause, part.seconds))),
        total: time.value,
        sure: time_span(time).unwrap_or_default(),
        new,
    }
}

fn table(regions: &[&RegionReport]) -> Table {
    let mut data = Table::new(&[
        "region",
        "read by",
        "clock",
        "executions",
        "first",
        "second",
        "first ÷ second",
        "fastest",
        "first, in the first start",
    ]);
    data.words = vec![1, 2];
    let time = |interval: &Option<Estimate>| {
        interval.map_or(ABSENT.to_owned(), |interval| duration(interval.value))
    };
    for region in regions {
        data.rows.push(vec![
            region.name.clone(),
            region.helper.clone().unwrap_or(ABSENT.to_owned()),
            region
                .clock
                .map_or(ABSENT, |clock| clock.as_str())
                .to_owned(),
            region.count.to_string(),
            duration(region.first.value),
            time(&region.second),
            (region.ratio)
                .or_else(|| region.repeats.as_ref()?.ratio)
                .map_or(ABSENT.to_owned(), |times| ratio(times.value)),
            time(&region.best),
            first_start(region).map_or(ABSENT.to_owned(), duration),
        ]);
    }
    data
}
