//! The structure of the comparison page: all sections exist, nothing is loaded, and all text
//! is escaped.

mod common;
#[path = "common/run_view.rs"]
mod run_view;

use common::compare;
use preheat_model::compare::CompareReport;
use preheat_model::run::RunView;
use preheat_report::compare_html;

fn page(report: &CompareReport) -> String {
    compare_html(report, Some(&run_view::shorter()), Some(&run_view::view()))
}

/// Every report with matching views.
fn all() -> Vec<String> {
    let (view, hostile, broken) = (run_view::view(), run_view::hostile(), run_view::broken());
    let (empty, huge) = (RunView::default(), run_view::huge());
    vec![
        page(&compare::regression()),
        page(&compare::unchanged()),
        page(&compare::few()),
        page(&compare::memory()),
        page(&compare::faster()),
        compare_html(&compare::lab(), None, None),
        compare_html(&compare::regression(), None, None),
        compare_html(&compare::regression(), Some(&view), None),
        compare_html(&compare::regression(), None, Some(&view)),
        compare_html(&compare::regression(), Some(&empty), Some(&huge)),
        compare_html(&compare::hostile(), Some(&hostile), Some(&hostile)),
        compare_html(&compare::hostile_lab(), None, None),
        compare_html(&compare::broken(), Some(&broken), Some(&view)),
        compare_html(&compare::nothing(), None, None),
    ]
}

fn sections(html: &str) -> Vec<&str> {
    html.match_indices("<section id=\"")
        .map(|(at, found)| html[at + found.len()..].split('"').next().unwrap())
        .collect()
}

/// The visible part: everything before the data and the script.
fn shown(html: &str) -> &str {
    html.split("<script").next().unwrap()
}

#[test]
fn every_section_exists_and_is_in_the_contents() {
    let html = page(&compare::regression());
    let expected = [
        "quantities",
        "timelines",
        "causes",
        "starts",
        "notes",
        "method",
    ];
    assert_eq!(sections(&html), expected);
    for id in expected {
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    assert!(html.contains("<h1>+1.9\u{a0}s: Python imports, sympy is new.</h1>"));
    assert!(
        html.contains("<p class=\"gate fails\"><span>Regressed beyond 5\u{a0}%: time to first")
    );
    // The quantity, its change, and the items behind it.
    assert!(html.contains("<th scope=\"row\">time to first</th>"));
    assert!(html.contains("<p class=\"big fails\">+1.9\u{a0}s</p>"));
    assert!(html.contains("<th scope=\"row\">sympy</th><td class=\"n\">+1.63 s</td>"));
    assert!(html.contains("<td>is new</td>") && html.contains("<td>is gone</td>"));
    assert!(html.contains("torch.utils._sympy.functions:12"));
}

#[test]
fn every_difference_is_drawn_around_zero_with_the_margin() {
    let html = page(&compare::regression());
    let report = compare::regression();
    let count = report.quantities.len();
    assert_eq!(html.matches("<span class=\"band\"").count(), count);
    assert_eq!(html.matches("<span class=\"dot\"").count(), count);
    assert_eq!(html.matches("<td class=\"drawn\">").count(), count);
    assert!(html.contains("title=\"time to first: +1.9 s, 95 % interval 1.81 to 2 s\""));
    // Every start of both sides, for three quantities.
    let dots = |side: &str| html.matches(&format!("class=\"mark of-{side}\"")).count();
    assert_eq!((dots("base"), dots("new")), (27, 27));
}

#[test]
fn without_recordings_a_note_replaces_the_timelines() {
    let html = compare_html(&compare::regression(), None, None);
    assert!(html.contains("No timelines: they need the recordings"));
    assert!(!html.contains("timelines-chart") && !html.contains("<script"));
    assert!(!html.contains("script-src"));
    let html = compare_html(&compare::regression(), Some(&run_view::view()), None);
    assert!(html.contains("No timeline for new: recordings/sympy is not a recording"));
    assert!(html.contains("timelines-chart"));
}

#[test]
fn a_timeline_ends_with_the_first_iteration() {
    let html = page(&compare::regression());
    let data = html
        .split("id=\"view\">")
        .nth(1)
        .and_then(|rest| rest.split("</script>").next())
        .unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let sides = data["sides"].as_array().unwrap();
    assert_eq!(data["until"], 8_942_000);
    for (side, name, first) in [
        (&sides[0], "base", 7_042_000),
        (&sides[1], "new", 8_942_000),
    ] {
        assert_eq!(
            (&side["name"], &side["first"]),
            (&name.into(), &first.into())
        );
        assert_eq!(side["path"][0][0], 0);
        let last = side["path"].as_array().unwrap().last().unwrap();
        assert_eq!(last[1], first);
    }
    // Without the script, a static picture of both.
    assert_eq!(html.matches("<noscript>").count(), 1);
    assert!(html.contains("The paths from exec to the end of the first iteration"));
}

#[test]
fn lab_results_show_changes_and_fold_the_rest() {
    let html = compare_html(&compare::lab(), None, None);
    assert_eq!(
        sections(&html),
        ["changed", "inconclusive", "same", "notes", "method"]
    );
    assert!(html.contains("train · mlp, iteration: first<small>on torch on cuda</small>"));
    assert!(html.contains("<summary>9 quantities are the same</summary>"));
    assert!(html.find("train · mlp").unwrap() < html.find("alloc · 4").unwrap());
    assert!(!html.contains("No timeline"));
}

#[test]
fn nothing_is_loaded_and_only_the_page_script_may_run() {
    for html in all() {
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
        // The data, which is not executed, and the script; or neither.
        let scripts = html.matches("<script").count();
        assert!([0, 2].contains(&scripts), "{scripts}");
        assert_eq!(html.contains("script-src 'sha256-"), scripts == 2);
        assert_eq!(html.matches("</script>").count(), scripts);
    }
}

#[test]
fn names_are_escaped() {
    let hostile = run_view::hostile();
    for html in [
        compare_html(&compare::hostile(), Some(&hostile), Some(&hostile)),
        compare_html(&compare::hostile_lab(), None, None),
    ] {
        assert!(html.contains("&lt;script&gt;alert(&quot;x&quot; &amp; 'y')"));
        assert!(!html.contains("<script>alert"));
        assert!(!html.contains('\u{1b}'));
    }
}

#[test]
fn the_largest_views_give_a_small_page() {
    let huge = run_view::huge();
    let html = compare_html(&compare::regression(), Some(&huge), Some(&huge));
    assert!(html.len() < 1_000_000, "{}", html.len());
}

#[test]
fn invalid_numbers_are_never_shown() {
    for html in all() {
        for word in ["NaN", "inf<", "inf×", " inf ", "inf%", "None", "Some("] {
            assert!(!shown(&html).contains(word), "{word}");
        }
    }
}

#[test]
fn ids_are_unique_and_elements_are_closed() {
    for html in all() {
        let html = shown(&html);
        let mut ids: Vec<&str> = html
            .match_indices(" id=\"")
            .map(|(at, found)| html[at + found.len()..].split('"').next().unwrap())
            .collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "an id is used twice");
        for name in [
            "section", "figure", "details", "table", "tr", "th", "td", "svg", "ul", "li", "div",
            "p", "span", "small", "noscript", "main", "header",
        ] {
            let opened = html.matches(&format!("<{name}>")).count()
                + html.matches(&format!("<{name} ")).count();
            let closed = html.matches(&format!("</{name}>")).count();
            assert_eq!(opened, closed, "{name}");
        }
    }
}
