//! Renders a measurement of remedies: terminal, HTML and JSON.

mod html;
mod terminal;
mod words;

pub use html::measurement_html;
pub use terminal::measurement_terminal;

use preheat_model::measurement::MeasurementReport;

use crate::json::document;

/// Renders a measurement of remedies as a JSON document, ending with a newline.
pub fn measurement_json(report: &MeasurementReport) -> String {
    document(report)
}
