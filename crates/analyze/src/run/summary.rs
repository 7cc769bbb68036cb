//! Combines the starts of a recording.

use super::examine::{Examined, seconds};
use super::iterations::StartData;
use super::path::CAUSES;
use super::{
    Cause, CauseSeconds, Recording, StartReport, Temperature, TemperatureReport, counted, memory,
    temperatures,
};
use crate::stats::{Class, Estimate, SeriesSummary, interval, paired_ratio, summarize};

/// With fewer iterations than this in every start, there is no class.
pub(super) const FOR_A_CLASS: usize = 3;
/// With fewer iterations than this, it is chance whether a start seems to settle.
pub(crate) const FEW_ITERATIONS: usize = 10;

/// The counted starts of one temperature.
pub(super) struct Group {
    pub temperature: Temperature,
    /// Their indices among all starts.
    pub starts: Vec<usize>,
    pub time_to_first: Estimate,
    /// Seconds by cause; they add up to the time to first.
    pub causes: [f64; CAUSES],
    /// The statistics of the iterations.
    pub series: Option<SeriesSummary>,
    /// The number of iterations of the start with the most.
    pub most_iterations: usize,
    /// The excess of the first iteration over a steady one, largest first. Causes that took
    /// less are negative; the sum is first − steady. Empty if no start has a steady state.
    pub first_excess: Vec<CauseSeconds>,
    /// The first iteration against the second, over the starts that have both.
    pub second: Option<Second>,
}

/// The first iteration against later ones, without the need for a steady state.
pub(super) struct Second {
    pub second: Estimate,
    /// The fastest iteration after the first.
    pub best: Estimate,
    /// first ÷ second.
    pub ratio: Estimate,
    /// first − second, by cause, largest first.
    pub excess: Vec<CauseSeconds>,
}

/// The groups, warmest first. A temperature at which no start reached its first iteration
/// has no group.
pub(super) fn groups(
    recording: &Recording,
    examined: &[Examined],
    starts: &[StartReport],
) -> Vec<Group> {
    let counted = |temperature| (temperature, counted(starts, temperature));
    temperatures(starts)
        .into_iter()
        .map(counted)
        .filter(|(_, counted)| counted.recorded)
        .filter_map(|(temperature, counted)| {
            group(recording, examined, temperature, counted.places)
        })
        .collect()
}

fn group(
    recording: &Recording,
    examined: &[Examined],
    temperature: Temperature,
    starts: Vec<usize>,
) -> Option<Group> {
    let seed = recording.manifest.settings.seed;
    let time = |at: &usize| examined[*at].time_to_first.map(seconds);
    let times: Vec<Vec<f64>> = (starts.iter())
        .filter_map(|at| Some(vec![time(at)?]))
        .collect();
    let time_to_first = interval(&times, seed)?;
    let shares = starts.iter().map(|at| examined[*at].causes);
    let causes = mean_shares(shares, time_to_first.value);
    let with_iterations = |at: &&usize| !examined[**at].durations.is_empty();
    let series: Vec<Vec<f64>> = (starts.iter())
        .filter(with_iterations)
        .map(|at| examined[*at].durations.clone())
        .collect();
    let most_iterations = series.iter().map(Vec::len).max().unwrap_or(0);
    let series = summarize(&series, seed).map(|summary| match most_iterations {
        ..FEW_ITERATIONS => all_or_none_settle(summary, seed),
        _ => summary,
    });
    // Only the starts behind the values of first and steady.
    let settled = starts.iter().map(|at| &examined[*at]);
    let both: Vec<_> = settled
        .filter(|start| start.settles())
        .filter_map(|start| Some((start.first_causes(), start.steady?)))
        .collect();
    let values = series.as_ref();
    let values = values.and_then(|series| Some((series.first, series.steady?)));
    Some(Group {
        temperature,
        time_to_first,
        causes,
        most_iterations,
        first_excess: values.map_or(Vec::new(), |values| excess(&both, values)),
        series,
        second: second(examined, &starts, seed),
        starts,
    })
}

/// With few iterations, it is chance which starts seem to settle. If some do not, the first
/// iteration is averaged over all starts, and compared with the second.
fn all_or_none_settle(mut series: SeriesSummary, seed: u64) -> SeriesSummary {
    if series.starts.iter().any(|start| start.steady.is_none()) {
        let firsts = series.starts.iter().map(|start| vec![start.first]);
        let firsts = interval(&firsts.collect::<Vec<_>>(), seed);
        series.first = firsts.map_or(series.first, |first| first.value);
        series.steady = None;
        series.ratio = None;
        series.warmup = None;
        series.excess = None;
        series.class = Class::NoSteadyState;
    }
    series
}

fn second(examined: &[Examined], starts: &[usize], seed: u64) -> Option<Second> {
    let both: Vec<&Examined> = (starts.iter())
        .map(|at| &examined[*at])
        .filter(|start| start.durations.len() > 1)
        .collect();
    let of = |value: fn(&[f64]) -> f64| -> Vec<Vec<f64>> {
        let values = both.iter().map(|start| vec![value(&start.durations)]);
        values.collect()
    };
    let (firsts, seconds) = (of(|times| times[0]), of(|times| times[1]));
    let bests = of(|times| times[1..].iter().copied().fold(f64::INFINITY, f64::min));
    let pairs: Vec<_> = firsts
        .iter()
        .cloned()
        .zip(seconds.iter().cloned())
        .collect();
    let (first, second) = (interval(&firsts, seed)?, interval(&seconds, seed)?);
    let causes: Vec<_> = (both.iter())
        .filter_map(|start| Some((start.first_causes(), start.second?)))
        .collect();
    Some(Second {
        second,
        best: interval(&bests, seed)?,
        ratio: paired_ratio(&pairs, seed)?,
        excess: excess(&causes, (first.value, second.value)),
    })
}

/// The excess of the first iteration over another by cause, largest first, from the causes of
/// both in the same starts. It adds up to the difference of the two values.
fn excess(
    starts: &[([f64; CAUSES], [f64; CAUSES])],
    (first, other): (f64, f64),
) -> Vec<CauseSeconds> {
    let firsts = mean_shares(starts.iter().map(|start| start.0), first);
    let others = mean_shares(starts.iter().map(|start| start.1), other);
    let more: [f64; CAUSES] = match others.iter().all(|cause| *cause == 0.0) {
        // Nothing of the other was broken down.
        true => mean_shares([firsts].into_iter(), first - other),
        false => std::array::from_fn(|at| firsts[at] - others[at]),
    };
    let mut causes = in_order(&more);
    causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    causes
}

/// The causes of a mean over starts: each cause has its average share. Averages of seconds
/// would be those of the slowest start, while the mean is geometric. All are zero if no start
/// was broken down.
pub(super) fn mean_shares(
    starts: impl Iterator<Item = [f64; CAUSES]>,
    whole: f64,
) -> [f64; CAUSES] {
    let mut mean = [0.0; CAUSES];
    let mut count = 0;
    for causes in starts {
        let all: f64 = causes.iter().sum();
        if all > 0.0 {
            count += 1;
            for (sum, cause) in mean.iter_mut().zip(&causes) {
                *sum += cause / all;
            }
        }
    }
    mean.map(|sum| sum * whole / f64::from(count.max(1)))
}

impl Group {
    pub(super) fn temperature_report(&self) -> TemperatureReport {
        TemperatureReport {
            temperature: self.temperature,
            starts: self.starts.len(),
            time_to_first: self.time_to_first,
            first: self.series.as_ref().map(|series| series.first),
            causes: in_order(&self.causes),
        }
    }

    /// The start nearest to the average, which is the one to show.
    pub(super) fn typical(&self, examined: &[Examined]) -> Option<usize> {
        let distance = |at: &usize| {
            let time = examined[*at].time_to_first.map_or(f64::MAX, seconds);
            (time - self.time_to_first.value).abs()
        };
        let starts = self.starts.iter().copied();
        starts.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// Causes with a nonzero time, in the order of [`Cause::ALL`]. A difference may be
/// negative.
pub(super) fn in_order(causes: &[f64; CAUSES]) -> Vec<CauseSeconds> {
    let all = Cause::ALL.into_iter().zip(causes);
    all.filter(|(_, seconds)| **seconds != 0.0)
        .map(|(cause, seconds)| CauseSeconds {
            cause,
            seconds: *seconds,
        })
        .collect()
}

/// The reports of all starts.
pub(super) fn starts(
    recording: &Recording,
    seen: &[StartData],
    examined: &[Examined],
) -> Vec<StartReport> {
    let infos = recording.manifest.starts.iter().enumerate();
    infos
        .zip(seen.iter().zip(examined))
        .map(|((index, info), (start, examined))| StartReport {
            temperature: info.temperature,
            first_start: index == 0 && recording.manifest.starts.len() > 1,
            exit_code: info.exit_code,
            time_to_first: examined.time_to_first.map(seconds),
            wall: seconds(info.end.saturating_sub(info.exec)),
            causes: match examined.time_to_first {
                Some(_) => in_order(&examined.causes),
                None => Vec::new(),
            },
            iterations: examined.durations.clone(),
            peak_resident: info.peak_resident,
            peak_device: memory::peak_device(start, examined),
            evicted: info.evicted,
            damaged: !start.trace.problems.is_empty(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn causes(parts: &[(Cause, f64)]) -> [f64; CAUSES] {
        let mut all = [0.0; CAUSES];
        for (cause, seconds) in parts {
            all[cause.index()] = *seconds;
        }
        all
    }

    #[test]
    fn the_parts_of_an_excess_add_up_to_it() {
        let first = causes(&[(Cause::OwnCpu, 3.0), (Cause::Idle, 1.0)]);
        let second = causes(&[(Cause::OwnCpu, 0.5), (Cause::Idle, 1.5)]);
        let parts = excess(&[(first, second), (first, second)], (4.0, 2.0));
        let of = |cause| parts.iter().find(|part| part.cause == cause).unwrap();
        assert!((of(Cause::OwnCpu).seconds - 2.5).abs() < 1e-12);
        assert!((of(Cause::Idle).seconds + 0.5).abs() < 1e-12);
        assert_eq!(parts[0].cause, Cause::OwnCpu);
        // Other starts took longer, so that the geometric means differ from these sums.
        let sum = |values| -> f64 {
            let parts = excess(&[(first, second)], values);
            parts.iter().map(|part| part.seconds).sum()
        };
        assert!((sum((5.0, 1.0)) - 4.0).abs() < 1e-12);
        assert!((sum((1.0, 5.0)) + 4.0).abs() < 1e-12);
    }

    #[test]
    fn an_excess_over_something_unknown_has_the_causes_of_the_first() {
        let first = causes(&[(Cause::KernelLoading, 3.0), (Cause::Idle, 1.0)]);
        let parts = excess(&[(first, [0.0; CAUSES])], (4.0, 2.0));
        assert_eq!(parts.len(), 2);
        assert!((parts[0].seconds - 1.5).abs() < 1e-12);
        assert!(excess(&[], (4.0, 2.0)).is_empty());
    }

    #[test]
    fn every_start_counts_the_same() {
        let slow = causes(&[(Cause::Idle, 100.0)]);
        let fast = causes(&[(Cause::OwnCpu, 1.0)]);
        let mean = mean_shares([slow, fast].into_iter(), 10.0);
        assert_eq!(mean, causes(&[(Cause::Idle, 5.0), (Cause::OwnCpu, 5.0)]));
        // A start without causes does not count.
        let mean = mean_shares([[0.0; CAUSES], fast].into_iter(), 2.0);
        assert_eq!(mean, causes(&[(Cause::OwnCpu, 2.0)]));
    }
}
