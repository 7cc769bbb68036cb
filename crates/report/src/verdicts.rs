//! Verdicts as every renderer shows them: a sign, the word, and how many there are.

use preheat_analyze::lab::{Claim, Verdict};

/// All verdicts, in the order in which they are counted.
const ALL: [Verdict; 5] = [
    Verdict::Holds,
    Verdict::DoesNotHold,
    Verdict::Depends,
    Verdict::Inconclusive,
    Verdict::NotMeasurable,
];

/// One character for a verdict.
pub(crate) fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Holds => '✓',
        Verdict::DoesNotHold => '✗',
        Verdict::Depends => '~',
        Verdict::Inconclusive => '?',
        Verdict::NotMeasurable => '–',
    }
}

/// `14 hold · 2 do not hold · …`
pub(crate) fn count(claims: &[Claim]) -> String {
    let counted = ALL.into_iter().filter_map(|verdict| {
        let count = claims
            .iter()
            .filter(|claim| claim.verdict == verdict)
            .count();
        let words = match (verdict, count) {
            (_, 0) => return None,
            (Verdict::Holds, 2..) => "hold",
            (Verdict::DoesNotHold, 2..) => "do not hold",
            (Verdict::Depends, 2..) => "depend",
            (verdict, _) => verdict.as_str(),
        };
        Some(format!("{count} {words}"))
    });
    counted.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn verdicts_are_counted() {
        assert_eq!(
            count(&fixture::report().claims),
            "14 hold · 2 do not hold · 2 depend · 1 inconclusive · 1 not measurable here"
        );
        assert_eq!(count(&[]), "");
    }
}
