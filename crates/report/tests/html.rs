//! The structure of the lab page: all sections exist, nothing is loaded, and all text is
//! escaped.

mod common;

use preheat_report::lab_html;

const SECTIONS: [&str; 9] = [
    "first-and-steady",
    "claims",
    "iterations",
    "stages",
    "allocation",
    "transfer",
    "memory",
    "gaps",
    "method",
];

#[test]
fn every_section_exists_and_is_in_the_contents() {
    let html = lab_html(&common::report());
    for id in SECTIONS {
        assert!(html.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    assert!(html.contains("<h1>The first training iteration takes 252× a steady one.</h1>"));
    assert!(html.contains("NVIDIA H200"));
    assert!(html.contains("preheat lab --device cuda --html 'lab report.html'"));
}

#[test]
fn nothing_is_loaded_and_nothing_runs() {
    for report in [common::report(), common::hostile()] {
        let html = lab_html(&report);
        for word in [
            "http://",
            "https://",
            "src=",
            "url(",
            "@import",
            "<script",
            "javascript:",
        ] {
            assert!(!html.contains(word), "{word}");
        }
        assert!(html.contains("default-src 'none'"));
        for link in html.match_indices("href=\"").map(|(at, _)| &html[at + 6..]) {
            assert!(
                link.starts_with('#') || link.starts_with("data:,"),
                "{}",
                &link[..20]
            );
        }
    }
}

#[test]
fn names_are_escaped() {
    let html = lab_html(&common::hostile());
    assert!(html.contains("&lt;script&gt;alert(&quot;x&quot; &amp; 'y')&lt;/script&gt;"));
    assert!(!html.contains('\u{1b}'));
}

#[test]
fn a_long_run_gives_a_small_page() {
    let report = common::huge();
    let values: usize = report
        .experiments
        .iter()
        .flat_map(|experiment| &experiment.series)
        .flat_map(|series| &series.iterations)
        .map(Vec::len)
        .sum();
    assert!(values > 1_000_000, "{values}");
    let html = lab_html(&report);
    assert!(html.len() < 2_000_000, "{}", html.len());
    assert!(html.contains("points shown"));
}

#[test]
fn invalid_numbers_are_never_shown() {
    for report in [common::broken(), common::empty()] {
        let html = lab_html(&report);
        for word in ["NaN", "inf<", "inf×", " inf ", "None", "Some("] {
            assert!(!html.contains(word), "{word}");
        }
    }
}

#[test]
fn an_empty_report_is_a_short_page() {
    let html = lab_html(&common::empty());
    assert!(html.contains("<h1>Nothing was measured.</h1>"));
    assert!(html.contains("<section id=\"method\""));
    for id in SECTIONS.iter().filter(|id| **id != "method") {
        assert!(!html.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(!html.contains("<figure"));
}

#[test]
fn an_early_end_is_shown() {
    let mut report = common::report();
    report.settings.ended_early = Some("interrupted after 3 of 5 starts".to_owned());
    assert!(lab_html(&report).contains("interrupted after 3 of 5 starts"));
}

#[test]
fn every_chart_has_a_name_a_description_and_its_data() {
    let html = lab_html(&common::report());
    let charts = html.matches("<svg class=\"chart").count();
    assert!(charts > 50, "{charts}");
    assert_eq!(
        html.matches("role=\"img\" aria-labelledby=\"").count(),
        charts
    );
    assert_eq!(html.matches("<desc id=").count(), charts);
    assert_eq!(
        html.matches("<figure>").count(),
        html.matches("Show data").count()
    );
    let mut ids: Vec<&str> = html
        .match_indices(" id=\"")
        .map(|(at, found)| html[at + found.len()..].split('"').next().unwrap())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is used twice");
}

#[test]
fn elements_are_closed() {
    for report in [
        common::report(),
        common::hostile(),
        common::broken(),
        common::empty(),
    ] {
        let html = lab_html(&report);
        for name in [
            "section", "figure", "details", "table", "svg", "ul", "ol", "li", "div", "p",
        ] {
            let opened = html.matches(&format!("<{name}>")).count()
                + html.matches(&format!("<{name} ")).count();
            assert_eq!(
                opened,
                html.matches(&format!("</{name}>")).count(),
                "{name}"
            );
        }
    }
}
