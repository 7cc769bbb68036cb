//! Exports the measured values in Bencher Metric Format: `{benchmark: {measure: {value,
//! lower_value, upper_value}}}`.
//!
//! Times use Bencher's built-in measure `latency`, in nanoseconds. The other measures are
//! not built in; Bencher creates them on first use.

use std::collections::BTreeMap;

use preheat_model::check::{CheckReport, Unit};
use serde::Serialize;

use super::words::export_name;
use crate::json::document;

/// The maximum length of a benchmark name in Bencher.
const LONGEST: usize = 1024;

/// One value with the ends of its interval.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// All measured values, with or without a limit.
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
        if !found.estimate.is_finite() {
            continue;
        }
        let name = export_name(report, value).chars().take(LONGEST).collect();
        let end = |end: Option<f64>| end.filter(|end| end.is_finite()).map(|end| end * scale);
        let metric = Metric {
            value: found.estimate * scale,
            lower_value: end(found.low),
            upper_value: end(found.high),
        };
        benchmarks.insert(name, BTreeMap::from([(measure, metric)]));
    }
    document(&benchmarks)
}
