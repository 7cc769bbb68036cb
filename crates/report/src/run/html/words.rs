//! Texts shared by several sections of the page.

use preheat_model::run::{Cause, IterationsBy, RunReport, StartReport};

use crate::html::stack::in_order;

/// The end of the time to first.
pub(super) fn first_of(report: &RunReport) -> &'static str {
    match report.iterations_by {
        IterationsBy::None => "the end of the program",
        _ => "the end of the first iteration",
    }
}

/// The causes of a start with a nonzero time, in the usual order of startup.
pub(super) fn parts(start: &StartReport) -> Vec<(Cause, f64)> {
    let causes = start.causes.iter().map(|part| (part.cause, part.seconds));
    in_order(causes)
}
