//! The claims: verdict, result, and the evidence in a collapsed table.

use preheat_model::lab::{Claim, Evidence, Verdict};

use crate::html::escape::escape;
use crate::html::figure::Table;
use crate::lab::html::Page;
use crate::lab::verdicts::{basis, basis_of, count, lack_of_starts, sign};
use crate::units::{ABSENT, number, tie};

/// Adds the section.
pub(in crate::lab::html) fn add(page: &mut Page) {
    let claims = &page.report.claims;
    let items: String = claims.iter().map(item).collect();
    let html = match claims.is_empty() {
        true => String::new(),
        false => {
            let lack = lack_of_starts(page.report).map_or(String::new(), |text| {
                format!("<p class=\"note\">{}</p>", escape(&text))
            });
            format!(
                "<p class=\"count\">{}</p>{lack}<ol class=\"claims\">{items}</ol>",
                count(claims)
            )
        }
    };
    page.section(
        "claims",
        "Claims",
        "Common claims about cold start, tested on this machine. A claim gets a verdict only if \
         the 95 % interval is clear of the threshold.",
        &html,
    );
}

fn item(claim: &Claim) -> String {
    let mut html = format!(
        "<li><span class=\"number\">{}</span>{}<div class=\"claim\"><p class=\"text\">{}</p>",
        claim.id,
        badge(claim.verdict),
        escape(&claim.text)
    );
    if !claim.sentence.is_empty() {
        html.push_str(&format!(
            "<p class=\"sentence\">{}</p>",
            escape(&tie(&claim.sentence))
        ));
    }
    let basis = basis(claim);
    if !basis.is_empty() {
        html.push_str(&format!("<p class=\"basis\">{}.</p>", escape(&basis)));
    }
    if !claim.evidence.is_empty() {
        html.push_str(&format!(
            "<details class=\"data\"><summary>Evidence</summary>{}</details>",
            evidence(&claim.evidence)
        ));
    }
    html.push_str("</div></li>\n");
    html
}

/// A verdict with its symbol and color.
fn badge(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Depends => "depends",
        Verdict::Inconclusive => "open",
        Verdict::NotMeasurable => "unknown",
    };
    format!(
        "<span class=\"badge {class}\"><span aria-hidden=\"true\">{}</span> {}</span>",
        sign(verdict),
        verdict.as_str()
    )
}

fn evidence(all: &[Evidence]) -> String {
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
