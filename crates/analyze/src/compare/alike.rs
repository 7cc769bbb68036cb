//! Decides whether the iterations of two runs are comparable.

use super::regions::iterating_pairs;
use crate::run::{IterationUnit, IterationsBy, RunReport};

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
