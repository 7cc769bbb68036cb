//! What a ladder of temperatures shows: two rungs differ by one thing.

use super::super::{Cause, Rung, Temperature};
use super::Case;
use crate::units;

/// A rung of the report's ladder.
pub(super) fn rung<'a>(case: &Case<'a>, temperature: Temperature) -> Option<&'a Rung> {
    let mut rungs = case.report.ladder.iter();
    rungs.find(|rung| rung.temperature == temperature)
}

/// How much longer a colder start takes.
pub(super) fn difference(colder: &Rung, warmer: &Rung) -> f64 {
    colder.time_to_first.median - warmer.time_to_first.median
}

/// From where to where: `at temperature disk: 2.70 s → 1.49 s`.
pub(super) fn base(colder: &Rung, warmer: &Rung) -> String {
    format!(
        "at temperature {}: {} → {}",
        colder.temperature.as_str(),
        units::duration(colder.time_to_first.median),
        units::duration(warmer.time_to_first.median)
    )
}

/// Seconds of a cause in a rung.
pub(super) fn seconds(rung: &Rung, cause: Cause) -> f64 {
    let causes = rung.causes.iter().filter(|part| part.cause == cause);
    causes.map(|part| part.seconds).sum()
}
