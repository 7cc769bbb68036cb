//! Moments that a program marks with `preheat.mark`.

use super::MarkReport;
use super::trace::{Recording, StartTrace};
use crate::stats::interval;

/// All marks of the counted starts, in order of first occurrence.
pub(super) fn list(recording: &Recording, counted: &[usize]) -> Vec<MarkReport> {
    let starts: Vec<Vec<(f64, &str)>> = (counted.iter())
        .filter_map(|at| recording.starts.get(*at))
        .map(seconds)
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in starts.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut marks: Vec<MarkReport> = (names.into_iter())
        .filter_map(|name| of_name(name, &starts, recording.manifest.settings.seed))
        .collect();
    marks.sort_by(|a, b| a.first.estimate.total_cmp(&b.first.estimate));
    marks
}

fn of_name(name: &str, starts: &[Vec<(f64, &str)>], seed: u64) -> Option<MarkReport> {
    let times = |marks: &Vec<(f64, &str)>| -> Vec<f64> {
        let named = marks.iter().filter(|mark| mark.1 == name);
        named.map(|mark| mark.0).collect()
    };
    let all: Vec<Vec<f64>> = starts.iter().map(times).filter(|t| !t.is_empty()).collect();
    let firsts: Vec<Vec<f64>> = all.iter().map(|times| vec![times[0]]).collect();
    Some(MarkReport {
        name: name.to_owned(),
        count: all.iter().map(Vec::len).max()?,
        first: interval(&firsts, seed)?,
    })
}

/// The marks of a start in chronological order, in seconds after `exec`.
fn seconds(start: &StartTrace) -> Vec<(f64, &str)> {
    let mut marks: Vec<(f64, &str)> = (start.processes.iter())
        .flat_map(|process| &process.marks)
        .map(|(time, name)| (*time as f64 / 1e9, name.as_str()))
        .collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    marks
}
