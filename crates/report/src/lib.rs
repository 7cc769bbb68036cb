//! Renders finished reports as text, HTML, JSON and other formats.
//!
//! | report | functions |
//! |---|---|
//! | a lab | [`lab_terminal`], [`lab_html`], [`lab_json`] |
//! | a run | [`run_terminal`], [`run_html`], [`run_json`], [`run_csv`], [`run_perfetto`], … |
//! | a comparison | [`compare_terminal`], [`compare_html`], [`compare_json`] |
//! | a check | [`check_terminal`], [`check_json`], [`check_junit`], [`check_github`], … |
//! | iteration times | [`classify_terminal`], [`classify_html`], [`classify_json`] |
//! | a machine | [`doctor_terminal`], [`doctor_json`] |
//! | measured remedies | [`measurement_terminal`], [`measurement_html`], [`measurement_json`] |
//!
//! Nothing here measures or decides: the numbers, classes and verdicts come from the report,
//! and every renderer shows the same ones.
//!
//! Each kind of report has one module. `html`, `terminal`, `json` and `proto` are the tools that
//! they share: page, drawings, screen, document layout and protobuf encoding.

#![forbid(unsafe_code)]

mod check;
mod classify;
mod compare;
mod doctor;
mod html;
mod json;
mod lab;
mod measurement;
mod proto;
mod run;
mod terminal;

pub use check::{
    check_benchmark_action, check_bmf, check_draft, check_github, check_json, check_junit,
    check_markdown, check_terminal,
};
pub use classify::{ClassifySketch, classify_html, classify_terminal};
pub use compare::{compare_html, compare_terminal};
pub use doctor::{doctor_json, doctor_terminal};
pub use json::{classify_json, compare_json, lab_json, run_json};
pub use lab::{lab_html, lab_terminal};
pub use measurement::{measurement_html, measurement_json, measurement_terminal};
pub use run::*;
pub use terminal::{Terminal, width as text_width};
pub use units::{bandwidth, bytes, duration};

use preheat_model::units;

// The unit tests of private functions use the reports of the integration tests, and every test
// binary compiles them: only one more crate could share them between unit and integration tests.
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod fixture;
