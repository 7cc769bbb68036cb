//! Compares temperatures, which differ in one respect each.

use super::super::{Cause, Rung, Temperature};
use super::Case;
use crate::units;

/// The results at a temperature.
pub(super) fn rung<'a>(case: &Case<'a>, temperature: Temperature) -> Option<&'a Rung> {
    let mut rungs = case.report.ladder.iter();
    rungs.find(|rung| rung.temperature == temperature)
}

/// The extra time of a colder start.
pub(super) fn difference(colder: &Rung, warmer: &Rung) -> f64 {
    colder.time_to_first.estimate - warmer.time_to_first.estimate
}

/// The difference in words: `at temperature disk: 2.70 s → 1.49 s`.
pub(super) fn base(colder: &Rung, warmer: &Rung) -> String {
    format!(
        "at temperature {}: {} → {}",
        colder.temperature.as_str(),
        units::duration(colder.time_to_first.estimate),
        units::duration(warmer.time_to_first.estimate)
    )
}

/// Seconds of a cause at a temperature.
pub(super) fn seconds(rung: &Rung, cause: Cause) -> f64 {
    let causes = rung.causes.iter().filter(|part| part.cause == cause);
    causes.map(|part| part.seconds).sum()
}
