//! Compares the causes of both sides, with the items behind their change.

use super::measure::{By, Measured, measure};
use super::runs::RunInput;
use super::settings::Settings;
use super::{CauseChange, Unit, items};
use crate::run::Cause;

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
