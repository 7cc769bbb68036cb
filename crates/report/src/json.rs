//! Writes `preheat.lab/2`, `preheat.run/2`, `preheat.compare/2` and the other documents.
//!
//! The fields and their order come from the report types; this module only defines the
//! layout: each field of an object is on its own line, a list of plain values is on one line.
//! A thousand iterations are one line, and a diff of two documents shows which series changed.

use std::io::{self, Write};

use preheat_model::classify::ClassifyReport;
use preheat_model::compare::CompareReport;
use preheat_model::lab::LabReport;
use preheat_model::run::RunReport;
use serde::Serialize;
use serde_json::ser::Formatter;

/// Renders a lab report as a JSON document, ending with a newline.
pub fn lab_json(report: &LabReport) -> String {
    document(report)
}

/// Renders the report of a run as a JSON document, ending with a newline.
pub fn run_json(report: &RunReport) -> String {
    document(report)
}

/// Renders classified iteration times as a JSON document, ending with a newline.
pub fn classify_json(report: &ClassifyReport) -> String {
    document(report)
}

/// Renders a comparison as a JSON document, ending with a newline.
pub fn compare_json(report: &CompareReport) -> String {
    document(report)
}

/// Renders any report as a JSON document, ending with a newline.
pub(crate) fn document<T: Serialize>(report: &T) -> String {
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut text, Lines::default());
    match report.serialize(&mut writer) {
        Ok(()) => {
            text.push(b'\n');
            String::from_utf8_lossy(&text).into_owned()
        }
        // Writing to memory cannot fail, and all keys are strings. Should that ever change,
        // the document contains the error.
        Err(why) => format!("{{\"error\": \"the report cannot be written as JSON: {why}\"}}\n"),
    }
}

/// Formats each field of an object on its own line, and a list of plain values on one.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// True while the next value is an element of a list.
    element: bool,
    /// For each open list or object: true if it contains a line break, so that its closing
    /// bracket needs one too.
    open: Vec<bool>,
}

impl Lines {
    fn new_line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(open) = self.open.last_mut() {
            *open = true;
        }
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }

    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.element {
            self.new_line(writer)?;
        }
        self.element = false;
        self.depth += 1;
        self.open.push(false);
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if self.open.pop() == Some(true) {
            writer.write_all(b"\n")?;
            (0..self.depth).try_for_each(|_| writer.write_all(b"  "))?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.element = true;
        if first {
            Ok(())
        } else {
            writer.write_all(b",")
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.element = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.element = false;
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn lines<T: Serialize>(value: &T) -> String {
        let mut text = Vec::new();
        let mut writer = serde_json::Serializer::with_formatter(&mut text, Lines::default());
        value.serialize(&mut writer).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lists_of_values_stay_on_one_line() {
        assert_eq!(lines(&vec![1, 2, 3]), "[1,2,3]");
        assert_eq!(lines(&vec![vec![1, 2], vec![3]]), "[\n  [1,2],\n  [3]\n]");
        assert_eq!(lines(&Vec::<u8>::new()), "[]");
        assert_eq!(lines(&(("a", 1.5), "b")), "[\n  [\"a\",1.5],\"b\"\n]");
    }

    #[test]
    fn a_lab_report_round_trips() {
        let report = fixture::report();
        let text = lab_json(&report);
        assert!(text.starts_with("{\n  \"schema\": \"preheat.lab/2\",\n"));
        assert!(text.ends_with("}\n"));
        // The parser can be off by the last bit of a number, so compare numbers separately.
        let mut back: LabReport = serde_json::from_str(&text).unwrap();
        let written = report.experiments.iter().flat_map(|e| &e.series);
        let read = back.experiments.iter().flat_map(|e| &e.series);
        for (written, read) in written.zip(read) {
            let pairs = written
                .iterations
                .iter()
                .flatten()
                .zip(read.iterations.iter().flatten());
            assert!(
                pairs
                    .into_iter()
                    .all(|(a, b)| (a - b).abs() <= a.abs() * 1e-15)
            );
            assert_eq!((&written.name, written.class), (&read.name, read.class));
        }
        back.experiments.clone_from(&report.experiments);
        back.floors.clone_from(&report.floors);
        back.claims.clone_from(&report.claims);
        assert_eq!(back, report);
    }

    #[test]
    fn a_run_report_round_trips() {
        let report = fixture::run::report();
        let text = run_json(&report);
        assert!(text.starts_with("{\n  \"schema\": \"preheat.run/2\",\n"));
        assert!(text.ends_with("}\n"));
        let back: RunReport = serde_json::from_str(&text).unwrap();
        assert_eq!(back, report);
        let iterations = serde_json::to_string(&report.starts[1].iterations).unwrap();
        let start = format!("\"iterations\": {iterations}");
        assert!(text.lines().any(|line| line.trim().starts_with(&start)));
    }

    #[test]
    fn a_comparison_round_trips() {
        use fixture::compare;
        let all = [
            compare::regression(),
            compare::unchanged(),
            compare::few(),
            compare::faster(),
            compare::lab(),
            compare::hostile(),
            compare::nothing(),
        ];
        for report in all {
            let text = compare_json(&report);
            assert!(text.starts_with("{\n  \"schema\": \"preheat.compare/2\",\n"));
            assert!(text.ends_with("}\n"));
            // The parser can be off by the last bit of a number; everything else is equal.
            let back: CompareReport = serde_json::from_str(&text).unwrap();
            let values = |report: &CompareReport| -> Vec<f64> {
                let levels = report.quantities.iter().flat_map(|q| [&q.base, &q.new]);
                let values = levels.flatten().flat_map(|level| level.values.clone());
                values
                    .chain(report.causes.iter().map(|c| c.difference.value))
                    .collect()
            };
            for (a, b) in values(&report).iter().zip(values(&back)) {
                assert!((a - b).abs() <= a.abs() * 1e-15);
            }
            let words = |report: &CompareReport| {
                let words = report.quantities.iter();
                let words = words.map(|q| (q.id, q.of.clone(), q.verdict, q.why.clone()));
                (words.collect::<Vec<_>>(), report.headline.clone())
            };
            assert_eq!(words(&back), words(&report));
            assert_eq!((&back.base, &back.new), (&report.base, &report.new));
        }
    }

    #[test]
    fn each_start_of_a_series_is_one_line() {
        let report = fixture::report();
        let series = &report.experiments[1].series[0];
        let start = serde_json::to_string(&series.iterations[0]).unwrap();
        assert!(
            lab_json(&report)
                .lines()
                .any(|line| line.trim().trim_end_matches(',') == start)
        );
    }
}
