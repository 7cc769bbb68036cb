//! Compares one quantity of both sides: the difference and its significance.
//!
//! The unit of replication is the start, so each start contributes one value per quantity.
//! Starts of a live comparison are interleaved in rounds; the analysis does not pair them,
//! which is valid for any order and loses little power.
//!
//! - Quantities that are always positive (times, ratios, memory) have multiplicative errors:
//!   they are compared by their logarithms, and the change is the ratio of geometric means.
//!   Quantities that may be zero (causes, excess, warm-up iterations) are compared directly,
//!   and their change is given relative to something that is not zero: the time to first for
//!   causes.
//! - The 95 % interval and the p-value are Welch's (1947), which assumes neither equal numbers
//!   of starts nor equal noise. The interval of a difference of geometric means is that of
//!   [`geometric_difference`], where both sides are estimates.
//! - Small counts, and memory with few levels, are equal by chance more often than a variance
//!   of zero suggests. The p-value of counts, and of anything that varies on neither side, is
//!   never below that of the exact permutation test, 2 ÷ (n + m choose n).

use crate::stats::Estimate;
use std::borrow::Cow;

use super::RunInput;
use super::judge::Settings;
use super::{CauseChange, Compared, Level, SeriesKey, Unit, items};
use crate::run::Cause;
use crate::stats::{by_permutation, geometric_difference, mean, welch};

/// The scale of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum By {
    /// Compared by logarithm.
    Factor,
    /// Compared directly: `max_regression` is a fraction of `whole`, and changes below
    /// `least` are ignored.
    Sum { whole: f64, least: f64 },
}

/// The values of a quantity, one per start, of both sides.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    pub id: Compared,
    pub name: Cow<'static, str>,
    pub unit: Unit,
    pub of: Option<SeriesKey>,
    pub base: Vec<f64>,
    pub new: Vec<f64>,
    pub by: By,
}

/// The result of comparing the values, before all quantities are judged together.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub base: Option<Level>,
    pub new: Option<Level>,
    pub difference: Option<Estimate>,
    pub relative: Option<Estimate>,
    pub p: Option<f64>,
    /// The change as the fraction that `max_regression` limits.
    pub part: Option<Estimate>,
    /// The smallest such fraction that counts as a change.
    pub least: f64,
    pub unit: Unit,
}

/// Compares the values.
pub(super) fn measure(base: &[f64], new: &[f64], by: By, unit: Unit) -> Measured {
    let positive = base.iter().chain(new).all(|value| *value > 0.0);
    let mut measured = match by {
        By::Factor if positive => factor(base, new, unit),
        // Zero has no logarithm.
        By::Factor => {
            let whole = mean(base).map_or(0.0, |mean| mean.value.abs());
            sum(base, new, whole, 0.0, unit)
        }
        By::Sum { whole, least } => Measured {
            // A ratio to a value near zero is meaningless: judge it relative to the whole.
            relative: None,
            ..sum(base, new, whole, least, unit)
        },
    };
    let counts = matches!(unit, Unit::Iterations | Unit::Count);
    let constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    let differ = measured.difference.is_some_and(|by| by.value != 0.0);
    if differ && (counts || (constant(base) && constant(new))) {
        let least = by_permutation(base.len(), new.len());
        measured.p = measured.p.map(|p| p.max(least));
    }
    measured
}

fn factor(base: &[f64], new: &[f64], unit: Unit) -> Measured {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (base_logs, new_logs) = (logs(base), logs(new));
    let level = |values: &[f64], logs: &[f64]| {
        let mean = mean(logs)?;
        // Keep equal values exact, without rounding errors.
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
    let difference = base.as_ref().zip(new.as_ref()).map(|(base, new)| {
        let (low, high) = geometric_difference(&base_logs, &new_logs).unzip();
        let plain = Estimate {
            value: new.mean.value - base.mean.value,
            low,
            high,
        };
        relative.map_or(plain, |relative| agreeing(plain, relative, base.mean.value))
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

/// Makes the interval of a difference agree with that of the ratio on whether there is a
/// difference at all. They are nearly the same there; where they are not, the ratio
/// decides, since the p-value belongs to it.
fn agreeing(difference: Estimate, relative: Estimate, base: f64) -> Estimate {
    let (Some(low), Some(high)) = (relative.low, relative.high) else {
        return difference;
    };
    let end = |own: f64, of_ratio: f64| match of_ratio {
        more if more > 0.0 && own <= 0.0 => more * base,
        less if less < 0.0 && own >= 0.0 => less * base,
        _ => own,
    };
    if low == high {
        // Nothing varies: ignore rounding errors.
        let value = Some(difference.value);
        return Estimate {
            low: value,
            high: value,
            ..difference
        };
    }
    Estimate {
        low: difference.low.map(|own| end(own, low)),
        high: difference.high.map(|own| end(own, high)),
        ..difference
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
        p: tested.map(|tested| tested.p),
        part: of(whole),
        least: least / whole,
        unit,
        base,
        new,
        difference,
    }
}

// Compares the causes of both sides, with the items behind their change.

/// A cause that was measured but not judged yet.
pub(super) struct Measuring {
    pub cause: Cause,
    pub measured: Measured,
}

/// Compares each cause separately.
pub(super) fn measure_each(causes: Vec<(Cause, Vec<f64>, Vec<f64>, By)>) -> Vec<Measuring> {
    let each = causes.into_iter();
    each.map(|(cause, base, new, by)| Measuring {
        cause,
        measured: measure(&base, &new, by, Unit::Seconds),
    })
    .collect()
}

/// Adds verdicts and items to the causes and sorts them by the size of their difference.
/// `inputs` is `None` where the items do not belong to the compared starts.
pub(super) fn judge_each(
    causes: Vec<Measuring>,
    adjusted: &[Option<f64>],
    inputs: Option<(&RunInput, &RunInput)>,
    settings: &Settings,
) -> Vec<CauseChange> {
    let mut changes: Vec<CauseChange> = Vec::new();
    for (measuring, adjusted_p) in causes.into_iter().zip(adjusted) {
        let Measuring { cause, measured } = measuring;
        let verdict = measured.judge(*adjusted_p, settings).verdict;
        let (items, items_in_all) = inputs
            .map(|(base, new)| items::changed(base, new, cause))
            .unwrap_or_default();
        if let (Some(base), Some(new), Some(difference)) =
            (measured.base, measured.new, measured.difference)
        {
            changes.push(CauseChange {
                cause,
                base,
                new,
                difference,
                p: measured.p,
                adjusted_p: *adjusted_p,
                verdict,
                items,
                items_in_all,
            });
        }
    }
    changes.sort_by(|a, b| {
        let size = |change: &CauseChange| change.difference.value.abs();
        let order = size(b).total_cmp(&size(a));
        order.then_with(|| a.cause.cmp(&b.cause))
    });
    changes
}
