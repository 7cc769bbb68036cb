//! The structure of the page of measured remedies: all sections exist, nothing is loaded, and
//! all text is escaped.

mod common;

use common::measurement::{hostile, nothing, training};
use preheat_report::measurement_html;

#[test]
fn the_page_shows_the_decision_and_every_remedy() {
    let html = measurement_html(&training());
    for part in [
        "11.1× as fast: 8.21\u{a0}s → 738\u{a0}ms.",
        "<section id=\"configurations\"",
        "<section id=\"remedies\"",
        "<section id=\"notes\"",
        "<section id=\"method\"",
        "<b>kept caches</b> was not measured",
        "all but warm parent",
        "−7.28 s (−7.3 to −7.26 s)",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // A bar of causes and a mark for every start, on a wide page and on a narrow one.
    let starts: usize = training()
        .configurations
        .iter()
        .map(|of| of.values.len())
        .sum();
    assert_eq!(html.matches("mark start").count(), 2 * starts);
    assert!(html.contains("Python imports"));
}

#[test]
fn the_page_shows_that_nothing_helps_or_was_interrupted() {
    let html = measurement_html(&nothing());
    assert!(html.contains("No remedy reduces 12\u{a0}ms significantly."));
    assert!(html.contains("No remedy helps here"));
    let mut report = training();
    report.interrupt();
    let html = measurement_html(&report);
    assert!(html.contains("Interrupted: nothing was decided."));
    assert!(!html.contains("as fast"));
    report.interrupted = false;
    assert!(measurement_html(&report).contains("Too few starts were measured to decide anything"));
    report.interrupted = true;
    report.configurations.clear();
    assert!(measurement_html(&report).contains("No start could be measured."));
}

#[test]
fn nothing_is_loaded_and_text_is_escaped() {
    for report in [training(), nothing(), hostile()] {
        let html = measurement_html(&report);
        for bad in [
            "<script",
            "http:",
            "https:",
            "src=",
            "<img",
            "onerror=\"",
            "NaN",
        ] {
            assert!(!html.contains(bad), "{bad}");
        }
    }
}
