//! The symbols, counts and evidence of verdicts, shared by the renderers.

use preheat_model::lab::{Basis, Claim, Evidence, LabReport, Verdict};

use crate::lab;

/// All verdicts in display order.
const ALL: [Verdict; 5] = [
    Verdict::Holds,
    Verdict::DoesNotHold,
    Verdict::Depends,
    Verdict::Inconclusive,
    Verdict::NotMeasurable,
];

/// The symbol of a verdict.
pub(crate) fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Holds => '✓',
        Verdict::DoesNotHold => '✗',
        Verdict::Depends => '~',
        Verdict::Inconclusive => '?',
        Verdict::NotMeasurable => '–',
    }
}

/// The number of claims per verdict: `14 hold · 2 do not hold · …`
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

/// The claims that only lack starts after a quick run, in one sentence.
pub(crate) fn lack_of_starts(report: &LabReport) -> Option<String> {
    let open: Vec<(u8, usize)> = (report.claims.iter())
        .filter_map(|claim| Some((claim.id, claim.enough_starts()?)))
        .collect();
    let needed = open.iter().map(|(_, starts)| *starts).max()?;
    let (these, them) = match open.len() {
        1 => ("claim", "it"),
        _ => ("claims", "them"),
    };
    let claims = open.iter().map(|(id, _)| *id);
    report.settings.quick.then(|| {
        format!(
            "Too few starts to decide {these} {}. A run without --quick, or with --starts \
             {needed}, should decide {them}.",
            numbers(claims)
        )
    })
}

/// Numbers in ascending order as a list: `1–3, 5`.
fn numbers(all: impl Iterator<Item = u8>) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for number in all {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let words = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The maximum number of series to list; the others are counted.
const MAX_LISTED: usize = 4;

/// The series and subjects behind the verdict of a claim; empty if nothing was measured or
/// an older document does not contain them.
pub(crate) fn basis(claim: &Claim) -> String {
    let all = claim.evidence.iter().flat_map(|evidence| &evidence.basis);
    let series = series(all);
    if series.is_empty() {
        return String::new();
    }
    let subjects: Vec<String> = claim.evidence.iter().map(Evidence::subject).collect();
    format!(
        "Based on {} ({})",
        listed(&series, MAX_LISTED),
        subjects.join(", ")
    )
}

/// The series of one piece of evidence.
pub(crate) fn basis_of(evidence: &Evidence) -> String {
    let series = series(evidence.basis.iter());
    listed(&series, series.len())
}

/// The families and labels of these series, without duplicates.
fn series<'a>(basis: impl Iterator<Item = &'a Basis>) -> Vec<(&'static str, String)> {
    let mut series = Vec::new();
    for basis in basis {
        let family = lab::family(basis.experiment);
        let label = lab::label(basis.experiment, &basis.variant, &basis.series, basis.size);
        if !series.contains(&(family, label.clone())) {
            series.push((family, label));
        }
    }
    series
}

fn listed(series: &[(&str, String)], most: usize) -> String {
    let mut text = String::new();
    for (index, (family, label)) in series.iter().take(most).enumerate() {
        match index {
            0 => text.push_str(&format!("{family} · ")),
            _ if series[index - 1].0 != *family => text.push_str(&format!("; {family} · ")),
            _ => text.push_str(" | "),
        }
        text.push_str(label);
    }
    match series.len().saturating_sub(most) {
        0 => {}
        rest => text.push_str(&format!(" and {rest} more")),
    }
    text
}

#[cfg(test)]
mod tests {
    use preheat_model::lab::ExperimentId;

    use super::*;
    use crate::fixture;

    #[test]
    fn counts_verdicts() {
        assert_eq!(
            count(&fixture::report().claims),
            "14 hold · 2 do not hold · 2 depend · 1 inconclusive · 1 not measurable here"
        );
        assert_eq!(count(&[]), "");
    }

    #[test]
    fn a_quick_run_states_once_which_claims_lack_starts() {
        let mut report = fixture::report();
        for claim in &mut report.claims[..2] {
            claim.verdict = Verdict::Inconclusive;
            for evidence in &mut claim.evidence {
                evidence.verdict = Verdict::Inconclusive;
                evidence.enough_starts = Some(4);
            }
        }
        report.claims.truncate(2);
        report.settings.quick = false;
        assert_eq!(lack_of_starts(&report), None);
        report.settings.quick = true;
        assert_eq!(
            lack_of_starts(&report).unwrap(),
            "Too few starts to decide claims 1, 2. A run without --quick, or with --starts 4, \
             should decide them."
        );
        assert_eq!(numbers([1, 2, 3, 5, 7, 8].into_iter()), "1–3, 5, 7, 8");
    }

    #[test]
    fn a_verdict_names_its_series() {
        let mut claim = fixture::report().claims[0].clone();
        assert_eq!(
            basis(&claim),
            "Based on train · model on device (cuda, torch on cpu)"
        );
        let one = claim.evidence[0].basis[0].clone();
        claim.evidence[0].basis = [
            ExperimentId::Train,
            ExperimentId::TrainInitialized,
            ExperimentId::Infer,
            ExperimentId::Alloc,
            ExperimentId::Transfer,
        ]
        .map(|experiment| Basis {
            experiment,
            ..one.clone()
        })
        .to_vec();
        let all = basis_of(&claim.evidence[0]);
        assert!(all.starts_with("train · model on device | init, on device; infer · "));
        assert!(
            basis(&claim).contains(" and 1 more (cuda"),
            "{}",
            basis(&claim)
        );
        claim.evidence.clear();
        assert_eq!(basis(&claim), "");
    }
}
