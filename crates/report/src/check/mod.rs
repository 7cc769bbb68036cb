//! A recording against its budget, for people and for what they build pipelines of.
//!
//! - `terminal`, `markdown` – for people; `words` – what both say
//! - `github`, `junit` – annotations and test results for a pipeline
//! - `bmf`, `benchmark_action` – what was measured, for tools that keep its history
//! - `draft` – a budget to be, as TOML

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

use preheat_analyze::check::CheckReport;

/// The report as a JSON document (`preheat.check/1`) that ends with a newline.
pub fn check_json(report: &CheckReport) -> String {
    crate::json::document(report)
}
