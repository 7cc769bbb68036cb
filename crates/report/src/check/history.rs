//! Exports all measured values, with or without a limit, for tools that track their history:
//! Bencher and github-action-benchmark.

use std::collections::BTreeMap;

use preheat_model::check::{CheckReport, Line, Unit, Value};
use serde::Serialize;

use super::{export_name, with_ends};
use crate::json::document;
use crate::units::{counted, join_values, number};

/// The maximum length of a benchmark name in Bencher.
const MAX_NAME_BYTES: usize = 1024;

/// One value with the ends of its interval.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Exports the measured values in Bencher Metric Format: `{benchmark: {measure: {value,
/// lower_value, upper_value}}}`.
///
/// Times use Bencher's built-in measure `latency`, in nanoseconds. The other measures are
/// not built in; Bencher creates them on first use.
pub fn check_bmf(report: &CheckReport) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Metric>> = BTreeMap::new();
    for value in &report.measured {
        let (measure, scale) = match value.unit {
            Unit::Seconds => ("latency", 1e9),
            Unit::Bytes => ("memory", 1.0),
            Unit::Ratio => ("ratio", 1.0),
            Unit::Iterations => ("iterations", 1.0),
            Unit::Count | Unit::ExitCode => continue,
        };
        let found = &value.measured;
        if !found.value.is_finite() {
            continue;
        }
        let name = export_name(report, value)
            .chars()
            .take(MAX_NAME_BYTES)
            .collect();
        let end = |end: Option<f64>| end.filter(|end| end.is_finite()).map(|end| end * scale);
        let metric = Metric {
            value: found.value * scale,
            lower_value: end(found.low),
            upper_value: end(found.high),
        };
        benchmarks.insert(name, BTreeMap::from([(measure, metric)]));
    }
    document(&benchmarks)
}

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

/// Exports the measured values for github-action-benchmark, whose tool
/// `customSmallerIsBetter` accepts a list of `{name, unit, value, range, extra}`.
pub fn check_benchmark_action(report: &CheckReport) -> String {
    let finite = |value: &&Value| value.measured.value.is_finite();
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
        extra.push_str(&format!(
            ", 95 % interval over {}",
            counted(value.starts, "start")
        ));
    }
    if let Some(line) = report.lines.iter().find(|line| is_of(line, value)) {
        extra.push_str(&format!("\nlimit {}", line.unit.write(line.most)));
    }
    Entry {
        name: export_name(report, value),
        unit,
        value: found.value / scale,
        // The tool shows the unit itself.
        range: ends.map(|(low, high)| join_values(&number(low / scale), &number(high / scale), "")),
        extra,
    }
}

/// Returns true if `line` limits this value.
fn is_of(line: &Line, value: &Value) -> bool {
    let temperature = line.temperature.unwrap_or(value.temperature);
    (line.limit, line.cause, temperature) == (value.quantity, value.cause, value.temperature)
}
