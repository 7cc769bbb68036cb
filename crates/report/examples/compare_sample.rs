//! Renders a comparison, for working on a renderer:
//! `cargo run -p preheat-report --example compare_sample -- terminal regression`.
//! Formats: `terminal` (with `COLUMNS` and `COLOR`), `json`, `html`. Which: `regression`
//! (the default), `unchanged`, `few`, `memory`, `faster`, `lab`, `hostile`, `broken`,
//! `nothing`, or a JSON document, which has no timelines.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/run_view.rs"]
mod run_view;

use common::compare;
use preheat_report::{Terminal, compare_html, compare_json, compare_terminal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let format = arguments.next().unwrap_or_default();
    let which = arguments.next().unwrap_or_default();
    let report = match which.as_str() {
        "unchanged" => compare::unchanged(),
        "few" => compare::few(),
        "memory" => compare::memory(),
        "faster" => compare::faster(),
        "lab" => compare::lab(),
        "hostile" => compare::hostile(),
        "broken" => compare::broken(),
        "nothing" => compare::nothing(),
        file if file.ends_with(".json") => serde_json::from_str(&std::fs::read_to_string(file)?)?,
        _ => compare::regression(),
    };
    let columns = std::env::var("COLUMNS").ok();
    let terminal = Terminal {
        width: columns.and_then(|text| text.parse().ok()).unwrap_or(80),
        color: std::env::var_os("COLOR").is_some(),
        unicode: true,
    };
    let (base, new) = (run_view::shorter(), run_view::view());
    print!(
        "{}",
        match format.as_str() {
            "json" => compare_json(&report),
            "html" if which.ends_with(".json") => compare_html(&report, None, None),
            "html" => compare_html(&report, Some(&base), Some(&new)),
            _ => compare_terminal(&report, &terminal),
        }
    );
    Ok(())
}
