//! Remedies that were tried, for a person at a prompt and for programs.

mod terminal;
mod words;

pub use terminal::tried_terminal;

use preheat_analyze::tried::TriedReport;

use crate::json::document;

/// Remedies that were tried, as a JSON document that ends with a newline.
pub fn tried_json(report: &TriedReport) -> String {
    document(report)
}
