//! Twenty common claims about cold start, and their verdicts on this machine.
//!
//! A claim is judged for each subject: a quantity with its 95 % interval is compared with a
//! threshold. Only an interval that is clear of the threshold decides; otherwise the claim
//! is inconclusive there. Over all subjects, it holds, does not hold, or *depends*, with
//! the reasons in the evidence.

mod allocation;
mod models;

use super::data::Data;
use super::{Basis, Claim, Evidence, Measured, Settings, Subject, Verdict, starts_that_decide};
use crate::stats::{self, Estimate};

/// A claim as commonly stated.
pub struct ClaimText {
    /// 1 to 20.
    pub id: u8,
    /// The statement.
    pub text: &'static str,
    judge: fn(&Data<'_>, &Subject) -> Option<Finding>,
}

macro_rules! claims {
    ($($id:literal $text:literal => $judge:expr,)*) => {
        /// All claims, in order.
        pub const CLAIMS: &[ClaimText] = &[$(ClaimText { id: $id, text: $text, judge: $judge },)*];
    };
}

claims! {
    1 "The slow first allocation is one-time driver and context set-up, not allocation itself." => allocation::setup_not_allocation,
    2 "Even with the context there, the very first allocation is slower than later ones." => allocation::first_with_context,
    3 "Timing without synchronizing misjudges device work." => allocation::naive_timing,
    4 "The first 4 MiB tensor in a fresh process takes far longer than the second." => allocation::first_tensor,
    5 "Emptying the cache makes the next allocation cold again." => allocation::empty_cache,
    6 "Copies from pinned memory are faster than from pageable memory." => allocation::pinned_is_faster,
    7 "Pinning itself costs more than it saves for a single copy." => allocation::pinning_costs,
    8 "A big preallocation that is held makes the next allocation cheaper." => allocation::prealloc_held,
    9 "A big preallocation that is released to the pool makes later allocations cheaper." => allocation::prealloc_released,
    10 "The first training iteration is slower than later ones, on the CPU too." => models::first_training,
    11 "Initializing the device before the loop removes part of the first iteration's excess, not all of it." => models::initialized_first,
    12 "Without the optimizer the first iteration is still slower." => models::without_optimizer,
    13 "Recording the graph costs only in the first iteration; later ones replay it." => models::recording,
    14 "Kernel compilation happens once; later launches of the same kernel skip it." => allocation::compiled_once,
    15 "A filled compile cache removes compilation from the next process too." => allocation::filled_cache,
    16 "The first inference is slower than later ones, in each framework and in a direct kernel launch." => models::first_inference,
    17 "The excess of the first inference is set-up (driver and context, compilation, loading, allocation, transfer), not more arithmetic." => models::not_arithmetic,
    18 "The first inference consumes more memory than later ones." => models::memory,
    19 "Keeping input on the device makes later inferences faster than sending it each time." => models::resident_input,
    20 "The excess grows with the size of the model and the input." => models::excess_grows,
}

/// The result for one subject, before the subject's name is added.
struct Finding {
    verdict: Verdict,
    quantity: &'static str,
    value: Estimate,
    threshold: f64,
    sentence: String,
    /// Further values with their thresholds that the verdict depends on.
    also: Vec<(Estimate, f64)>,
}

impl Finding {
    /// The value for `--starts` that would probably decide the claim, if there is one.
    fn enough_starts(&self, basis: &[Basis]) -> Option<usize> {
        if self.verdict != Verdict::Inconclusive {
            return None;
        }
        let starts = basis.iter().map(|basis| basis.starts).min()?;
        let mut values = self.also.clone();
        values.push((self.value, self.threshold));
        values.retain(|(value, at)| !value.is_above(*at) && !value.is_below(*at));
        let needed: Option<Vec<usize>> = values
            .iter()
            .map(|(value, at)| stats::starts_to_clear(value, *at, starts, MAX_SUGGESTED))
            .collect();
        // The first start does not count.
        needed?.into_iter().max().map(|most| most + 1)
    }
}

/// The maximum number of starts to suggest.
const MAX_SUGGESTED: usize = 19;

/// The verdict on a claim that the value is above the threshold.
fn above(value: Estimate, threshold: f64) -> Verdict {
    if value.is_above(threshold) {
        Verdict::Holds
    } else if value.is_below(threshold) {
        Verdict::DoesNotHold
    } else {
        Verdict::Inconclusive
    }
}

/// The verdict on a claim that the value is below the threshold.
fn below(value: Estimate, threshold: f64) -> Verdict {
    match above(value, threshold) {
        Verdict::Holds => Verdict::DoesNotHold,
        Verdict::DoesNotHold => Verdict::Holds,
        other => other,
    }
}

/// Both parts must hold; one that does not is enough to refute the claim.
fn both(a: Verdict, b: Verdict) -> Verdict {
    match (a, b) {
        (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
        (Verdict::DoesNotHold, _) | (_, Verdict::DoesNotHold) => Verdict::DoesNotHold,
        _ => Verdict::Inconclusive,
    }
}

/// Judges every claim.
pub(super) fn judge(measured: &Measured) -> Vec<Claim> {
    let data = Data::new(measured);
    CLAIMS
        .iter()
        .map(|claim| {
            let evidence: Vec<Evidence> = data
                .subjects()
                .into_iter()
                .filter_map(|subject| {
                    let finding = (claim.judge)(&data, subject);
                    let basis = data.take_used();
                    let finding = finding?;
                    Some(Evidence {
                        enough_starts: finding.enough_starts(&basis),
                        basis,
                        device: subject.device.clone(),
                        framework: subject.framework.clone(),
                        verdict: finding.verdict,
                        quantity: finding.quantity.to_owned(),
                        value: finding.value,
                        threshold: finding.threshold,
                        sentence: finding.sentence,
                    })
                })
                .collect();
            let verdict = overall(&evidence, UNIVERSAL.contains(&claim.id));
            Claim {
                id: claim.id,
                text: claim.text.to_owned(),
                verdict,
                sentence: sentence(&evidence, verdict, claim.id, &measured.settings),
                evidence,
            }
        })
        .collect()
}

/// Two times within this factor count as the same.
const SAME_WITHIN: f64 = 1.05;

/// Claims about every subject: on the CPU too, in each framework, for any model.
const UNIVERSAL: [u8; 3] = [10, 16, 20];

/// Claims whose numbers differ by subject: a framework that preallocates, the model that was
/// measured. Each subject has its sentence.
const BY_SUBJECT: [u8; 2] = [18, 20];

/// The verdict over all subjects. An inconclusive one does not count, unless the claim is
/// `universal`.
fn overall(evidence: &[Evidence], universal: bool) -> Verdict {
    let any = |verdict| evidence.iter().any(|e| e.verdict == verdict);
    match (any(Verdict::Holds), any(Verdict::DoesNotHold)) {
        (true, true) => Verdict::Depends,
        (true, false) if universal && any(Verdict::Inconclusive) => Verdict::Inconclusive,
        (true, false) => Verdict::Holds,
        (false, true) => Verdict::DoesNotHold,
        (false, false) if evidence.is_empty() => Verdict::NotMeasurable,
        (false, false) => Verdict::Inconclusive,
    }
}

/// The sentence of the first subject that decided, which others agree or differ, and what
/// would decide an inconclusive claim.
fn sentence(evidence: &[Evidence], overall: Verdict, claim: u8, settings: &Settings) -> String {
    let decided = |e: &&Evidence| e.verdict == overall || overall == Verdict::Depends;
    let Some(lead) = evidence.iter().find(decided).or(evidence.first()) else {
        return "No experiment in this run measures it.".to_owned();
    };
    let preposition = if lead.framework.is_some() {
        "With"
    } else {
        "On"
    };
    let mut text = format!("{preposition} {}: {}.", lead.subject(), lead.sentence);
    for (verdict, words) in [
        (Verdict::Holds, "It holds for"),
        (Verdict::DoesNotHold, "It does not hold for"),
        (Verdict::Inconclusive, "It is inconclusive for"),
    ] {
        let others: Vec<&Evidence> = evidence
            .iter()
            .filter(|e| !std::ptr::eq(*e, lead) && e.verdict == verdict)
            .collect();
        let too = if verdict == lead.verdict { " too" } else { "" };
        if BY_SUBJECT.contains(&claim) {
            for other in others {
                let (subject, sentence) = (other.subject(), &other.sentence);
                text.push_str(&format!(" {words} {subject}{too}: {sentence}."));
            }
        } else if !others.is_empty() {
            let labels: Vec<String> = others.into_iter().map(Evidence::subject).collect();
            text.push_str(&format!(" {words} {}{too}.", labels.join(", ")));
        }
    }
    // With --quick, most claims lack starts, and the report states that once.
    if overall == Verdict::Inconclusive && !settings.quick {
        text.push_str(&lack_of_starts(evidence));
    }
    text
}

/// A hint if a claim is inconclusive only for lack of starts.
fn lack_of_starts(evidence: &[Evidence]) -> String {
    let Some(needed) = starts_that_decide(evidence) else {
        return String::new();
    };
    let open = evidence.iter();
    let open = open.filter(|e| e.verdict == Verdict::Inconclusive);
    let fewest = open.flat_map(|e| &e.basis).map(|b| b.starts).min();
    let counted = match fewest.unwrap_or(0) {
        1 => "1 counts".to_owned(),
        some => format!("{some} count"),
    };
    format!(" Too few starts ({counted}): --starts {needed} should decide it.")
}

#[cfg(test)]
mod tests {
    use super::super::{ExperimentId, names};
    use super::*;

    fn interval(low: f64, median: f64, high: f64) -> Estimate {
        Estimate {
            value: median,
            low: Some(low),
            high: Some(high),
        }
    }

    fn evidence(verdict: Verdict) -> Evidence {
        Evidence {
            device: "cpu".into(),
            framework: None,
            verdict,
            quantity: "q".into(),
            value: interval(1.0, 2.0, 3.0),
            threshold: 1.0,
            sentence: "s".into(),
            basis: vec![],
            enough_starts: None,
        }
    }

    fn settings(quick: bool) -> Settings {
        Settings {
            seed: 1,
            starts: 4,
            quick,
            ended_early: None,
        }
    }

    #[test]
    fn only_a_clear_interval_decides() {
        assert_eq!(above(interval(1.1, 2.0, 3.0), 1.05), Verdict::Holds);
        assert_eq!(above(interval(1.0, 2.0, 3.0), 1.05), Verdict::Inconclusive);
        assert_eq!(above(interval(0.9, 1.0, 1.01), 1.05), Verdict::DoesNotHold);
        assert_eq!(below(interval(0.9, 1.0, 1.01), 1.05), Verdict::Holds);
        let without = Estimate {
            value: 99.0,
            low: None,
            high: None,
        };
        assert_eq!(above(without, 1.05), Verdict::Inconclusive);
    }

    #[test]
    fn a_claim_depends_if_subjects_differ() {
        let of = |verdicts: &[Verdict]| {
            overall(
                &verdicts.iter().map(|&v| evidence(v)).collect::<Vec<_>>(),
                false,
            )
        };
        assert_eq!(of(&[]), Verdict::NotMeasurable);
        assert_eq!(of(&[Verdict::Holds, Verdict::Inconclusive]), Verdict::Holds);
        assert_eq!(
            of(&[Verdict::Holds, Verdict::DoesNotHold]),
            Verdict::Depends
        );
        assert_eq!(of(&[Verdict::Inconclusive]), Verdict::Inconclusive);
    }

    #[test]
    fn universal_claims_need_all_subjects() {
        let all = [evidence(Verdict::Holds), evidence(Verdict::Inconclusive)];
        assert_eq!(overall(&all, false), Verdict::Holds);
        assert_eq!(overall(&all, true), Verdict::Inconclusive);
        assert_eq!(overall(&all[..1], true), Verdict::Holds);
    }

    #[test]
    fn the_sentence_comes_from_a_subject_that_decided() {
        let mut unsure = evidence(Verdict::Inconclusive);
        unsure.sentence = "unsure".into();
        let mut sure = evidence(Verdict::Holds);
        sure.framework = Some("torch".into());
        let all = [unsure, sure];
        assert_eq!(
            sentence(&all, overall(&all, false), 1, &settings(true)),
            "With torch on cpu: s. It is inconclusive for cpu."
        );
    }

    fn basis(starts: usize) -> Basis {
        Basis {
            experiment: ExperimentId::Train,
            variant: names::MODEL_ON_DEVICE.into(),
            series: names::ITERATION.into(),
            size: None,
            starts,
        }
    }

    #[test]
    fn a_claim_that_only_lacks_starts_has_a_hint() {
        let mut open = evidence(Verdict::Inconclusive);
        open.basis = vec![basis(2)];
        open.enough_starts = Some(4);
        let all = [open.clone(), evidence(Verdict::Holds)];
        let text = |all: &[Evidence], quick| sentence(all, overall(all, true), 1, &settings(quick));
        assert_eq!(
            text(&all, false),
            "On cpu: s. It holds for cpu. Too few starts (2 count): --starts 4 should decide it."
        );
        // A quick run has too few for most claims; its report states that once.
        assert_eq!(text(&all, true), "On cpu: s. It holds for cpu.");
        // One that more starts would not decide.
        let stuck = evidence(Verdict::Inconclusive);
        let all = [open, stuck];
        assert!(!text(&all, false).contains("starts"));
    }

    #[test]
    fn a_claim_with_other_numbers_has_them_for_each_subject() {
        let mut preallocates = evidence(Verdict::Holds);
        preallocates.framework = Some("jax".into());
        preallocates.sentence = "106 GiB".into();
        let all = [evidence(Verdict::Holds), preallocates];
        let of = |claim| sentence(&all, Verdict::Holds, claim, &settings(false));
        assert_eq!(of(18), "On cpu: s. It holds for jax on cpu too: 106 GiB.");
        assert_eq!(of(17), "On cpu: s. It holds for jax on cpu too.");
    }

    #[test]
    fn the_number_of_starts_that_would_decide_is_suggested() {
        let finding = |value, also| Finding {
            verdict: Verdict::Inconclusive,
            quantity: "q",
            value,
            threshold: 1.05,
            sentence: String::new(),
            also,
        };
        let none = Estimate {
            value: 9.0,
            low: None,
            high: None,
        };
        let needed = |finding: Finding, starts| finding.enough_starts(&[basis(9), basis(starts)]);
        // Without an interval: the minimum for one, plus the first start.
        assert_eq!(needed(finding(none, vec![]), 1), Some(4));
        // Wide with three starts, and clear of the threshold with a few more.
        let wide = interval(0.8, 1.6, 3.2);
        let few = needed(finding(wide, vec![]), 3).expect("it would be decided");
        assert!((5..=8).contains(&few), "{few}");
        // At the threshold, no number of starts decides.
        assert_eq!(needed(finding(interval(0.9, 1.05, 1.2), vec![]), 3), None);
        // Of several values, the one that needs the most counts; clear ones do not.
        let clear = interval(2.0, 3.0, 4.0);
        assert_eq!(
            needed(finding(clear, vec![(wide, 1.05), (clear, 1.05)]), 3),
            Some(few)
        );
    }

    #[test]
    fn there_are_twenty_claims_in_order() {
        let ids: Vec<u8> = CLAIMS.iter().map(|claim| claim.id).collect();
        assert_eq!(ids, (1..=20).collect::<Vec<u8>>());
    }
}
