//! The remedies, one card each, in the order of the report.

use maud::{Markup, html};
use preheat_model::run::Remedy;

use super::RunPage;
use crate::html::figure::key;
use crate::html::look;
use crate::html::markup::code;
use crate::run::words::percent;
use crate::units::{bytes, duration, tie};

/// Adds the section.
pub(super) fn add(page: &mut RunPage) {
    let report = page.report;
    if report.remedies.is_empty() {
        return;
    }
    let total = report.time_to_first.estimate;
    page.section(
        "remedies",
        "Remedies",
        "Remedies that would remove part of the cold start, then those that shorten only later \
         work, then those that would not help. Each saving is predicted separately: savings of \
         remedies for the same cause do not add up.",
        html! {
            div class="cards" { @for remedy in &report.remedies { (card(remedy, total)) } }
        },
    );
}

fn card(remedy: &Remedy, total: f64) -> Markup {
    let legend = key(remedy.causes.iter().map(|cause| look::named(*cause)));
    html! {
        article class="card" {
            h3 { (remedy.title) }
            p class="saving" {
                @for (at, saving) in savings(remedy, total).iter().enumerate() {
                    @if at > 0 { br; }
                    (saving)
                }
            }
            p { (code(&tie(&remedy.what))) }
            @if !remedy.assumption.is_empty() {
                p class="assumption" { "Assumes: " (code(&tie(&remedy.assumption))) }
            }
            (legend)
        }
    }
}

/// The lines of a card about what a remedy saves.
fn savings(remedy: &Remedy, total: f64) -> Vec<Markup> {
    let saved = |number: &str, of: &str| {
        html! {
            b { "−" (tie(number)) }
            @if !of.is_empty() { " " span class="of" { (of) } }
        }
    };
    let mut lines = Vec::new();
    if remedy.helps && remedy.saving.is_finite() && remedy.saving > 0.0 {
        let of = match remedy.saving / total {
            share if share.is_finite() => {
                format!("{} of the time to first", tie(&percent(share)))
            }
            _ => String::new(),
        };
        lines.push(saved(&duration(remedy.saving), &of));
    }
    if let Some(later) = remedy.later.as_ref().filter(|_| remedy.helps) {
        lines.push(saved(&duration(later.seconds), &format!("of {}", later.of)));
    }
    if !remedy.helps {
        lines.push(html! { span class="of" { "would not help here" } });
    }
    if let Some(size) = remedy.saving_bytes {
        lines.push(saved(&bytes(size), "on the device"));
    }
    lines
}
