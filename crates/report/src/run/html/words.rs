//! What several sections of the page write in the same way.

use preheat_analyze::run::{Cause, IterationsBy, RunReport, StartReport};

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

/// Parts that can be drawn, in the order of a program's life.
pub(super) fn in_order(parts: impl Iterator<Item = (Cause, f64)>) -> Vec<(Cause, f64)> {
    let mut parts: Vec<(Cause, f64)> = parts
        .filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0)
        .collect();
    parts.sort_by_key(|(cause, _)| *cause);
    parts
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

/// Safe text in which what stands between backticks is code.
pub(super) fn code(safe: &str) -> String {
    let mut parts = safe.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    while let Some(inner) = parts.next() {
        match parts.next() {
            Some(after) => html.push_str(&format!("<code>{inner}</code>{after}")),
            None => html.push_str(&format!("`{inner}")),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_are_code_where_they_are_closed() {
        assert_eq!(
            code("set `A=1` and `B`"),
            "set <code>A=1</code> and <code>B</code>"
        );
        assert_eq!(code("a ` alone"), "a ` alone");
        assert_eq!(code("none"), "none");
    }
}
