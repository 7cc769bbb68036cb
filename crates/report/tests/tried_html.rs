//! The page of remedies that were tried, by its structure: all parts are there, nothing is
//! loaded, nothing of a report is obeyed.

mod common;

use common::tried::{hostile, nothing, training};
use preheat_report::tried_html;

#[test]
fn what_pays_is_told_at_the_top_and_in_parts() {
    let html = tried_html(&training());
    for part in [
        "11.1× as fast: 8.21\u{a0}s → 738\u{a0}ms.",
        "<section id=\"kinds\"",
        "<section id=\"remedies\"",
        "<section id=\"notes\"",
        "<section id=\"method\"",
        "<b>kept caches</b> was not tried",
        "all but warm parent",
        "−7.28 s (−7.3 s to −7.26 s)",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // A bar of causes and a mark for every start, on a wide page and on a narrow one.
    let starts: usize = training().variants.iter().map(|of| of.values.len()).sum();
    assert_eq!(html.matches("mark start").count(), 2 * starts);
    assert!(html.contains("Python imports"));
}

#[test]
fn that_nothing_pays_and_that_it_was_interrupted_is_said() {
    let html = tried_html(&nothing());
    assert!(html.contains("No remedy was shown to make 12\u{a0}ms shorter."));
    assert!(html.contains("Nothing was shown to pay here"));
    let mut report = training();
    report.interrupt();
    let html = tried_html(&report);
    assert!(html.contains("It was interrupted: nothing was decided."));
    assert!(!html.contains("as fast"));
    report.interrupted = false;
    assert!(tried_html(&report).contains("Too few starts were measured to decide anything"));
    report.interrupted = true;
    report.variants.clear();
    assert!(tried_html(&report).contains("No start could be measured."));
}

#[test]
fn nothing_is_loaded_and_nothing_of_a_report_is_obeyed() {
    for report in [training(), nothing(), hostile()] {
        let html = tried_html(&report);
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
