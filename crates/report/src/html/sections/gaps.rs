//! Differing first starts, failures, and what was not measured.

use crate::gaps::{Gap, failures, first_starts, skipped};
use crate::html::escape::escape;
use crate::html::page::Page;
use crate::overview::Subject;

/// Adds the section.
pub(in crate::html) fn add(page: &mut Page, subjects: &[Subject]) {
    let starts: Vec<String> = first_starts(subjects)
        .into_iter()
        .map(|(what, sentence)| format!("<b>{}</b>: {}.", escape(&what), escape(&sentence)))
        .collect();
    let gaps = |gaps: Vec<Gap>| -> Vec<String> {
        gaps.into_iter()
            .map(|gap| {
                let subjects = escape(&gap.subjects.join(", "));
                format!(
                    "<b>{}</b> ({subjects}): {}",
                    escape(&gap.what),
                    escape(&gap.why)
                )
            })
            .collect()
    };
    let html = [
        list("The first start differed", &starts),
        list("Failed", &gaps(failures(page.report))),
        list("Not measured", &gaps(skipped(page.report))),
    ]
    .concat();
    page.section("gaps", "Exceptions", "", &html);
}

fn list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| format!("<li>{item}</li>"))
        .collect();
    format!("<h3>{title}</h3><ul class=\"plain\">{items}</ul>")
}
