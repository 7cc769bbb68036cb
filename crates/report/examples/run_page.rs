//! Renders the page of a run, for working on it: `cargo run -p preheat-report --example
//! run_page -- ladder > run.html`. Which: `training` (the default), `ladder`, `bare`,
//! `hostile`, `broken`, `huge`, or a JSON document, which has no timeline.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/run_view.rs"]
mod run_view;

use preheat_model::run::RunView;
use preheat_report::run_html;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let which = std::env::args().nth(1).unwrap_or_default();
    let (report, view) = match which.as_str() {
        "ladder" => (common::run::ladder(), run_view::view()),
        "bare" => (common::run::bare(), RunView::default()),
        "hostile" => (common::run::hostile(), run_view::hostile()),
        "broken" => (common::run::broken(), run_view::broken()),
        "huge" => (common::run::ladder(), run_view::huge()),
        file if file.ends_with(".json") => (
            serde_json::from_str(&std::fs::read_to_string(file)?)?,
            RunView::default(),
        ),
        _ => (common::run::report(), run_view::view()),
    };
    print!("{}", run_html(&report, &view));
    Ok(())
}
