//! The structure of the run page: all sections exist, nothing is loaded, and all text is
//! escaped.

mod common;
#[path = "common/run_view.rs"]
mod run_view;

use preheat_model::run::{IterationsBy, RunReport, RunView};
use preheat_model::stats::Class;
use preheat_report::run_html;

const SECTIONS: [&str; 10] = [
    "causes",
    "timeline",
    "first-and-steady",
    "starts",
    "imports",
    "functions",
    "memory",
    "remedies",
    "notes",
    "method",
];

fn page() -> String {
    run_html(&common::run::report(), &run_view::view())
}

/// Every report with every matching view.
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
fn every_section_exists_and_is_in_the_contents() {
    let html = page();
    for id in SECTIONS {
        assert!(html.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    let headline = "Of 8.94\u{a0}s to the first result, 6.96\u{a0}s were spent on Python imports, \
                    mainly torch._dynamo, imported at train.py:12.";
    assert!(html.contains(&format!("<h1>{headline}</h1>")));
    assert!(html.contains("was imported by torch._compile inner:53, from train.py:12."));
    assert!(html.contains("95\u{a0}% interval 8.71–9.20\u{a0}s, 4 starts; the first start"));
}

#[test]
fn nothing_is_loaded_and_only_the_page_script_may_run() {
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
        // The data, which is not executed, and the script.
        assert_eq!(html.matches("<script").count(), 2);
        assert_eq!(html.matches("</script>").count(), 2);
    }
}

#[test]
fn names_are_escaped() {
    let html = run_html(&common::run::hostile(), &run_view::hostile());
    assert!(html.contains("&lt;script&gt;alert(&quot;x&quot; &amp; 'y')&lt;/script&gt;"));
    assert!(html.contains("\\u003c/script\\u003e\\u003cscript\\u003e"));
    assert!(!html.contains("<script>alert"));
    assert!(!html.contains('\u{1b}'));
}

#[test]
fn the_largest_view_gives_a_small_page() {
    let html = run_html(&common::run::ladder(), &run_view::huge());
    assert!(html.len() < 1_000_000, "{}", html.len());
}

#[test]
fn invalid_numbers_are_never_shown() {
    for (report, view) in all() {
        let html = run_html(&report, &view);
        let shown = &html[..html.find("<script").unwrap()];
        for word in ["NaN", "inf<", "inf×", " inf ", "None", "Some("] {
            assert!(!shown.contains(word), "{word}");
        }
    }
}

#[test]
fn an_unrecorded_program_has_a_short_page() {
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
fn several_temperatures_are_shown() {
    let title = "<b>By temperature</b>";
    assert!(!page().contains(title));
    assert!(run_html(&common::run::ladder(), &run_view::view()).contains(title));
}

#[test]
fn without_its_script_the_page_shows_the_path_and_the_imports() {
    let html = page();
    assert_eq!(html.matches("<noscript>").count(), 3);
    assert!(html.contains("The path from exec to the third iteration"));
    assert!(html.contains("torch.fx.experimental.symbolic_shapes</th>"));
    assert!(html.contains("load_weights</th>"));
}

#[test]
fn ids_are_unique_and_elements_are_closed() {
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

#[test]
fn the_temperatures_are_described_slowest_first() {
    let mut report = common::run::ladder();
    report.ladder[1].time_to_first.value = 40.0;
    report.ladder[1].time_to_first.low = None;
    report.ladder[1].starts = 1;
    let html = run_html(&report, &run_view::view());
    assert!(html.contains(
        "disk: its files evicted from the page cache; caches: compile caches empty; \
         process: a fresh process"
    ));
    // At the end of its bar, in place of an interval.
    assert!(html.contains(">1 start</text>"));
    let place = |text: &str| html.find(text).unwrap();
    assert!(place(">start 2, disk<") < place(">start 4, caches<"));
}

#[test]
fn a_faster_first_iteration_is_reported_as_such() {
    let mut report = common::run::report();
    report.class = Some(Class::Flat);
    report.ratio.as_mut().unwrap().value = 0.8;
    report.first_excess.truncate(2);
    report.first_excess[0].seconds = 0.001;
    report.first_excess[1].seconds = -0.02;
    let html = run_html(&report, &run_view::view());
    assert!(html.contains("19 ms less in total"));
    assert!(html.contains("−20 ms</text>"));
    assert!(html.contains("flat: the first is faster than the others"));
}

#[test]
fn one_iteration_has_no_steady_one() {
    let mut report = common::run::report();
    (report.class, report.steady, report.ratio) = (None, None, None);
    for start in &mut report.starts {
        start.iterations.truncate(1);
    }
    let html = run_html(&report, &run_view::view());
    assert!(html.contains("one iteration: nothing to compare it with"));
}

#[test]
fn modules_are_counted_and_little_waiting_is_not_shown() {
    let html = page();
    assert!(html.contains(">modules</th>") && html.contains(">count</th>"));
    assert!(html.contains(">waiting</th>"));
    let mut report = common::run::report();
    for item in report.causes.iter_mut().flat_map(|cause| &mut cause.items) {
        item.waiting = Some(item.seconds * 0.04);
    }
    assert!(!run_html(&report, &run_view::view()).contains(">waiting</th>"));
}

#[test]
fn memory_is_described_and_a_few_pinned_bytes_are_not_shown() {
    let html = page();
    assert!(html.contains("reserved by the allocator") && html.contains("</span>libraries</li>"));
    assert!(html.contains("64 MiB were page-locked at the end of the first iteration."));
    let mut report = common::run::report();
    report.memory.pinned = 4;
    report.iterations_by = IterationsBy::None;
    let html = run_html(&report, &run_view::view());
    assert!(!html.contains("were page-locked at"));
    assert!(html.contains("Device memory at the end of the program"));
}

#[test]
fn without_a_device_the_header_shows_host_memory_like_the_terminal() {
    let mut report = common::run::report();
    report.memory.device = None;
    let host = report.memory.host.as_ref().expect("the fixture has it");
    let shown = preheat_model::units::bytes(host.first.total);
    let page = run_html(&report, &run_view::view());
    let tile = page.split("host memory").nth(1).expect("a tile");
    let tile = &tile[..tile.find("No device was used").expect("its text")];
    assert!(tile.replace('\u{a0}', " ").contains(&shown), "{tile}");
}

#[test]
fn backticks_in_a_note_become_code() {
    let mut report = common::run::report();
    report.notes.push("set `A=<1>` first".to_owned());
    let html = run_html(&report, &run_view::view());
    assert!(html.contains("<li>set <code>A=&lt;1&gt;</code> first</li>"));
}
