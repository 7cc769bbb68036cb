//! One quantity on both sides: how far apart, how sure, and what is said of it.
//!
//! The unit of replication is the start, so each start gives one value of a quantity.
//!
//! - What is always above zero (times, ratios, memory) errs by factors: it is compared by
//!   its logarithms, and the change is the ratio of geometric means. What may be zero
//!   (causes, excess, iterations of warm-up) is compared as it is, and its change is told
//!   as a part of something that is not zero: of the time to first for causes.
//! - The 95 % interval and the p-value are Welch's (1947): neither equally many starts nor
//!   equal noise is assumed. The interval of a difference takes the base for known: it is
//!   the interval of the ratio, times the base.
//! - *slower* and *faster* need a p-value below 0.05 after Holm's adjustment (1979) over
//!   all quantities and causes of the comparison. So two equal programs are told apart, in
//!   anything at all, in at most one comparison of twenty. A sure change of less than 1 % is
//!   not called one.
//! - *same* is no absence of evidence: it needs the whole interval within ± the margin
//!   (two one-sided tests, Schuirmann 1987; with the 95 % interval each has an error of
//!   2.5 %). All else is *inconclusive*.
//! - Small counts are equal by chance more often than their variance of zero says. Their
//!   p-value is never below that of the exact permutation test, 2 ÷ (n + m choose n).

use super::settings::Settings;
use super::words::{change, count, percent};
use super::{Estimate, Level, SeriesKey, Unit, Verdict};
use crate::stats::{FEWEST, mean, welch};

/// An adjusted p-value below this is no chance.
const SURE: f64 = 0.05;
/// A sure change below this part is still none.
const LEAST: f64 = 0.01;

/// How a quantity is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum By {
    /// By its logarithm.
    Factor,
    /// As it is: `max_regression` is a part of `whole`, and less than `least` is no change.
    Sum { whole: f64, least: f64 },
}

/// A quantity of each start of both sides.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub id: &'static str,
    pub name: &'static str,
    pub unit: Unit,
    pub of: Option<SeriesKey>,
    pub base: Vec<f64>,
    pub new: Vec<f64>,
    pub by: By,
}

/// What the values say, before all quantities are looked at together.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub base: Option<Level>,
    pub new: Option<Level>,
    pub difference: Option<Estimate>,
    pub relative: Option<Estimate>,
    pub p: Option<f64>,
    /// The change as the part that `max_regression` is compared with.
    part: Option<Estimate>,
    /// The smallest such part that is a change.
    least: f64,
    unit: Unit,
}

/// What is said of it.
pub(super) struct Judged {
    pub verdict: Verdict,
    pub why: String,
    /// Whether it is beyond what is allowed, its floor apart.
    pub beyond: bool,
}

/// Compares the values.
pub(super) fn measure(base: &[f64], new: &[f64], by: By, unit: Unit) -> Measured {
    let positive = base.iter().chain(new).all(|value| *value > 0.0);
    match by {
        By::Factor if positive => factor(base, new, unit),
        // A zero has no logarithm.
        By::Factor => {
            let whole = mean(base).map_or(0.0, |mean| mean.value.abs());
            sum(base, new, whole, 0.0, unit)
        }
        By::Sum { whole, least } => Measured {
            // Of what may be zero a part says little: it is judged as a part of the whole.
            relative: None,
            ..sum(base, new, whole, least, unit)
        },
    }
}

fn factor(base: &[f64], new: &[f64], unit: Unit) -> Measured {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (base_logs, new_logs) = (logs(base), logs(new));
    let level = |values: &[f64], logs: &[f64]| {
        let mean = mean(logs)?;
        // Equal values are themselves, and not what rounding makes of them.
        let same = values.iter().all(|value| *value == values[0]);
        let plain = |log: f64| if same { values[0] } else { log.exp() };
        Some(Level {
            mean: Estimate {
                value: plain(mean.value),
                low: mean.interval.map(|(low, _)| plain(low)),
                high: mean.interval.map(|(_, high)| plain(high)),
            },
            values: values.to_vec(),
        })
    };
    let (base, new) = (level(base, &base_logs), level(new, &new_logs));
    let tested = welch(&base_logs, &new_logs);
    let relative = base.as_ref().zip(new.as_ref()).map(|(base, new)| Estimate {
        value: new.mean.value / base.mean.value - 1.0,
        low: tested.map(|tested| tested.low.exp_m1()),
        high: tested.map(|tested| tested.high.exp_m1()),
    });
    let difference = base.as_ref().zip(relative).map(|(base, relative)| {
        let of = |part: f64| part * base.mean.value;
        Estimate {
            value: of(relative.value),
            low: relative.low.map(of),
            high: relative.high.map(of),
        }
    });
    Measured {
        base,
        new,
        difference,
        relative,
        p: tested.map(|tested| tested.p),
        part: relative,
        least: 0.0,
        unit,
    }
}

fn sum(base: &[f64], new: &[f64], whole: f64, least: f64, unit: Unit) -> Measured {
    let level = |values: &[f64]| {
        let mean = mean(values)?;
        Some(Level {
            mean: Estimate {
                value: mean.value,
                low: mean.interval.map(|(low, _)| low),
                high: mean.interval.map(|(_, high)| high),
            },
            values: values.to_vec(),
        })
    };
    let tested = welch(base, new);
    let counts = matches!(unit, Unit::Iterations | Unit::Count);
    let p = tested.map(|tested| match counts && tested.difference != 0.0 {
        true => tested.p.max(by_permutation(base.len(), new.len())),
        false => tested.p,
    });
    let (base, new) = (level(base), level(new));
    let difference = base.as_ref().zip(new.as_ref()).map(|(base, new)| Estimate {
        value: new.mean.value - base.mean.value,
        low: tested.map(|tested| tested.low),
        high: tested.map(|tested| tested.high),
    });
    let of = |whole: f64| {
        difference.filter(|_| whole > 0.0).map(|by| Estimate {
            value: by.value / whole,
            low: by.low.map(|low| low / whole),
            high: by.high.map(|high| high / whole),
        })
    };
    let relative = of(base.as_ref().map_or(0.0, |base| base.mean.value));
    let whole = whole.max(f64::MIN_POSITIVE);
    Measured {
        relative,
        p,
        part: of(whole),
        least: least / whole,
        unit,
        base,
        new,
        difference,
    }
}

/// The p-value of two samples that do not overlap, by the exact permutation test.
fn by_permutation(first: usize, second: usize) -> f64 {
    let choose: f64 = (1..=first)
        .map(|k| (second + k) as f64 / k as f64)
        .product();
    2.0 / choose
}

impl Measured {
    /// The verdict, given the p-value with regard to all others.
    pub(super) fn judge(&self, adjusted: Option<f64>, settings: &Settings) -> Judged {
        let margin = settings.max_regression;
        let (Some(part), Some(adjusted)) = (self.part, adjusted) else {
            return Judged {
                verdict: Verdict::Inconclusive,
                why: self.why_nothing(),
                beyond: false,
            };
        };
        let low = part.low.unwrap_or(f64::NEG_INFINITY);
        let high = part.high.unwrap_or(f64::INFINITY);
        let least = self.least.max(LEAST.min(margin));
        let verdict = if adjusted < SURE && part.value.abs() >= least {
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
            Verdict::Inconclusive => self.why_not_sure(),
            _ => String::new(),
        };
        Judged {
            verdict,
            why,
            beyond: verdict == Verdict::Slower && low > margin,
        }
    }

    fn why_not_sure(&self) -> String {
        let ends = |of: Option<Estimate>| of.and_then(|of| Some((of.low?, of.high?)));
        match (ends(self.relative), ends(self.difference)) {
            (Some((low, high)), _) => format!("it may be {} to {}", percent(low), percent(high)),
            (_, Some((low, high))) => format!(
                "it may be {} to {}",
                change(low, self.unit),
                change(high, self.unit)
            ),
            _ => "the starts differ too much among themselves".to_owned(),
        }
    }

    fn why_nothing(&self) -> String {
        match (&self.base, &self.new) {
            (None, _) => "base has none".to_owned(),
            (_, None) => "new has none".to_owned(),
            (Some(base), Some(new)) => format!(
                "an interval needs {FEWEST} starts of each side, and {} of base and {} of new count",
                count(base.values.len()),
                count(new.values.len()),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CompareKind;
    use super::*;

    fn judged(base: &[f64], new: &[f64], by: By, unit: Unit) -> (Measured, Judged) {
        let measured = measure(base, new, by, unit);
        let settings = Settings::new(CompareKind::Runs, "0");
        let judged = measured.judge(measured.p, &settings);
        (measured, judged)
    }

    #[test]
    fn a_sure_change_is_one_and_a_small_one_is_none() {
        let base = [1.00, 1.01, 0.99, 1.00];
        let (found, said) = judged(&base, &[1.20, 1.21, 1.19, 1.20], By::Factor, Unit::Seconds);
        assert_eq!((said.verdict, said.beyond), (Verdict::Slower, true));
        let relative = found.relative.unwrap();
        assert!((relative.value - 0.2).abs() < 1e-3);
        let difference = found.difference.unwrap();
        assert!((difference.value - 0.2).abs() < 1e-3);
        assert!(relative.low.unwrap() > 0.17 && relative.high.unwrap() < 0.23);
        let less: Vec<f64> = base.iter().map(|value| value * 0.8).collect();
        let (_, said) = judged(&base, &less, By::Factor, Unit::Seconds);
        assert_eq!((said.verdict, said.beyond), (Verdict::Faster, false));
        // Sure, but half a percent.
        let exact = [1.0, 1.0001, 0.9999, 1.0];
        let (found, said) = judged(
            &exact,
            &exact.map(|value| value * 1.005),
            By::Factor,
            Unit::Seconds,
        );
        assert!(found.p.unwrap() < 1e-6);
        assert_eq!(said.verdict, Verdict::Same);
    }

    #[test]
    fn too_much_noise_or_too_few_starts_decide_nothing() {
        let noisy = [1.0, 1.4, 0.7, 1.1];
        let (_, said) = judged(&noisy, &[1.2, 0.8, 1.5, 1.0], By::Factor, Unit::Seconds);
        assert_eq!(said.verdict, Verdict::Inconclusive);
        assert!(said.why.contains("it may be"), "{}", said.why);
        let (found, said) = judged(&[1.0], &[9.0], By::Factor, Unit::Seconds);
        assert_eq!(said.verdict, Verdict::Inconclusive);
        assert_eq!(
            said.why,
            "an interval needs 3 starts of each side, and 1 of base and 1 of new count"
        );
        assert_eq!(found.difference.unwrap().value, 8.0);
        let (_, said) = judged(&[], &[9.0; 5], By::Factor, Unit::Bytes);
        assert_eq!(said.why, "base has none");
    }

    #[test]
    fn memory_that_does_not_vary_is_exact() {
        let third = 1e9 / 3.0;
        let (found, said) = judged(&[third; 3], &[third; 9], By::Factor, Unit::Bytes);
        assert_eq!(said.verdict, Verdict::Same);
        assert_eq!(found.difference.unwrap().value, 0.0);
        let (_, said) = judged(&[third; 3], &[2.0 * third; 3], By::Factor, Unit::Bytes);
        assert_eq!((said.verdict, said.beyond), (Verdict::Slower, true));
    }

    #[test]
    fn a_few_equal_counts_are_no_certainty() {
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
    }

    #[test]
    fn what_may_be_zero_is_compared_as_it_is() {
        let by = By::Sum {
            whole: 2.0,
            least: 1e-3,
        };
        let (found, said) = judged(&[0.0; 5], &[0.0; 5], by, Unit::Seconds);
        assert_eq!(said.verdict, Verdict::Same);
        assert_eq!(found.relative, None);
        let (found, said) = judged(
            &[0.0; 5],
            &[0.50, 0.51, 0.49, 0.50, 0.50],
            by,
            Unit::Seconds,
        );
        assert_eq!(said.verdict, Verdict::Slower);
        assert!((found.difference.unwrap().value - 0.5).abs() < 1e-12);
        // Ten milliseconds of two seconds are half a percent.
        let (_, said) = judged(&[0.10; 5], &[0.11; 5], by, Unit::Seconds);
        assert_eq!(said.verdict, Verdict::Same);
        let (_, said) = judged(&[0.0; 3], &[1.0; 3], By::Factor, Unit::Bytes);
        assert_eq!(said.verdict, Verdict::Slower);
    }
}
