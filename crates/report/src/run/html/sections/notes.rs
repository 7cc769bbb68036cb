//! The notes, and the conditions of the recording.

use super::super::RunPage;
use crate::html::code::code;
use crate::html::escape::escape;
use crate::html::facts::facts;
use crate::run::words::counted;
use crate::units::{bytes, tie};

/// Adds the section.
pub(in crate::run::html) fn add(page: &mut RunPage) {
    let report = page.report;
    let notes: String = report
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>", code(&escape(&tie(note)))))
        .collect();
    let mut html = match notes.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"plain\">{notes}</ul>"),
    };
    let row = |name: &str, value: String| (name.to_owned(), value);
    let settings = &report.settings;
    let how = [
        row("requested starts", counted(settings.starts, "start")),
        row("iterations", settings.iterations.clone()),
        row("iteration", report.iteration.clone()),
        row(
            "synchronized",
            match settings.synchronize {
                true => "at the end of each iteration",
                false => "only by the program itself",
            }
            .to_owned(),
        ),
        row("limit", format!("{} per process", bytes(settings.limit))),
        row("seed", settings.seed.to_string()),
        row("directory", report.directory.clone()),
    ];
    let machine = &report.machine;
    let where_ = [
        row("cores", machine.cores.to_string()),
        row("memory", bytes(machine.memory)),
        row("system", machine.os.clone()),
        row("kernel", machine.kernel.clone()),
    ];
    let mut cards = facts("machine", &machine.cpu, &where_);
    cards.push_str(&facts("settings", "How it was run", &how));
    if !report.environment.is_empty() {
        cards.push_str(&facts(
            "environment",
            "Environment variables",
            &report.environment,
        ));
    }
    html.push_str(&format!("<div class=\"facts\">{cards}</div>"));
    page.section("notes", "Notes", "", &html);
}
