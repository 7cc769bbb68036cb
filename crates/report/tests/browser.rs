//! The lab page in a real browser: it renders and fits, loads nothing, and causes no errors or
//! warnings.

#[path = "common/chromium.rs"]
mod chromium;
mod common;

use chromium::check;
use preheat_report::lab_html;

#[test]
fn a_browser_shows_the_page_at_every_width_in_light_and_dark() {
    check("report", &lab_html(&common::report()), 11..);
}

#[test]
fn a_browser_shows_an_empty_report() {
    check("empty", &lab_html(&common::empty()), ..=10);
}

#[test]
fn a_browser_executes_nothing_from_a_report() {
    check("hostile", &lab_html(&common::hostile()), 11..);
}

#[test]
fn a_browser_shows_a_long_run() {
    check("huge", &lab_html(&common::huge()), 11..);
}
