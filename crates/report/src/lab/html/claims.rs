//! The claims: verdict, result, and the evidence in a collapsed table.

use maud::{Markup, html};
use preheat_model::lab::{Claim, Evidence, Verdict};

use crate::html::figure::{Table, details};
use crate::html::page::{note, paragraph};
use crate::lab::html::Page;
use crate::lab::verdicts::{basis, basis_of, count, lack_of_starts, sign};
use crate::units::{ABSENT, number, tie};

/// Adds the section.
pub(super) fn add(page: &mut Page) {
    let claims = &page.report.claims;
    let lack = lack_of_starts(page.report).unwrap_or_default();
    let content = html! {
        @if !claims.is_empty() {
            p class="count" { (count(claims)) }
            (note(&lack))
            ol class="claims" { @for claim in claims { (item(claim)) } }
        }
    };
    page.section(
        "claims",
        "Claims",
        "Common claims about cold start, tested on this machine. A claim gets a verdict only if \
         the 95 % interval is clear of the threshold.",
        content,
    );
}

fn item(claim: &Claim) -> Markup {
    let basis = basis(claim);
    html! {
        li {
            span class="number" { (claim.id) }
            (badge(claim.verdict))
            div class="claim" {
                p class="text" { (claim.text) }
                (paragraph("sentence", &tie(&claim.sentence)))
                @if !basis.is_empty() { p class="basis" { (basis) "." } }
                @if !claim.evidence.is_empty() {
                    (details("Evidence", &evidence(&claim.evidence)))
                }
            }
        } "\n"
    }
}

/// A verdict with its symbol and color.
fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Depends => "depends",
        Verdict::Inconclusive => "open",
        Verdict::NotMeasurable => "unknown",
    };
    html! {
        span class={ "badge " (class) } {
            span aria-hidden="true" { (sign(verdict)) } " " (verdict.as_str())
        }
    }
}

fn evidence(all: &[Evidence]) -> Markup {
    let mut table = Table::new(&[
        "subject",
        "verdict",
        "comparison",
        "value",
        "95 %",
        "threshold",
        "summary",
        "series",
    ]);
    table.words = vec![1, 2, 6, 7];
    table.rows = all
        .iter()
        .map(|evidence| {
            let subject = match &evidence.framework {
                None => evidence.device.clone(),
                Some(framework) => format!("{framework} on {}", evidence.device),
            };
            let interval = match (evidence.value.low, evidence.value.high) {
                (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
                    format!("{} – {}", number(low), number(high))
                }
                _ => ABSENT.to_owned(),
            };
            vec![
                subject,
                evidence.verdict.as_str().to_owned(),
                evidence.quantity.clone(),
                number(evidence.value.estimate),
                interval,
                number(evidence.threshold),
                evidence.sentence.clone(),
                basis_of(evidence),
            ]
        })
        .collect();
    table.html()
}
