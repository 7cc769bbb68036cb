//! Renders the report of a run, for working on a renderer: `cargo run -p preheat-report
//! --example run_sample -- terminal`. Formats: `terminal` (with `COLUMNS` and `COLOR`),
//! `ladder` (the same for a run at several temperatures), `json`, `csv`. The report is made
//! up, unless a JSON document follows.

#[path = "../tests/common/mod.rs"]
mod common;

use preheat_report::{Terminal, run_csv, run_json, run_terminal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let format = arguments.next().unwrap_or_default();
    let report = match arguments.next() {
        Some(file) => serde_json::from_str(&std::fs::read_to_string(file)?)?,
        None if format == "ladder" => common::run::ladder(),
        None => common::run::report(),
    };
    let columns = std::env::var("COLUMNS").ok();
    let terminal = Terminal {
        width: columns.and_then(|text| text.parse().ok()).unwrap_or(80),
        color: std::env::var_os("COLOR").is_some(),
        unicode: true,
    };
    print!(
        "{}",
        match format.as_str() {
            "json" => run_json(&report),
            "csv" => run_csv(&report),
            _ => run_terminal(&report, &terminal),
        }
    );
    Ok(())
}
