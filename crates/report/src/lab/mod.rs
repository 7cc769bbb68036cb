//! Renders a lab report.
//!
//! - `overview` – selects the series and groups them by subject; `labels` – names them
//! - `headline`, `verdicts`, `gaps` – the headline, the claims, and what is missing
//! - `terminal`, `html` – the renderers; JSON is in `crate::json`

mod gaps;
mod headline;
mod html;
pub(crate) mod labels;
mod overview;
mod terminal;
mod verdicts;

pub use html::lab_html;
pub use terminal::lab_terminal;

use preheat_model::lab::LabReport;

/// The display name of the native device `kind`, or `kind` if the report does not list it.
fn device_name<'a>(report: &'a LabReport, kind: &'a str) -> &'a str {
    std::iter::once(&report.device)
        .chain(&report.other_devices)
        .find(|device| device.kind == kind)
        .map_or(kind, |device| device.name.as_str())
}
