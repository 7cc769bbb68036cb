//! Findings for people and machines.
//!
//! A finished report goes in; text comes out. Of a [`LabReport`]: [`lab_terminal`] for
//! a person at a prompt, [`lab_html`] for a person with a browser, [`lab_json`] for
//! programs. Of a run likewise: [`run_terminal`], [`run_html`], [`run_json`], [`run_csv`], and
//! [`run_perfetto`] for the time line of its recording. Of a comparison:
//! [`compare_terminal`], [`compare_html`], [`compare_json`]; of judged iteration times:
//! [`classify_terminal`], [`classify_html`], [`classify_json`]. Nothing here measures, decides
//! or judges: the numbers, classes and verdicts are the report's own, and every
//! renderer shows the same ones.
//!
//! - `overview` – which series stand for an experiment; `labels` – what they are called
//! - `headline`, `verdicts`, `gaps` – the sentence at the top, the claims' verdicts,
//!   what is missing at the bottom
//! - `terminal`, `html`, `json` – the renderers
//! - `check` – the renderers of a recording against its budget
//! - `classify` – the renderers of judged iteration times
//! - `run` – the renderers of a recorded program; `perfetto` – its time line
//! - `compare` – the renderers of a comparison; `tried` – those of remedies that were tried

#![forbid(unsafe_code)]

mod check;
mod classify;
mod compare;
mod csv;
mod gaps;
mod headline;
mod html;
mod json;
mod labels;
mod overview;
mod perfetto;
mod run;
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
pub use html::lab_html;
pub use json::{classify_json, compare_json, lab_json, run_json};
pub use perfetto::run_perfetto;
pub use run::{run_html, run_terminal};
pub use terminal::{Terminal, hanging, lab_terminal};
pub use tried::{tried_html, tried_json, tried_terminal};
pub use units::{bandwidth, bytes, duration};

use preheat_analyze::lab::LabReport;
use preheat_analyze::units;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod fixture;

/// The native device of `kind`, as its own name for people; the kind itself where
/// the report does not know it.
fn device_name<'a>(report: &'a LabReport, kind: &'a str) -> &'a str {
    std::iter::once(&report.device)
        .chain(&report.other_devices)
        .find(|device| device.kind == kind)
        .map_or(kind, |device| device.name.as_str())
}
