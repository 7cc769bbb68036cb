//! The page of classified times in a real browser: it renders and fits, loads nothing, and
//! executes nothing from a file.

#[path = "common/chromium.rs"]
mod chromium;
mod common;

use chromium::check;
use common::classify::{Judged, empty, hostile, many, one, starts};
use preheat_report::{ClassifySketch, classify_html};

fn page(judged: &Judged) -> String {
    let sketch = |times: &preheat_model::classify::Times| Some(ClassifySketch::of(&times.starts));
    let sketches: Vec<_> = judged.times.iter().map(sketch).collect();
    classify_html(&judged.report, &sketches)
}

#[test]
fn a_browser_shows_the_page_at_every_width_in_light_and_dark() {
    check("classify-many", &page(&many()), 6..=6);
    check("classify-one", &page(&one()), 1..=1);
}

#[test]
fn a_browser_shows_starts_and_unreadable_files() {
    check("classify-starts", &page(&starts()), 2..=2);
    check("classify-empty", &page(&empty()), ..=0);
}

#[test]
fn a_browser_executes_nothing_from_a_file() {
    let html = page(&hostile());
    assert!(!html.contains("<script"));
    check("classify-hostile", &html, 6..=6);
}

#[test]
fn the_page_states_what_it_omits() {
    let html = page(&hostile());
    assert!(html.contains("48 of 70 benchmarks are shown, those that settle worst first."));
    assert_eq!(html.matches("<svg class=\"chart").count(), 48);
    let none = classify_html(&many().report, &[]);
    assert!(!none.contains("id=\"iterations\"") && none.contains("id=\"benchmarks\""));
    assert!(none.contains("1 file could not be read to the end"));
}
