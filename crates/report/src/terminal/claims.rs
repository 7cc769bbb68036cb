//! The claims: number, verdict, what is claimed, what this machine says.

use preheat_analyze::lab::Claim;

use super::screen::Screen;
use super::style::{Style, of_verdict};
use crate::verdicts::{count, sign};

/// The claims, in their order.
pub(super) fn show(screen: &mut Screen, claims: &[Claim]) {
    if claims.is_empty() {
        return;
    }
    screen.title("Claims");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &count(claims));
    for claim in claims {
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
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::terminal::{Terminal, lab_terminal};

    #[test]
    fn a_claim_has_sign_word_text_and_sentence() {
        let terminal = Terminal {
            width: 200,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&fixture::report(), &terminal);
        assert!(text.contains("   3 ✓ holds  Timing without synchronizing misjudges GPU work.\n"));
        assert!(text.contains("\n       The first takes 252× a later one on cuda"));
        assert!(text.contains("   8 ✗ does not hold  "));
        assert!(text.contains("   7 ~ depends  "));
        assert!(text.contains("   2 ? inconclusive  "));
        assert!(text.contains("  20 – not measurable here  "));
    }
}
