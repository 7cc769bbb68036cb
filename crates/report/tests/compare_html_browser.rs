//! The comparison page in a real browser: it renders and fits, its script is allowed and
//! draws both timelines, and keys and clicks work as described on the page.

#[path = "common/chromium.rs"]
mod chromium;
mod common;
#[path = "common/run_view.rs"]
mod run_view;

use common::compare;
use preheat_report::compare_html;

use chromium::{Folder, check, chromium, console, open, reported, with_probe};

#[test]
fn a_browser_shows_the_page_at_every_width_in_light_and_dark() {
    let (base, new) = (run_view::shorter(), run_view::view());
    let html = compare_html(&compare::regression(), Some(&base), Some(&new));
    check("compare-report", &html, 4..);
}

#[test]
fn a_browser_shows_a_comparison_of_documents() {
    check(
        "compare-few",
        &compare_html(&compare::few(), None, None),
        4..,
    );
}

#[test]
fn a_browser_shows_two_lab_results() {
    check(
        "compare-lab",
        &compare_html(&compare::lab(), None, None),
        ..=0,
    );
}

#[test]
fn a_browser_executes_nothing_from_a_comparison() {
    let hostile = run_view::hostile();
    let html = compare_html(&compare::hostile(), Some(&hostile), Some(&hostile));
    check("compare-hostile", &html, 4..);
    let html = compare_html(&compare::hostile_lab(), None, None);
    check("compare-hostile-lab", &html, ..=0);
}

#[test]
fn a_browser_shows_invalid_numbers() {
    let broken = run_view::broken();
    let html = compare_html(&compare::broken(), Some(&broken), Some(&broken));
    check("compare-broken", &html, ..);
}

/// Simulates user input and records the reaction of the page.
const PERSON: &str = "<script>
addEventListener('load', () => {
  const lines = {};
  const box = document.getElementById('timelines-chart'), svg = box.querySelector('svg.lanes');
  const key = key => svg.dispatchEvent(new KeyboardEvent('keydown', {key, cancelable: true}));
  const heads = [...svg.querySelectorAll('.head')].map(head => head.textContent);
  lines.heads = heads.join(' | ');
  lines.ends = svg.querySelectorAll('.first-line').length;
  const firsts = [...svg.querySelectorAll('.first-iteration')].map(bar => bar.getBoundingClientRect().right);
  lines.sooner = firsts[0] < firsts[1];
  const bar = [...svg.querySelectorAll('.bar')].find(bar => bar.bar.names[0].startsWith('sympy'));
  bar.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  lines.selected = box.dataset.selected;
  lines.description = box.querySelector('.description').textContent;
  key('Enter');
  lines.zoomed = Number(box.dataset.to) - Number(box.dataset.from);
  key('0');
  lines.whole = box.dataset.from + '..' + box.dataset.to;
  key('ArrowDown');
  key('ArrowDown');
  lines.below = box.querySelector('.description').textContent;
  const row = document.querySelector('.changes details');
  lines.open = row.open;
  row.querySelector('summary').click();
  lines.closed = !row.open;
  const line = document.createElement('pre');
  line.textContent = 'PROBE ' + Object.entries(lines).map(([name, value]) => name + '=' + value).join(';');
  document.body.append(line);
});
</script>";

#[test]
fn the_timelines_share_an_axis_and_pan() {
    let Some(browser) = chromium() else { return };
    let folder = Folder::new("compare-moves");
    let (base, new) = (run_view::shorter(), run_view::view());
    let html = compare_html(&compare::regression(), Some(&base), Some(&new));
    let page = folder.0.join("page.html");

    // The unmodified page with its policy: its script runs and draws.
    std::fs::write(&page, &html).unwrap();
    let (dom, messages) = open(&browser, &folder.0, &page, false);
    assert_eq!(console(&messages), Vec::<&str>::new());
    assert_eq!(dom.matches("<svg class=\"lanes\"").count(), 1);

    std::fs::write(&page, with_probe(&html, PERSON)).unwrap();
    let (dom, messages) = open(&browser, &folder.0, &page, false);
    assert_eq!(console(&messages), Vec::<&str>::new());
    let line = dom
        .split("<pre>PROBE ")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .unwrap_or_else(|| panic!("no probe in {dom:.500}"));
    assert_eq!(
        reported(line, "heads"),
        "base — python train.py — 7.04 s | new — python train.py — 8.94 s"
    );
    assert_eq!(
        (reported(line, "ends"), reported(line, "sooner")),
        ("2", "true")
    );
    assert!(reported(line, "selected").starts_with("sympy"), "{line}");
    assert!(
        reported(line, "description").contains("Python imports"),
        "{line}"
    );
    assert!(reported(line, "description").ends_with("base"), "{line}");
    let zoomed: f64 = reported(line, "zoomed").parse().unwrap();
    assert!(zoomed > 0.0 && zoomed < 2e6, "{line}");
    assert_eq!(reported(line, "whole"), "0..8942000");
    // The path of new is below the first iteration of base.
    assert!(reported(line, "below").ends_with("new"), "{line}");
    assert_eq!(
        (reported(line, "open"), reported(line, "closed")),
        ("true", "true")
    );
}
