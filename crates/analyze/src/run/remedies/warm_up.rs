//! A warm-up before the real work, and what it saves in the first real iteration.
//!
//! It does not shorten the time to first: the slow iteration still runs, only earlier. So
//! its saving of the time to first is 0, and [`LaterSaving`] has the gain of the first real
//! iteration.

use preheat_model::RemedyId;

use super::super::{Cause, CauseSeconds, LaterSaving, RegionReport, RunReport, timers};
use super::{RemedyInput, Suggestion, remedy};
use crate::stats::Estimate;
use crate::units;

/// The minimum excess of the first iteration over later ones, in seconds and as a share of
/// a later one.
const MIN_SAVING: f64 = 100e-6;
const MIN_PART: f64 = 0.1;
/// A cause is listed if it has at least this share of the excess.
const MIN_LISTED_SHARE: f64 = 0.1;

/// Repeated work that is slower at first.
struct Repeated {
    /// The display name of the first real one.
    of: String,
    /// The number of warm-up iterations until the next one takes `later`.
    number: u64,
    first: f64,
    later: f64,
    /// The second one.
    second: Option<f64>,
    /// first ÷ later, over the starts.
    ratio: Option<Estimate>,
    /// The excess of the first over `later`.
    beyond: Vec<CauseSeconds>,
    /// The part of the first, 0 to 1, in which it waited for a processor. A warm-up does not
    /// prevent that.
    waited: f64,
}

impl Repeated {
    fn saved(&self) -> f64 {
        self.first - self.later - self.waited_longer()
    }

    /// The part of the excess in which the first one waited for a processor.
    fn waited_longer(&self) -> f64 {
        let idle = self.beyond.iter().filter(|part| part.cause == Cause::Idle);
        let idle: f64 = idle.map(|part| part.seconds).sum();
        (self.waited * self.first).min(idle.max(0.0))
    }

    fn is_slower_at_first(&self) -> bool {
        let sure = self.ratio.map(|ratio| ratio.low.unwrap_or(ratio.value));
        let least = MIN_SAVING.max(MIN_PART * self.later);
        let waited = self.waited * self.first;
        self.first - self.later - waited >= least && sure.is_none_or(|low| low > 1.0)
    }
}

/// Iterations before those that matter.
pub(super) fn warm_up(case: &RemedyInput) -> Option<Suggestion> {
    let report = case.report;
    let shown = case.examined.durations.first().copied().unwrap_or(0.0);
    let waited = share(case.examined.waited_in_first, shown);
    // Regions whose executions are the iterations are those.
    let regions = report.regions.iter().filter(|region| !region.iterates);
    let regions = regions.filter_map(|region| {
        let slower = of_region(region).filter(Repeated::is_slower_at_first)?;
        let waited = timers::waited_in_first(case.start, &region.name);
        Some(Repeated { waited, ..slower })
    });
    let repeated = (of_iterations(report, waited).into_iter())
        .chain(regions)
        .find(Repeated::is_slower_at_first)?;
    let saved = repeated.saved();
    let alone = repeated.second.map(|second| repeated.first - second);
    let alone = alone.map(|alone| units::duration(alone.min(saved)));
    // The second is as fast as any later one.
    let one_is_enough = alone.as_ref() == Some(&units::duration(saved));
    let number = if one_is_enough { 1 } else { repeated.number };
    let mut what = format!(
        "{} {} off {} ({} → {})",
        match number {
            1 => "1 warm-up iteration takes".to_owned(),
            number => format!("{number} warm-up iterations take"),
        },
        units::duration(saved),
        repeated.of,
        units::duration(repeated.first),
        units::duration(repeated.first - saved),
    );
    let is_faster = repeated
        .second
        .is_some_and(|second| second < repeated.first);
    if let Some(alone) = alone.filter(|_| number > 1 && is_faster) {
        what.push_str(&format!("; a single one takes {alone} off"));
    }
    let waited = repeated.waited_longer();
    if waited >= MIN_LISTED_SHARE * saved {
        what.push_str(&format!(
            ", of which {} are waiting for a processor, which a warm-up does not prevent",
            units::duration(repeated.waited * repeated.first)
        ));
    }
    what.push_str(
        ". The slow one still runs, only earlier, so the time to first does not change. Warm up \
         before a timed loop, or before a server reports that it is ready. `preheat compare` \
         shows the gain in the timed regions of the changed program.",
    );
    let causes: Vec<Cause> = (repeated.beyond.iter())
        .filter(|part| part.seconds >= MIN_LISTED_SHARE * saved)
        .map(|part| part.cause)
        .collect();
    let mut suggestion = remedy(
        RemedyId::WarmUp,
        "Warm up before the real work",
        what,
        0.0,
        "the warm-up does the same work, on inputs of the same shapes",
        &causes,
    );
    suggestion.remedy.later = Some(LaterSaving {
        of: repeated.of,
        seconds: saved,
        after: number,
    });
    Some(suggestion)
}

/// A part of a whole, 0 to 1.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (part / whole).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The iterations of the program, against a steady one or else the second. None if nothing shows
/// where the first one begins: what it has beyond later ones may be set-up.
fn of_iterations(report: &RunReport, waited: f64) -> Option<Repeated> {
    if report.first_begin.is_some_and(|begin| !begin.known) {
        return None;
    }
    let first = report.first?;
    let second = report.second.map(|second| second.value);
    let of = "the first real iteration".to_owned();
    match (report.steady, report.warmup) {
        (Some(steady), Some(warmup)) => Some(Repeated {
            of,
            number: warmup.ceil().max(1.0) as u64,
            first,
            later: steady,
            second,
            ratio: report.ratio,
            beyond: report.first_excess.clone(),
            waited,
        }),
        _ => Some(Repeated {
            of,
            number: 1,
            first,
            later: second?,
            second: None,
            ratio: report.first_to_second,
            beyond: report.second_excess.clone(),
            waited,
        }),
    }
}

/// A region that the program times more than once.
fn of_region(region: &RegionReport) -> Option<Repeated> {
    let of_second = |cause: Cause| -> f64 {
        let parts = region.second_causes.iter();
        let parts = parts.filter(|part| part.cause == cause);
        parts.map(|part| part.seconds).sum()
    };
    let beyond = region.causes.iter().map(|part| CauseSeconds {
        cause: part.cause,
        seconds: part.seconds - of_second(part.cause),
    });
    Some(Repeated {
        of: format!("the first real execution of {}", region.name),
        number: 1,
        first: region.first.value,
        later: region.second?.value,
        second: None,
        ratio: region.ratio,
        beyond: beyond.collect(),
        waited: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::Clock;

    fn exactly(median: f64) -> Estimate {
        Estimate {
            value: median,
            low: None,
            high: None,
        }
    }

    fn region(second: Option<f64>) -> RegionReport {
        let part = |cause, seconds| CauseSeconds { cause, seconds };
        RegionReport {
            name: "infer.py:9–11".to_owned(),
            file: None,
            from: None,
            to: None,
            function: None,
            helper: None,
            clock: Some(Clock::PerfCounter),
            count: 2,
            first: exactly(0.2),
            second: second.map(exactly),
            best: second.map(exactly),
            ratio: second.map(|second| exactly(0.2 / second)),
            causes: vec![part(Cause::KernelLoading, 0.15), part(Cause::OwnCpu, 0.05)],
            second_causes: vec![part(Cause::OwnCpu, 0.05)],
            unfinished: None,
            firsts: Vec::new(),
            paired_by_order: false,
            around: None,
            iterates: false,
            code: None,
            repeats: None,
        }
    }

    #[test]
    fn a_region_that_is_executed_twice_shows_what_a_warm_up_saves() {
        let repeated = of_region(&region(Some(0.05))).expect("it is executed twice");
        assert!(repeated.is_slower_at_first());
        assert!((repeated.saved() - 0.15).abs() < 1e-12);
        assert_eq!(repeated.of, "the first real execution of infer.py:9–11");
        let (cause, seconds) = (repeated.beyond[0].cause, repeated.beyond[0].seconds);
        assert_eq!((cause, seconds), (Cause::KernelLoading, 0.15));
        assert_eq!(repeated.beyond[1].seconds, 0.0);
        assert!(of_region(&region(None)).is_none());
        let part = CauseSeconds {
            cause: Cause::Idle,
            seconds: 0.02,
        };
        let mut busy = of_region(&region(Some(0.05))).expect("it is executed twice");
        busy.waited = 0.5;
        // Later ones waited as long.
        assert!((busy.saved() - 0.15).abs() < 1e-12);
        busy.beyond.push(part);
        assert!((busy.saved() - 0.13).abs() < 1e-12);
        busy.waited = 0.05;
        assert!((busy.saved() - 0.14).abs() < 1e-12);
        let faster = of_region(&region(Some(0.3))).expect("it is executed twice");
        assert!(!faster.is_slower_at_first());
    }
}
