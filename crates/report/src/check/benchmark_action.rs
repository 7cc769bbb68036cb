//! Exports the measured values for github-action-benchmark, whose tool
//! `customSmallerIsBetter` accepts a list of `{name, unit, value, range, extra}`.

use preheat_model::check::{CheckReport, Line, Unit, Value};
use serde::Serialize;

use super::words::{export_name, starts, with_ends};
use crate::json::document;
use crate::units::number;

const MIB: f64 = 1048576.0;

/// One value, whose history the action tracks.
#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    /// Shown after the value, like `± 3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// Shown as a tooltip.
    extra: String,
}

/// All measured values, with or without a limit.
pub fn check_benchmark_action(report: &CheckReport) -> String {
    let finite = |value: &&Value| value.measured.estimate.is_finite();
    let entries: Vec<Entry> = (report.measured.iter().filter(finite))
        .map(|value| entry(report, value))
        .collect();
    document(&entries)
}

fn entry(report: &CheckReport, value: &Value) -> Entry {
    let (unit, scale) = match value.unit {
        Unit::Seconds => ("s", 1.0),
        Unit::Bytes => ("MiB", MIB),
        Unit::Ratio => ("x", 1.0),
        Unit::Iterations => ("iterations", 1.0),
        Unit::Count | Unit::ExitCode => ("", 1.0),
    };
    let found = &value.measured;
    let ends = found.low.zip(found.high);
    let mut extra = with_ends(value.unit, found);
    if ends.is_some() {
        extra.push_str(&format!(", 95 % interval over {}", starts(value.starts)));
    }
    if let Some(line) = report.lines.iter().find(|line| is_of(line, value)) {
        extra.push_str(&format!("\nlimit {}", line.unit.write(line.most)));
    }
    Entry {
        name: export_name(report, value),
        unit,
        value: found.estimate / scale,
        range: ends.map(|(low, high)| format!("{}–{}", number(low / scale), number(high / scale))),
        extra,
    }
}

/// Returns true if `line` limits this value.
fn is_of(line: &Line, value: &Value) -> bool {
    let temperature = line.temperature.unwrap_or(value.temperature);
    (line.limit, line.cause, temperature) == (value.quantity, value.cause, value.temperature)
}
