//! Judges each quantity after all of them were measured, with the settings that define a
//! regression.
//!
//! - *slower* and *faster* need a p-value below 0.05 after Holm's adjustment (1979) over all
//!   quantities and causes of the comparison. At most one in twenty comparisons of equal
//!   programs therefore reports any difference. A significant change of less than 1 % is
//!   ignored.
//! - *same* is not absence of evidence: it needs the whole interval within ± the margin
//!   (two one-sided tests, Schuirmann 1987; with the 95 % interval each has an error of
//!   2.5 %). Everything else is *inconclusive*.

use crate::stats::Estimate;
use preheat_model::Quantity;

use super::measure::Measured;
use super::notes::{change, count};
use super::regions::iterating_pairs;
use super::{CompareKind, Compared, Floors, QuantityChange, SIGNIFICANT, Verdict};
use crate::run::{IterationUnit, IterationsBy, RunReport};
use crate::stats::MIN_STARTS;
use crate::units::signed_percent;

/// A significant change below this fraction is ignored.
const MIN_CHANGE: f64 = 0.01;

/// The judgement of a quantity.
pub(super) struct Judgement {
    pub verdict: Verdict,
    pub why: String,
    /// True if it exceeds the allowed regression, ignoring its floor.
    pub beyond: bool,
}

impl Measured {
    /// The verdict, given the p-value adjusted for all others.
    pub(super) fn judge(&self, adjusted: Option<f64>, settings: &Settings) -> Judgement {
        let margin = settings.max_regression;
        let (Some(part), Some(adjusted)) = (self.part, adjusted) else {
            return Judgement {
                verdict: Verdict::Inconclusive,
                why: self.why_unknown(),
                beyond: false,
            };
        };
        let low = part.low.unwrap_or(f64::NEG_INFINITY);
        let high = part.high.unwrap_or(f64::INFINITY);
        let least = self.least.max(MIN_CHANGE.min(margin));
        let verdict = if adjusted < SIGNIFICANT && part.value.abs() >= least {
            if part.value > 0.0 {
                Verdict::Slower
            } else {
                Verdict::Faster
            }
        } else if low >= -margin && high <= margin {
            Verdict::Same
        } else {
            Verdict::Inconclusive
        };
        let why = match verdict {
            Verdict::Inconclusive => self.why_inconclusive(adjusted),
            Verdict::Faster | Verdict::Slower | Verdict::Same => String::new(),
        };
        Judgement {
            verdict,
            why,
            beyond: verdict == Verdict::Slower && low > margin,
        }
    }

    fn why_inconclusive(&self, adjusted: f64) -> String {
        let only_corrected = self.p.is_some_and(|p| p < SIGNIFICANT) && adjusted >= SIGNIFICANT;
        let ends = |of: Option<Estimate>| of.and_then(|of| Some((of.low?, of.high?)));
        match (ends(self.relative), ends(self.difference)) {
            (_, Some((low, high))) if low == high => format!(
                "it is {} in all starts, which may be chance with so few",
                change(low, self.unit)
            ),
            _ if only_corrected => {
                "its interval excludes 0, but not after correction for the number of quantities"
                    .to_owned()
            }
            (Some((low, high)), _) => format!(
                "it may be {} to {}",
                signed_percent(low),
                signed_percent(high)
            ),
            (_, Some((low, high))) => format!(
                "it may be {} to {}",
                change(low, self.unit),
                change(high, self.unit)
            ),
            _ => "the starts vary too much".to_owned(),
        }
    }

    fn why_unknown(&self) -> String {
        match (&self.base, &self.new) {
            (None, _) => "base has no value".to_owned(),
            (_, None) => "new has no value".to_owned(),
            (Some(base), Some(new)) => format!(
                "an interval needs {MIN_STARTS} starts per side; {} of base and {} of new count",
                count(base.values.len()),
                count(new.values.len()),
            ),
        }
    }
}

// Decides whether the iterations of two runs are comparable.

/// Returns true if iterations are the same unit on both sides: optimizer steps are comparable,
/// whichever the optimizer; model calls are another unit. Timed regions have to be the same
/// regions: one around a step begins and ends elsewhere than the step.
pub(super) fn are_alike(base: &RunReport, new: &RunReport) -> bool {
    match (base.unit, new.unit) {
        (Some(IterationUnit::Region), Some(IterationUnit::Region)) => {
            let pairs = iterating_pairs(base, new);
            !pairs.is_empty() && pairs.iter().all(|(was, is)| was.iterates && is.iterates)
        }
        (Some(of_base), Some(of_new)) => of_base == of_new,
        // Older documents do not have the unit, only a description.
        _ => {
            let several = matches!(
                base.iterations_by,
                IterationsBy::Python | IterationsBy::Timers
            );
            base.iterations_by == new.iterations_by && (!several || base.iteration == new.iteration)
        }
    }
}

// The definition of a regression.

/// The quantities that can fail a comparison by default. The ratio follows from first and
/// steady, and a warm-up with more iterations may be shorter in time.
pub const DEFAULT_GATE: [Quantity; 5] = [
    Quantity::TimeToFirst,
    Quantity::First,
    Quantity::Steady,
    Quantity::DeviceMemory,
    Quantity::HostMemory,
];

/// The quantities of iterations.
pub(super) const OF_ITERATIONS: [Quantity; 5] = [
    Quantity::First,
    Quantity::Steady,
    Quantity::Ratio,
    Quantity::Warmup,
    Quantity::Excess,
];

/// The definition of a regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Changes within ± this fraction are ignored.
    pub max_regression: f64,
    /// Changes smaller than this are ignored too.
    pub floors: Floors,
    /// The quantities that can fail the comparison. Lab quantities measured once
    /// per start, the `value`s, count as `first`.
    pub gate: Vec<Compared>,
    /// The version of preheat that compares.
    pub preheat: String,
}

impl Settings {
    /// Five percent, with floors that suit the measurements: a start of a program takes at
    /// least milliseconds, a lab experiment may last microseconds.
    pub fn new(kind: CompareKind, preheat: &str) -> Settings {
        let seconds = match kind {
            CompareKind::Runs => 1e-3,
            CompareKind::Lab => 10e-6,
        };
        Settings {
            max_regression: 0.05,
            floors: Floors {
                seconds,
                steady: 10e-6,
                bytes: f64::from(1 << 20),
            },
            gate: DEFAULT_GATE.map(Compared::Quantity).to_vec(),
            preheat: preheat.to_owned(),
        }
    }

    /// The settings without these quantities in the gate.
    pub(super) fn without(&self, quantities: &[Quantity]) -> Settings {
        let mut settings = self.clone();
        let gate = &mut settings.gate;
        gate.retain(|id| !quantities.iter().any(|quantity| id == quantity));
        settings
    }

    /// The quantities in the gate that were not judged: neither side has them, or they differ in
    /// kind. The default gate only covers what exists: a program without a device has no
    /// device memory, which is not a problem.
    pub(super) fn unjudged(&self, quantities: &[QuantityChange]) -> Vec<Compared> {
        let usual = DEFAULT_GATE.iter().all(|of| self.gates((*of).into()));
        if usual && self.gate.len() == DEFAULT_GATE.len() {
            return Vec::new();
        }
        let judged = |id: &Compared| {
            let mut gated = quantities.iter().filter(|quantity| quantity.gated);
            gated.any(|quantity| as_gated(quantity.id) == *id)
        };
        let gate = self.gate.iter().copied();
        gate.filter(|id| !judged(id)).collect()
    }

    /// The whole of which the allowed regression is the floor of times.
    pub(super) fn least_whole(&self) -> f64 {
        match self.max_regression > 0.0 {
            true => self.floors.seconds / self.max_regression,
            false => self.floors.seconds,
        }
    }

    pub(super) fn gates(&self, id: Compared) -> bool {
        self.gate.contains(&as_gated(id))
    }
}

/// The quantity in a gate that decides about another: a lab value counts as `first`.
fn as_gated(id: Compared) -> Compared {
    match id {
        Compared::Value => Quantity::First.into(),
        Compared::Region | Compared::Quantity(_) => id,
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::{By, measure};
    use super::super::{CompareKind, Unit};
    use super::*;
    use crate::stats::Rng;

    fn judged(base: &[f64], new: &[f64], by: By, unit: Unit) -> (Measured, Judgement) {
        let measured = measure(base, new, by, unit);
        let settings = Settings::new(CompareKind::Runs, "0");
        let judged = measured.judge(measured.p, &settings);
        (measured, judged)
    }

    #[test]
    fn significant_changes_are_reported_unless_tiny() {
        let base = [1.00, 1.01, 0.99, 1.00];
        let (found, judgement) =
            judged(&base, &[1.20, 1.21, 1.19, 1.20], By::Factor, Unit::Seconds);
        assert_eq!(
            (judgement.verdict, judgement.beyond),
            (Verdict::Slower, true)
        );
        let relative = found.relative.unwrap();
        assert!((relative.value - 0.2).abs() < 1e-3);
        let difference = found.difference.unwrap();
        assert!((difference.value - 0.2).abs() < 1e-3);
        assert!(relative.low.unwrap() > 0.17 && relative.high.unwrap() < 0.23);
        let less: Vec<f64> = base.iter().map(|value| value * 0.8).collect();
        let (_, judgement) = judged(&base, &less, By::Factor, Unit::Seconds);
        assert_eq!(
            (judgement.verdict, judgement.beyond),
            (Verdict::Faster, false)
        );
        // Significant, but only half a percent.
        let exact = [1.0, 1.0001, 0.9999, 1.0];
        let (found, judgement) = judged(
            &exact,
            &exact.map(|value| value * 1.005),
            By::Factor,
            Unit::Seconds,
        );
        assert!(found.p.unwrap() < 1e-6);
        assert_eq!(judgement.verdict, Verdict::Same);
    }

    #[test]
    fn too_much_noise_or_too_few_starts_are_inconclusive() {
        let noisy = [1.0, 1.4, 0.7, 1.1];
        let (_, judgement) = judged(&noisy, &[1.2, 0.8, 1.5, 1.0], By::Factor, Unit::Seconds);
        assert_eq!(judgement.verdict, Verdict::Inconclusive);
        assert!(judgement.why.contains("it may be"), "{}", judgement.why);
        let (found, judgement) = judged(&[1.0], &[9.0], By::Factor, Unit::Seconds);
        assert_eq!(judgement.verdict, Verdict::Inconclusive);
        assert_eq!(
            judgement.why,
            "an interval needs 3 starts per side; 1 of base and 1 of new count"
        );
        assert_eq!(found.difference.unwrap().value, 8.0);
        let (_, judgement) = judged(&[], &[9.0; 5], By::Factor, Unit::Bytes);
        assert_eq!(judgement.why, "base has no value");
    }

    #[test]
    fn memory_that_does_not_vary_is_exact() {
        let third = 1e9 / 3.0;
        let (found, judgement) = judged(&[third; 3], &[third; 9], By::Factor, Unit::Bytes);
        assert_eq!(judgement.verdict, Verdict::Same);
        assert_eq!(found.difference.unwrap().value, 0.0);
        let (_, judgement) = judged(&[third; 9], &[2.0 * third; 9], By::Factor, Unit::Bytes);
        assert_eq!(
            (judgement.verdict, judgement.beyond),
            (Verdict::Slower, true)
        );
        // With three starts per side and two levels, one in ten results is like this by
        // chance.
        let (found, judgement) = judged(&[third; 3], &[2.0 * third; 3], By::Factor, Unit::Bytes);
        assert!((found.p.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(judgement.verdict, Verdict::Inconclusive);
        assert_eq!(
            judgement.why,
            "it is +318 MiB in all starts, which may be chance with so few"
        );
    }

    #[test]
    fn a_few_equal_counts_are_not_significant() {
        let by = By::Sum {
            whole: 20.0,
            least: 0.5,
        };
        let few = measure(&[1.0; 3], &[2.0; 3], by, Unit::Iterations);
        assert!((few.p.unwrap() - 0.1).abs() < 1e-12);
        let many = measure(&[1.0; 9], &[2.0; 9], by, Unit::Iterations);
        assert!(many.p.unwrap() < 1e-4);
        let same = measure(&[1.0; 3], &[1.0; 3], by, Unit::Iterations);
        assert_eq!(same.p, Some(1.0));
        // However they are compared.
        let lab = measure(&[1.0; 4], &[2.0; 4], By::Factor, Unit::Count);
        assert!((lab.p.unwrap() - 2.0 / 70.0).abs() < 1e-12);
        let varying = [1.0, 1.0, 1.0, 2.0];
        let lab = measure(&varying, &[40.0; 4], By::Factor, Unit::Count);
        assert!(lab.p.unwrap() >= 2.0 / 70.0);
    }

    #[test]
    fn differences_agree_with_ratios() {
        let mut rng = Rng::new(3);
        let (mut sure, mut open) = (0, 0);
        for round in 0..2000 {
            let starts = 3 + round % 7;
            let noise = [0.01, 0.1, 0.5][round % 3];
            let ratio = [1.0, 1.02, 1.2, 3.0][round % 4];
            let mut sample = |level: f64| -> Vec<f64> {
                let value = |_| level * (noise * rng.normal()).exp();
                (0..starts).map(value).collect()
            };
            let (base, new) = (sample(2.0), sample(2.0 * ratio));
            let found = measure(&base, &new, By::Factor, Unit::Seconds);
            let (by, part) = (found.difference.unwrap(), found.relative.unwrap());
            let side = |of: Estimate| (of.low.unwrap() > 0.0, of.high.unwrap() < 0.0);
            assert_eq!(side(by), side(part), "{base:?} {new:?}");
            assert!(by.low.unwrap() <= by.value && by.value <= by.high.unwrap());
            match side(by) {
                (false, false) => open += 1,
                _ => sure += 1,
            }
        }
        assert!(sure > 500 && open > 500);
    }

    #[test]
    fn quantities_that_may_be_zero_are_compared_directly() {
        let by = By::Sum {
            whole: 2.0,
            least: 1e-3,
        };
        let (found, judgement) = judged(&[0.0; 5], &[0.0; 5], by, Unit::Seconds);
        assert_eq!(judgement.verdict, Verdict::Same);
        assert_eq!(found.relative, None);
        let (found, judgement) = judged(
            &[0.0; 5],
            &[0.50, 0.51, 0.49, 0.50, 0.50],
            by,
            Unit::Seconds,
        );
        assert_eq!(judgement.verdict, Verdict::Slower);
        assert!((found.difference.unwrap().value - 0.5).abs() < 1e-12);
        // Ten milliseconds of two seconds are half a percent.
        let (_, judgement) = judged(&[0.10; 5], &[0.11; 5], by, Unit::Seconds);
        assert_eq!(judgement.verdict, Verdict::Same);
        let (_, judgement) = judged(&[0.0; 9], &[1.0; 9], By::Factor, Unit::Bytes);
        assert_eq!(judgement.verdict, Verdict::Slower);
    }
}
