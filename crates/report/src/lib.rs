//! Renders finished reports as text, HTML, JSON and other formats.
//!
//! | report | functions |
//! |---|---|
//! | [`LabReport`] | [`lab_terminal`], [`lab_html`], [`lab_json`] |
//! | a run | [`run_terminal`], [`run_html`], [`run_json`], [`run_csv`], [`run_perfetto`], [`run_speedscope`], [`run_otlp`] |
//! | a comparison | [`compare_terminal`], [`compare_html`], [`compare_json`] |
//! | a check | [`check_terminal`], [`check_json`], [`check_junit`], [`check_github`], … |
//! | iteration times | [`classify_terminal`], [`classify_html`], [`classify_json`] |
//! | a machine | [`doctor_terminal`], [`doctor_json`] |
//! | measured remedies | [`tried_terminal`], [`tried_html`], [`tried_json`] |
//!
//! Nothing here measures or decides: the numbers, classes and verdicts come from the report,
//! and every renderer shows the same ones.
//!
//! - `overview` – selects the series of a lab report; `labels` – names them
//! - `headline`, `verdicts`, `gaps` – the headline, the claims, and what is missing
//! - `terminal`, `html`, `json` – the renderers of the lab, and the tools that all share
//! - `check`, `classify`, `compare`, `doctor`, `run`, `tried` – the renderers of the other reports
//! - `csv`, `perfetto`, `speedscope`, `otlp` – exports of a run; `proto` – encodes protobuf

#![forbid(unsafe_code)]

mod check;
mod classify;
mod compare;
mod csv;
mod doctor;
mod gaps;
mod headline;
mod html;
mod json;
mod labels;
mod otlp;
mod overview;
mod perfetto;
mod proto;
mod run;
mod speedscope;
mod terminal;
mod tried;
mod verdicts;

pub use check::{
    check_benchmark_action, check_bmf, check_draft, check_github, check_json, check_junit,
    check_markdown, check_terminal,
};
pub use classify::{ClassifySketch, classify_html, classify_terminal};
pub use compare::{compare_html, compare_terminal};
pub use csv::run_csv;
pub use doctor::{doctor_json, doctor_terminal};
pub use html::lab_html;
pub use json::{classify_json, compare_json, lab_json, run_json};
pub use otlp::{OtlpRequest, run_otlp};
pub use perfetto::run_perfetto;
pub use run::{run_html, run_terminal};
pub use speedscope::run_speedscope;
pub use terminal::{Terminal, lab_terminal};
pub use tried::{tried_html, tried_json, tried_terminal};
pub use units::{bandwidth, bytes, duration};

use preheat_model::lab::LabReport;
use preheat_model::units;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod fixture;

/// The display name of the native device `kind`, or `kind` if the report does not list it.
fn device_name<'a>(report: &'a LabReport, kind: &'a str) -> &'a str {
    std::iter::once(&report.device)
        .chain(&report.other_devices)
        .find(|device| device.kind == kind)
        .map_or(kind, |device| device.name.as_str())
}
