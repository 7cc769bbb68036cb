//! Selects the starts that count, and extracts their values.

use preheat_model::Quantity;

use super::CauseChange;
use super::judge::Settings;
use super::measure::{By, Samples};
use crate::run::{self, Cause, FEW_ITERATIONS, RunReport, StartReport, Temperature, temperatures};
use crate::stats::{StartSummary, mean, summarize_start};

/// The starts of one side that count, with summaries of their iterations.
pub(super) struct Counted<'a> {
    pub starts: Vec<&'a StartReport>,
    /// True if the times to first are actually times to the end of the program, because no
    /// start was recorded.
    pub to_end: bool,
    summaries: Vec<StartSummary>,
}

/// The compared temperatures: the warmest that both sides have; otherwise the warmest of
/// each, with a note.
pub(super) fn compared_at(base: &RunReport, new: &RunReport) -> (Temperature, Temperature) {
    let (of_base, of_new) = (temperatures(&base.starts), temperatures(&new.starts));
    let warmest = |of: &[Temperature]| of.first().copied().unwrap_or(Temperature::Process);
    let common = of_base.iter().find(|of| of_new.contains(of));
    match common {
        Some(common) => (*common, *common),
        None => (warmest(&of_base), warmest(&of_new)),
    }
}

/// Returns true if every start has an exit code other than 0: some programs always do.
pub(super) fn always_fails(report: &RunReport) -> bool {
    report.starts.iter().all(|start| start.exit_code != 0)
}

/// The starts that count, as in the report of a run, but without failed ones, whose
/// durations are not representative, unless `with_failed` includes them.
pub(super) fn counted(
    report: &RunReport,
    temperature: Temperature,
    with_failed: bool,
) -> Counted<'_> {
    let mut counted = run::counted(&report.starts, temperature);
    counted
        .starts
        .retain(|start| with_failed || start.exit_code == 0);
    let mut summaries: Vec<StartSummary> = (counted.starts.iter())
        .filter_map(|start| summarize_start(&start.iterations))
        .collect();
    let lengths = counted.starts.iter().map(|start| start.iterations.len());
    if lengths.max().unwrap_or(0) < FEW_ITERATIONS {
        all_or_none_settle(&mut summaries);
    }
    Counted {
        starts: counted.starts,
        to_end: !counted.recorded,
        summaries,
    }
}

/// With few iterations, it is chance which starts seem to settle: if some do not, none does.
/// The report of a run has the same rule.
fn all_or_none_settle(summaries: &mut [StartSummary]) {
    if summaries.iter().any(|start| start.steady.is_none()) {
        for start in summaries {
            (start.steady, start.steady_start, start.excess) = (None, None, None);
        }
    }
}

impl Counted<'_> {
    /// The time to first of each start.
    fn times(&self) -> Vec<f64> {
        let time = |start: &&StartReport| match self.to_end {
            true => Some(start.wall),
            false => start.time_to_first,
        };
        self.starts.iter().filter_map(time).collect()
    }

    fn of_starts(&self, value: impl Fn(&StartReport) -> Option<f64>) -> Vec<f64> {
        let starts = self.starts.iter();
        starts.filter_map(|start| value(start)).collect()
    }

    fn of_iterations(&self, value: impl Fn(&StartSummary) -> Option<f64>) -> Vec<f64> {
        let summaries = self.summaries.iter();
        summaries.filter_map(value).collect()
    }

    /// Returns true if steady work is separated from the other causes.
    pub(super) fn has_steady_work(&self) -> bool {
        let mut parts = self.starts.iter().flat_map(|start| &start.causes);
        parts.any(|part| part.cause == Cause::SteadyWork && part.seconds > 0.0)
    }

    /// The time of a cause in each start; zero where it did not occur.
    fn cause(&self, cause: Cause) -> Vec<f64> {
        let seconds = |start: &StartReport| {
            let parts = start.causes.iter().filter(|part| part.cause == cause);
            parts.map(|part| part.seconds).sum()
        };
        self.starts.iter().map(|start| seconds(start)).collect()
    }
}

/// The quantities that at least one side has.
pub(super) fn quantities(base: &Counted, new: &Counted, settings: &Settings) -> Vec<Samples> {
    let average = |values: &[f64]| mean(values).map_or(0.0, |mean| mean.value);
    let iterations = |value: fn(&StartSummary) -> Option<f64>| {
        (base.of_iterations(value), new.of_iterations(value))
    };
    let starts =
        |value: fn(&StartReport) -> Option<f64>| (base.of_starts(value), new.of_starts(value));
    let by_factor = |of: Quantity, (base, new): (Vec<f64>, Vec<f64>)| Samples {
        id: of.into(),
        name: of.title().into(),
        unit: of.unit(),
        of: None,
        base,
        new,
        by: By::Factor,
    };
    // The end of a program is not a first iteration.
    let alike = base.to_end == new.to_end;
    let times = |side: &Counted| match alike || !side.to_end {
        true => side.times(),
        false => Vec::new(),
    };
    let warmup = iterations(|of| of.steady_start.map(|at| at as f64));
    let excess = iterations(|of| of.excess);
    let mut all = vec![
        by_factor(Quantity::TimeToFirst, (times(base), times(new))),
        by_factor(
            Quantity::First,
            // A start counts here whether or not it reached a steady state.
            iterations(|of| Some(of.first)),
        ),
        by_factor(Quantity::Steady, iterations(|of| of.steady)),
        by_factor(
            Quantity::Ratio,
            iterations(|of| Some(of.first / of.steady?)),
        ),
        Samples {
            id: Quantity::Warmup.into(),
            name: Quantity::Warmup.title().into(),
            unit: Quantity::Warmup.unit(),
            of: None,
            // One iteration more or less is always within the margin.
            by: By::Sum {
                whole: average(&warmup.0).max(1.0 / settings.max_regression),
                least: 0.5,
            },
            base: warmup.0,
            new: warmup.1,
        },
        Samples {
            id: Quantity::Excess.into(),
            name: Quantity::Excess.title().into(),
            unit: Quantity::Excess.unit(),
            of: None,
            // ClassifiedSpan against itself; a change below the floor is within the margin.
            by: By::Sum {
                whole: average(&excess.0).abs().max(settings.least_whole()),
                least: settings.floors.seconds,
            },
            base: excess.0,
            new: excess.1,
        },
        by_factor(
            Quantity::DeviceMemory,
            starts(|start| start.peak_device.map(|bytes| bytes as f64)),
        ),
        by_factor(
            Quantity::HostMemory,
            starts(|start| Some(start.peak_resident as f64).filter(|bytes| *bytes > 0.0)),
        ),
    ];
    all.retain(|samples| !(samples.base.is_empty() && samples.new.is_empty()));
    all
}

/// The causes that occur on either side, in the order of [`Cause::ALL`]. Steady work that is
/// not comparable counts as CPU time of the program: otherwise the same time would have another
/// name on the other side.
pub(super) fn causes(
    base: &Counted,
    new: &Counted,
    settings: &Settings,
    comparable: bool,
) -> Vec<(Cause, Vec<f64>, Vec<f64>, By)> {
    if base.to_end || new.to_end || base.starts.is_empty() || new.starts.is_empty() {
        return Vec::new();
    }
    let by = By::Sum {
        whole: whole(base),
        least: settings.floors.seconds,
    };
    let of = |side: &Counted, cause: Cause| -> Vec<f64> {
        let times = side.cause(cause);
        match cause {
            Cause::OwnCpu if !comparable => {
                let steady = side.cause(Cause::SteadyWork);
                times.iter().zip(steady).map(|(a, b)| a + b).collect()
            }
            _ => times,
        }
    };
    let each = Cause::ALL.into_iter();
    each.filter(|cause| comparable || *cause != Cause::SteadyWork)
        .map(|cause| (cause, of(base, cause), of(new, cause), by))
        .filter(|(_, base, new, _)| base.iter().chain(new).any(|seconds| *seconds > 0.0))
        .collect()
}

/// The total that causes are parts of: the base's time to first.
fn whole(base: &Counted) -> f64 {
    mean(&base.times()).map_or(0.0, |mean| mean.value)
}

/// The difference of the time to first as the arithmetic sum of its causes' differences.
pub(super) fn sum_of_differences(causes: &[CauseChange]) -> f64 {
    causes.iter().map(|cause| cause.difference.value).sum()
}
