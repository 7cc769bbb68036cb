//! What was measured for github-action-benchmark, whose tool `customSmallerIsBetter` takes
//! a list of `{name, unit, value, range, extra}`.

use preheat_analyze::check::{CheckReport, Line, Unit, Value};
use serde_json::{Map, json};

use super::words::{export_name, starts, with_ends};

const MIB: f64 = 1048576.0;

/// Everything that was measured, limited or not.
pub fn check_benchmark_action(report: &CheckReport) -> String {
    let finite = |value: &&Value| value.measured.median.is_finite();
    let entries: Vec<_> = (report.measured.iter().filter(finite))
        .map(|value| entry(report, value))
        .collect();
    crate::json::document(&entries)
}

fn entry(report: &CheckReport, value: &Value) -> Map<String, serde_json::Value> {
    let (unit, scale) = match value.unit {
        Unit::Seconds => ("s", 1.0),
        Unit::Bytes => ("MiB", MIB),
        Unit::Ratio => ("x", 1.0),
        Unit::Iterations => ("iterations", 1.0),
        Unit::ExitCode => ("", 1.0),
    };
    let found = &value.measured;
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(export_name(report, value)));
    entry.insert("unit".to_owned(), json!(unit));
    entry.insert("value".to_owned(), json!(found.median / scale));
    if let (Some(low), Some(high)) = (found.low, found.high) {
        // Shown behind the value, where others write `± 3`.
        let range = format!("{:.4} to {:.4}", low / scale, high / scale);
        entry.insert("range".to_owned(), json!(range));
    }
    let mut extra = format!(
        "{}, 95 % interval over {}",
        with_ends(value.unit, found),
        starts(value.starts)
    );
    if let Some(line) = report.lines.iter().find(|line| is_of(line, value)) {
        extra.push_str(&format!("\nlimit {}", line.unit.write(line.most)));
    }
    entry.insert("extra".to_owned(), json!(extra));
    entry
}

/// Whether a line limits this value.
fn is_of(line: &Line, value: &Value) -> bool {
    let temperature = line.temperature.unwrap_or(value.temperature);
    (line.limit, line.cause, temperature) == (value.quantity, value.cause, value.temperature)
}
