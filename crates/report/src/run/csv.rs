//! Exports a run as one long table, for spreadsheets and data frames.
//!
//! Each row is one value: the start, its temperature, the kind of value (`total`, `cause` or
//! `iteration`), its name, its index if there are several, and the value in seconds or bytes.
//! Unknown values have no row. Text is quoted according to RFC 4180; lines end with a newline.

use preheat_model::run::{RunReport, StartReport};

const HEADER: &str = "start,temperature,kind,name,index,seconds,bytes\n";

/// Renders the starts of a report as CSV with a header. Starts are numbered from 1, as in
/// the human-readable reports; iterations from 0.
pub fn run_csv(report: &RunReport) -> String {
    let mut text = HEADER.to_owned();
    for (index, start) in report.starts.iter().enumerate() {
        let mut table = Table {
            text: &mut text,
            start: index + 1,
            temperature: start.temperature.as_str(),
        };
        table.start(start);
    }
    text
}

/// The rows of one start.
struct Table<'a> {
    text: &'a mut String,
    start: usize,
    temperature: &'static str,
}

impl Table<'_> {
    fn start(&mut self, start: &StartReport) {
        if let Some(seconds) = start.time_to_first {
            self.seconds("total", "time to first", None, seconds);
        }
        self.seconds("total", "wall", None, start.wall);
        self.row(
            "total",
            "peak host memory",
            None,
            "",
            &start.peak_resident.to_string(),
        );
        if let Some(peak) = start.peak_device {
            self.row("total", "peak device memory", None, "", &peak.to_string());
        }
        for part in &start.causes {
            self.seconds("cause", part.cause.as_str(), None, part.seconds);
        }
        for (index, seconds) in start.iterations.iter().enumerate() {
            self.seconds("iteration", "iteration", Some(index), *seconds);
        }
    }

    fn seconds(&mut self, kind: &str, name: &str, index: Option<usize>, seconds: f64) {
        if seconds.is_finite() {
            self.row(kind, name, index, &seconds.to_string(), "");
        }
    }

    fn row(&mut self, kind: &str, name: &str, index: Option<usize>, seconds: &str, bytes: &str) {
        let fields = [
            &*self.start.to_string(),
            self.temperature,
            kind,
            name,
            &*index.map_or(String::new(), |index| index.to_string()),
            seconds,
            bytes,
        ];
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        self.text.push_str(&fields.join(","));
        self.text.push('\n');
    }
}

/// Quotes a field according to RFC 4180.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn every_value_of_every_start_has_a_row() {
        let report = run::ladder();
        let text = run_csv(&report);
        assert!(text.starts_with(HEADER));
        let values: usize = report
            .starts
            .iter()
            .map(|start| {
                let totals = 3 + usize::from(start.peak_device.is_some());
                totals + start.causes.len() + start.iterations.len()
            })
            .sum();
        assert_eq!(text.lines().count(), 1 + values);
        assert!(text.lines().all(|line| line.split(',').count() == 7));
        assert!(text.contains("\n3,process,total,time to first,,8.94,\n"));
        assert!(text.contains("\n2,disk,iteration,iteration,0,0.543,\n"));
        assert!(text.contains("\n2,disk,total,peak host memory,,,3355443200\n"));
        assert!(text.contains("\n2,disk,total,peak device memory,,,902823936\n"));
        assert!(text.contains("\n3,process,cause,program's own CPU time,,0.4199"));
    }

    #[test]
    fn unknown_values_have_no_row() {
        for report in [run::broken(), run::bare()] {
            let text = run_csv(&report);
            assert!(!text.contains("NaN") && !text.contains("inf"));
        }
        assert!(!run_csv(&run::bare()).contains("time to first"));
    }

    #[test]
    fn quotes_fields_with_special_characters() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"a\"\n"), "\"say \"\"a\"\"\n\"");
    }
}
