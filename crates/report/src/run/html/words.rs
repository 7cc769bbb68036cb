//! What several sections of the page write in the same way.

use preheat_model::run::{Cause, IterationsBy, RunReport, StartReport};

use crate::html::stack::in_order;

/// What the time to first ends with.
pub(super) fn first_of(report: &RunReport) -> &'static str {
    match report.iterations_by {
        IterationsBy::None => "the end of the program",
        _ => "the end of the first iteration",
    }
}

/// The causes of a start that took time, in the order of a program's life.
pub(super) fn parts(start: &StartReport) -> Vec<(Cause, f64)> {
    let causes = start.causes.iter().map(|part| (part.cause, part.seconds));
    in_order(causes)
}

/// More about an item: of an import, who asked for it.
pub(super) fn asked(cause: Cause, detail: &str) -> String {
    let says_so = detail.is_empty() || detail.starts_with("asked");
    match cause {
        Cause::PythonImports | Cause::LibraryLoading if !says_so => {
            format!("asked for by {detail}")
        }
        _ => detail.to_owned(),
    }
}
