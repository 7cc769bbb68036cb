//! Renders the check of a recording against its budget.
//!
//! - `terminal`, `markdown` – human-readable reports; `words` – the texts they share
//! - `github`, `junit` – annotations and test results for CI
//! - `bmf`, `benchmark_action` – measured values, for tools that track their history
//! - `draft` – a new budget as TOML

mod benchmark_action;
mod bmf;
mod draft;
mod github;
mod junit;
mod markdown;
mod terminal;
mod words;

pub use benchmark_action::check_benchmark_action;
pub use bmf::check_bmf;
pub use draft::check_draft;
pub use github::check_github;
pub use junit::check_junit;
pub use markdown::check_markdown;
pub use terminal::check_terminal;

use preheat_model::check::CheckReport;

/// Renders the report as a JSON document (`preheat.check/2`), ending with a newline.
pub fn check_json(report: &CheckReport) -> String {
    crate::json::document(report)
}
