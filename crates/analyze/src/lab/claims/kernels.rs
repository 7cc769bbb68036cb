//! Claims 3, 14, 15: launching and compiling kernels.

use super::super::data::{Data, Key, SeriesData};
use super::super::{ExperimentId, Subject, names};
use super::{Finding, above, below};
use crate::units::duration;

/// A time that is off by a fifth is misjudged.
const MISJUDGED: f64 = 0.8;
/// Compilation that costs no more than a launch would not matter.
const SKIPPED: f64 = 2.0;
/// A cache that leaves half of the compilation has not removed it.
const REMOVED: f64 = 0.5;

pub(super) fn naive_timing(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let keys = [
        Key::new(ExperimentId::Launch, "").variant(names::CACHE_EMPTY),
        Key::new(ExperimentId::Infer, "").variant(names::MLP_LARGE),
    ];
    let (naive, whole) = keys.into_iter().find_map(|key| {
        Some((
            data.series(
                subject,
                Key {
                    name: names::LONG_LAUNCH_NAIVE,
                    ..key
                },
            )?,
            data.series(
                subject,
                Key {
                    name: names::LONG_LAUNCH,
                    ..key
                },
            )?,
        ))
    })?;
    let value = whole.paired(&naive.steadies(), &whole.steadies())?;
    Some(Finding {
        verdict: below(value, MISJUDGED),
        quantity: "time without waiting ÷ time to the end of the work",
        value,
        threshold: MISJUDGED,
        also: vec![],
        sentence: format!(
            "work of {} appears to take {} without synchronization",
            duration(SeriesData::typical(&whole.steadies())),
            duration(SeriesData::typical(&naive.steadies()))
        ),
    })
}

pub(super) fn compiled_once(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key = Key::new(ExperimentId::Launch, names::LAUNCH_FROM_SOURCE).variant(names::CACHE_EMPTY);
    let launch = data.series(subject, key)?;
    let value = launch.first_to_steady()?;
    Some(Finding {
        verdict: above(value, SKIPPED),
        quantity: "first launch with compilation ÷ later launch",
        value,
        threshold: SKIPPED,
        also: vec![],
        sentence: format!(
            "compiling, loading and the first launch take {}, a later launch {}",
            duration(SeriesData::typical(&launch.firsts())),
            duration(SeriesData::typical(&launch.steadies()))
        ),
    })
}

pub(super) fn filled_cache(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key = Key::new(ExperimentId::Launch, names::LAUNCH_FROM_SOURCE);
    let empty = data.series(subject, key.variant(names::CACHE_EMPTY))?;
    let filled = data.series(subject, key.variant(names::CACHE_FILLED))?;
    let value = data.unpaired(&filled.first_excess(), &empty.first_excess())?;
    Some(Finding {
        verdict: below(value, REMOVED),
        quantity: "excess of the first launch, cache filled ÷ cache empty",
        value,
        threshold: REMOVED,
        also: vec![],
        sentence: format!(
            "from source to first launch takes {} with an empty cache and {} with a filled one",
            duration(SeriesData::typical(&empty.firsts())),
            duration(SeriesData::typical(&filled.firsts()))
        ),
    })
}
