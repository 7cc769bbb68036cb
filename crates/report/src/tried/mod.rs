//! Remedies that were tried, for a person at a prompt or with a browser, and for programs.

mod html;
mod terminal;
mod words;

pub use html::tried_html;
pub use terminal::tried_terminal;

use preheat_analyze::tried::TriedReport;

use crate::json::document;

/// Remedies that were tried, as a JSON document that ends with a newline.
pub fn tried_json(report: &TriedReport) -> String {
    document(report)
}
