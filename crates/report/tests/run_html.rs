//! The page of a run by its structure: all parts are there, nothing is loaded, nothing
//! of a report is obeyed.

mod common;
#[path = "common/run_view.rs"]
mod run_view;

use preheat_analyze::run::{RunReport, RunView};
use preheat_report::run_html;

const SECTIONS: [&str; 9] = [
    "causes",
    "timeline",
    "first-and-steady",
    "starts",
    "imports",
    "memory",
    "remedies",
    "notes",
    "method",
];

fn page() -> String {
    run_html(&common::run::report(), &run_view::view())
}

/// Every report with every view that may go with it.
fn all() -> Vec<(RunReport, RunView)> {
    vec![
        (common::run::report(), run_view::view()),
        (common::run::ladder(), run_view::huge()),
        (common::run::bare(), RunView::default()),
        (common::run::report(), RunView::default()),
        (common::run::hostile(), run_view::hostile()),
        (common::run::broken(), run_view::broken()),
    ]
}

#[test]
fn every_section_is_there_and_in_the_contents() {
    let html = page();
    for id in SECTIONS {
        assert!(html.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    let headline =
        "Of 8.94\u{a0}s to the first result, 4.2\u{a0}s went into importing torch._dynamo.";
    assert!(html.contains(&format!("<h1>{headline}</h1>")));
    assert!(html.contains("Asked for by torch._compile inner:53, from train.py:12."));
    assert!(html.contains("95\u{a0}% interval 8.71–9.20\u{a0}s, 4 starts; the first start"));
}

#[test]
fn nothing_is_loaded_and_only_its_own_script_may_run() {
    for (report, view) in all() {
        let html = run_html(&report, &view);
        for word in [
            "http://",
            "https://",
            "src=",
            "@import",
            "javascript:",
            "onclick",
        ] {
            assert!(!html.contains(word), "{word}");
        }
        assert_eq!(html.matches("url(").count(), html.matches("url(#p").count());
        assert!(html.contains("default-src 'none'"));
        assert!(html.contains("script-src 'sha256-"));
        // The data, which is no program, and the script.
        assert_eq!(html.matches("<script").count(), 2);
        assert_eq!(html.matches("</script>").count(), 2);
    }
}

#[test]
fn names_are_shown_not_obeyed() {
    let html = run_html(&common::run::hostile(), &run_view::hostile());
    assert!(html.contains("&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;"));
    assert!(html.contains("\\u003c/script\\u003e\\u003cscript\\u003e"));
    assert!(!html.contains("<script>alert"));
    assert!(!html.contains('\u{1b}'));
}

#[test]
fn the_largest_view_is_still_a_small_page() {
    let html = run_html(&common::run::ladder(), &run_view::huge());
    assert!(html.len() < 1_000_000, "{}", html.len());
}

#[test]
fn what_is_no_number_is_never_shown_as_one() {
    for (report, view) in all() {
        let html = run_html(&report, &view);
        let shown = &html[..html.find("<script").unwrap()];
        for word in ["NaN", "inf<", "inf×", " inf ", "None", "Some("] {
            assert!(!shown.contains(word), "{word}");
        }
    }
}

#[test]
fn a_program_of_which_nothing_is_known_has_a_short_page() {
    let html = run_html(&common::run::bare(), &RunView::default());
    assert!(html.contains("/bin/true is static"));
    assert!(html.contains("No device was used."));
    for id in [
        "causes",
        "timeline",
        "first-and-steady",
        "imports",
        "remedies",
    ] {
        assert!(!html.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
}

#[test]
fn one_start_is_not_drawn_twice() {
    let mut report = common::run::report();
    report.starts.truncate(1);
    let html = run_html(&report, &run_view::view());
    assert!(html.contains("There was one start"));
    assert!(!html.contains("Every start"));
    assert!(!html.contains("later starts"));
}

#[test]
fn the_ladder_is_shown_where_there_is_one() {
    let title = "From the coldest starts to the warmest";
    assert!(!page().contains(title));
    assert!(run_html(&common::run::ladder(), &run_view::view()).contains(title));
}

#[test]
fn without_its_script_the_page_still_tells_the_path_and_the_imports() {
    let html = page();
    assert_eq!(html.matches("<noscript>").count(), 2);
    assert!(html.contains("The path from exec to the third iteration"));
    assert!(html.contains("torch.fx.experimental.symbolic_shapes</th>"));
}

#[test]
fn no_id_is_used_twice_and_elements_are_closed() {
    for (report, view) in all() {
        let html = run_html(&report, &view);
        let html = &html[..html.find("<script").unwrap()];
        let mut ids: Vec<&str> = html
            .match_indices(" id=\"")
            .map(|(at, found)| html[at + found.len()..].split('"').next().unwrap())
            .collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "an id is used twice");
        for name in [
            "section", "figure", "details", "table", "svg", "ul", "li", "div", "p", "span",
            "article", "noscript", "main",
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
