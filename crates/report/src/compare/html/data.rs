//! The data for the script: both paths from exec to the end of the first iteration.

use preheat_model::compare::CompareReport;
use preheat_model::run::{Cause, RunView, Segment};
use serde_json::{Value, json};

use crate::html::data::{DETAIL, Names, element, longest, micros, plain, segment};
use crate::html::escape::command_line;

/// The maximum number of segments per path.
const SEGMENTS: usize = 1500;

/// The element that holds the data.
pub(super) fn block(report: &CompareReport, views: [Option<&RunView>; 2]) -> String {
    let mut names = Names::default();
    let mut sides: Vec<Value> = Vec::new();
    let until = views.into_iter().flatten().map(end).fold(0.0, f64::max);
    let about = [("base", &report.base), ("new", &report.new)];
    for (view, (name, side)) in views.into_iter().zip(about) {
        let Some(view) = view else { continue };
        let path: Vec<Value> = parts(view, SEGMENTS)
            .iter()
            .map(|part| segment(part, &mut names))
            .collect();
        let first = view
            .iterations
            .first()
            .filter(|(begin, _)| begin.is_finite());
        sides.push(json!({
            "name": name,
            "command": plain(&command_line(&side.command), DETAIL),
            "path": path,
            "first": micros(end(view)),
            "iteration": first.map(|(begin, _)| micros(*begin)),
        }));
    }
    element(&json!({
        "until": micros(until),
        "causes": Cause::ALL.map(Cause::as_str),
        "sides": sides,
        "names": names.all,
    }))
}

/// The end of the first iteration, or of the view if nothing repeats.
pub(super) fn end(view: &RunView) -> f64 {
    let first = view.iterations.first().map(|(_, end)| *end);
    let end = first.filter(|end| end.is_finite()).unwrap_or(view.until);
    if end.is_finite() { end.max(0.0) } else { 0.0 }
}

/// The longest segments up to [`end`], in order.
pub(super) fn parts(view: &RunView, most: usize) -> Vec<Segment> {
    let end = end(view);
    let inside: Vec<Segment> = view
        .path
        .iter()
        .filter(|part| part.begin < end)
        .map(|part| Segment {
            end: part.end.min(end),
            ..part.clone()
        })
        .collect();
    let longest = longest(&inside, most, |part| (part.begin, part.end));
    longest.into_iter().cloned().collect()
}
