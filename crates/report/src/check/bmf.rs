//! What was measured in the Bencher Metric Format: `{benchmark: {measure: {value,
//! lower_value, upper_value}}}`.
//!
//! Times are Bencher's own measure `latency`, which is in nanoseconds. For the others it
//! has none; those here are created when they are first seen.

use preheat_analyze::check::{CheckReport, Unit};
use serde_json::{Map, Value, json};

use super::words::export_name;

/// The longest name that Bencher takes for a benchmark.
const LONGEST: usize = 1024;

/// Everything that was measured, limited or not.
pub fn check_bmf(report: &CheckReport) -> String {
    let mut benchmarks = Map::new();
    for value in &report.measured {
        let (measure, scale) = match value.unit {
            Unit::Seconds => ("latency", 1e9),
            Unit::Bytes => ("memory", 1.0),
            Unit::Ratio => ("ratio", 1.0),
            Unit::Iterations => ("iterations", 1.0),
            Unit::ExitCode => continue,
        };
        let found = &value.measured;
        let mut metric = Map::new();
        for (name, number) in [
            ("value", Some(found.median)),
            ("lower_value", found.low),
            ("upper_value", found.high),
        ] {
            if let Some(number) = number.filter(|number| number.is_finite()) {
                metric.insert(name.to_owned(), json!(number * scale));
            }
        }
        if metric.contains_key("value") {
            let name = export_name(report, value).chars().take(LONGEST).collect();
            benchmarks.insert(name, json!({ measure: metric }));
        }
    }
    crate::json::document(&Value::Object(benchmarks))
}
