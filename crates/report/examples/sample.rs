//! Renders a report, for working on a renderer:
//! `cargo run -p preheat-report --example sample -- html > sample.html`.
//! Formats: `html`, `json`, `terminal` (with `COLUMNS`). The report is made up,
//! unless a JSON document follows.

#[path = "../tests/common/mod.rs"]
mod common;

use preheat_report::{Terminal, lab_html, lab_json, lab_terminal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let format = arguments.next().unwrap_or_default();
    let report = match arguments.next() {
        None => common::report(),
        Some(file) => serde_json::from_str(&std::fs::read_to_string(file)?)?,
    };
    let width = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(80);
    let terminal = Terminal {
        width,
        color: std::env::var_os("COLOR").is_some(),
        unicode: true,
    };
    print!(
        "{}",
        match format.as_str() {
            "html" => lab_html(&report),
            "json" => lab_json(&report),
            _ => lab_terminal(&report, &terminal),
        }
    );
    Ok(())
}
