//! The remedies, one card each, in the order of the report.

use preheat_model::run::Remedy;

use super::super::RunPage;
use crate::html::escape::code;
use crate::html::escape::escape;
use crate::html::look;
use crate::run::words::percent;
use crate::units::{bytes, duration, tie};

/// Adds the section.
pub(in crate::run::html) fn add(page: &mut RunPage) {
    let report = page.report;
    if report.remedies.is_empty() {
        return;
    }
    let total = report.time_to_first.estimate;
    let cards: String = report
        .remedies
        .iter()
        .map(|remedy| card(remedy, total))
        .collect();
    page.section(
        "remedies",
        "Remedies",
        "Remedies that would remove part of the cold start, then those that shorten only later \
         work, then those that would not help. Each saving is predicted separately: savings of \
         remedies for the same cause do not add up.",
        &format!("<div class=\"cards\">{cards}</div>"),
    );
}

fn card(remedy: &Remedy, total: f64) -> String {
    let mut saving = Vec::new();
    if remedy.helps && remedy.saving.is_finite() && remedy.saving > 0.0 {
        let share = match remedy.saving / total {
            share if share.is_finite() => format!(
                " <span class=\"of\">{} of the time to first</span>",
                escape(&tie(&percent(share)))
            ),
            _ => String::new(),
        };
        saving.push(format!(
            "<b>−{}</b>{share}",
            escape(&tie(&duration(remedy.saving)))
        ));
    }
    if let Some(later) = remedy.later.as_ref().filter(|_| remedy.helps) {
        saving.push(format!(
            "<b>−{}</b> <span class=\"of\">of {}</span>",
            escape(&tie(&duration(later.seconds))),
            escape(&later.of),
        ));
    }
    if !remedy.helps {
        saving.push("<span class=\"of\">would not help here</span>".to_owned());
    }
    if let Some(size) = remedy.saving_bytes {
        saving.push(format!(
            "<b>−{}</b> <span class=\"of\">on the device</span>",
            escape(&tie(&bytes(size)))
        ));
    }
    let causes: String = remedy
        .causes
        .iter()
        .map(|cause| {
            format!(
                "<li>{}{}</li>",
                look::square(*cause),
                escape(cause.as_str())
            )
        })
        .collect();
    let causes = match causes.is_empty() {
        true => causes,
        false => format!("<ul class=\"legend\">{causes}</ul>"),
    };
    let assumption = match remedy.assumption.as_str() {
        "" => String::new(),
        text => format!(
            "<p class=\"assumption\">Assumes: {}</p>",
            code(&escape(&tie(text)))
        ),
    };
    format!(
        "<article class=\"card\"><h3>{}</h3><p class=\"saving\">{}</p><p>{}</p>{assumption}{causes}</article>",
        escape(&remedy.title),
        saving.join("<br>"),
        code(&escape(&tie(&remedy.what))),
    )
}
