//! The run page in a real browser: it renders and fits, its script is allowed and draws,
//! and keys, wheel and clicks work as described on the page.

#[path = "common/chromium.rs"]
mod chromium;
mod common;
#[path = "common/run_view.rs"]
mod run_view;

use preheat_model::run::RunView;
use preheat_report::run_html;

use chromium::{Folder, check, chromium, console, open, reported, with_probe};

#[test]
fn a_browser_shows_the_page_at_every_width_in_light_and_dark() {
    let html = run_html(&common::run::report(), &run_view::view());
    check("run-report", &html, 7..);
}

#[test]
fn a_browser_shows_an_unrecorded_program() {
    let html = run_html(&common::run::bare(), &RunView::default());
    check("run-bare", &html, ..=1);
}

#[test]
fn a_browser_executes_nothing_from_a_run() {
    let html = run_html(&common::run::hostile(), &run_view::hostile());
    check("run-hostile", &html, 7..);
}

#[test]
fn a_browser_shows_invalid_numbers() {
    let html = run_html(&common::run::broken(), &run_view::broken());
    check("run-broken", &html, 3..);
}

#[test]
fn a_browser_shows_the_largest_view() {
    let html = run_html(&common::run::ladder(), &run_view::huge());
    check("run-huge", &html, 7..);
}

/// Simulates user input and records the reaction of the page, which describes its state in
/// data attributes.
const PERSON: &str = "<script>
addEventListener('load', () => {
  const lines = {};
  for (const id of ['timeline-chart', 'imports-chart']) {
    const box = document.getElementById(id), svg = box.querySelector('svg.lanes');
    const name = id.split('-')[0];
    const shown = () => (box.dataset.from || '-') + '..' + (box.dataset.to || '-');
    const key = key => svg.dispatchEvent(new KeyboardEvent('keydown', {key, cancelable: true}));
    const act = (what, did) => { did(); lines[name + ' ' + what] = shown(); };
    lines[name + ' bars'] = svg.querySelectorAll('.bar').length;
    act('plus', () => key('+'));
    act('end', () => key('End'));
    act('left', () => key('ArrowLeft'));
    act('home', () => key('Home'));
    act('zero', () => key('0'));
    act('wheel', () => svg.dispatchEvent(new WheelEvent('wheel',
      {deltaY: -200, ctrlKey: true, clientX: svg.getBoundingClientRect().left, cancelable: true})));
    key('0');
    const bar = [...svg.querySelectorAll('.bar')].find(bar => bar.bar.names[0].startsWith('torch._dynamo'));
    act('click', () => bar.dispatchEvent(new MouseEvent('click', {bubbles: true})));
    lines[name + ' selected'] = box.dataset.selected;
    lines[name + ' description'] = box.querySelector('.description').textContent;
    act('enter', () => key('Enter'));
    key('ArrowDown');
    lines[name + ' below'] = box.dataset.selected;
    key('.');
    lines[name + ' after'] = box.dataset.selected;
    act('escape', () => key('Escape'));
    lines[name + ' left with'] = box.dataset.selected;
  }
  const line = document.createElement('pre');
  line.textContent = 'PROBE ' + Object.entries(lines).map(([name, value]) => name + '=' + value).join(';');
  document.body.append(line);
});
</script>";

#[test]
fn the_charts_react_to_keys_wheel_and_clicks() {
    let Some(browser) = chromium() else { return };
    let folder = Folder::new("run-moves");
    let html = run_html(&common::run::report(), &run_view::view());
    let page = folder.0.join("page.html");

    // The unmodified page with its policy: its script runs and draws all three charts.
    std::fs::write(&page, &html).unwrap();
    let (dom, messages) = open(&browser, &folder.0, &page, false);
    assert_eq!(console(&messages), Vec::<&str>::new());
    assert_eq!(dom.matches("<svg class=\"lanes\"").count(), 3);

    std::fs::write(&page, with_probe(&html, PERSON)).unwrap();
    let (dom, messages) = open(&browser, &folder.0, &page, false);
    assert_eq!(console(&messages), Vec::<&str>::new());
    let line = dom
        .split("<pre>PROBE ")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .unwrap_or_else(|| panic!("no probe in {dom:.500}"));

    // The total is 8 943 516 µs; each zoom step keeps 60 %.
    let until = 8_943_516.0;
    let window = |what: &str| -> (f64, f64) {
        let (from, to) = reported(line, what).split_once("..").unwrap();
        (from.parse().unwrap(), to.parse().unwrap())
    };
    let near = |(from, to): (f64, f64), shares: (f64, f64)| {
        assert!(
            (from / until - shares.0).abs() < 1e-3,
            "{from} is not {}",
            shares.0
        );
        assert!(
            (to / until - shares.1).abs() < 1e-3,
            "{to} is not {}",
            shares.1
        );
    };
    assert!(
        reported(line, "timeline bars").parse::<u32>().unwrap() > 40,
        "{line}"
    );
    near(window("timeline plus"), (0.2, 0.8));
    near(window("timeline end"), (0.4, 1.0));
    near(window("timeline left"), (0.28, 0.88));
    near(window("timeline home"), (0.0, 0.6));
    near(window("timeline zero"), (0.0, 1.0));
    // The wheel zooms to the pointer, at the left end.
    near(window("timeline wheel"), (0.0, (-0.5f64).exp()));
    near(window("timeline click"), (0.0, 1.0));
    assert!(
        reported(line, "timeline selected").starts_with("torch._dynamo"),
        "{line}"
    );
    assert!(
        reported(line, "timeline description").contains("Python imports"),
        "{line}"
    );
    let (from, to) = window("timeline enter");
    assert!(from > 0.3 * until && to < 0.95 * until, "{line}");
    assert_eq!(reported(line, "timeline left with"), "");

    // In the imports, a click zooms.
    let entered = window("imports click");
    assert!(entered.0 > 0.3 * until && entered.1 < until, "{line}");
    assert!(
        reported(line, "imports description").contains("imported by torch._compile inner:53"),
        "{line}"
    );
    assert!(
        reported(line, "imports below").starts_with("torch._dynamo."),
        "{line}"
    );
    assert_ne!(
        reported(line, "imports after"),
        reported(line, "imports below")
    );
    assert!(
        reported(line, "imports left with").starts_with("torch._dynamo"),
        "{line}"
    );
}
