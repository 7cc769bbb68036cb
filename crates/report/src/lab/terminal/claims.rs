//! The claims: number, verdict, text, and the result on this machine.

use preheat_model::lab::{Claim, LabReport, Verdict};

use crate::lab::verdicts::{basis, count, lack_of_starts, sign};
use crate::terminal::{Screen, Style, of_verdict};

/// Shows the claims in order.
pub(super) fn show(screen: &mut Screen, report: &LabReport) {
    let claims = &report.claims[..];
    if claims.is_empty() {
        return;
    }
    screen.title("Claims");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &count(claims));
    if let Some(text) = lack_of_starts(report) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Yellow, &text);
    }
    let (unmeasured, judged): (Vec<&Claim>, Vec<&Claim>) = claims
        .iter()
        .partition(|claim| claim.verdict == Verdict::NotMeasurable);
    for claim in judged {
        let style = of_verdict(claim.verdict);
        let number = format!("  {:>2} ", claim.id);
        let words = format!("{} {}", sign(claim.verdict), claim.verdict.as_str());
        let lead = [
            (Style::Plain, &*number),
            (style, &*words),
            (Style::Plain, "  "),
        ];
        screen.paragraph(&lead, 7, Style::Plain, &claim.text);
        if !claim.sentence.trim().is_empty() {
            screen.paragraph(&[(Style::Plain, "       ")], 7, Style::Dim, &claim.sentence);
        }
        let basis = basis(claim);
        if !basis.is_empty() {
            let text = format!("{basis}.");
            screen.paragraph(&[(Style::Plain, "       ")], 7, Style::Dim, &text);
        }
    }
    if !unmeasured.is_empty() {
        let ids = unmeasured.iter().map(|claim| claim.id.to_string());
        let numbers: Vec<String> = ids.collect();
        let lead = format!("     {} ", sign(Verdict::NotMeasurable));
        let text = format!(
            "{}: no experiment in this run measures {}",
            Verdict::NotMeasurable.as_str(),
            numbers.join(", ")
        );
        screen.paragraph(&[(Style::Dim, &*lead)], 7, Style::Dim, &text);
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::lab::lab_terminal;
    use crate::terminal::Terminal;

    #[test]
    fn a_claim_has_symbol_verdict_text_and_result() {
        let terminal = Terminal {
            width: 200,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&fixture::report(), &terminal);
        assert!(text.contains("   3 ✓ holds  Timing without synchronizing misjudges GPU work.\n"));
        assert!(text.contains("\n       The first takes 252× a later one on cuda"));
        assert!(text.contains("\n       Based on train · model on device (cuda, torch on cpu).\n"));
        assert!(text.contains("   8 ✗ does not hold  "));
        assert!(text.contains("   7 ~ depends  "));
        assert!(text.contains("   2 ? inconclusive  "));
        assert!(text.contains("– not measurable here: no experiment in this run measures "));
    }
}
