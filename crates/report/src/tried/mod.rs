//! Renders a measurement of remedies: terminal, HTML and JSON.

mod html;
mod terminal;
mod words;

pub use html::tried_html;
pub use terminal::tried_terminal;

use preheat_model::tried::TriedReport;

use crate::json::document;

/// Renders a measurement of remedies as a JSON document, ending with a newline.
pub fn tried_json(report: &TriedReport) -> String {
    document(report)
}
