//! Combines the starts of a recording.

use super::examine::{Examined, seconds};
use super::iterations::Seen;
use super::path::CAUSES;
use super::{
    Cause, CauseSeconds, Recording, Rung, StartReport, Temperature, counted, memory, temperatures,
};
use crate::stats::{Class, Interval, SeriesSummary, interval, paired_ratio, summarize};

/// With fewer iterations than this in every start, there is no class.
pub(super) const FOR_A_CLASS: usize = 3;
/// With fewer iterations than this, it is chance whether a start seems to settle.
const FEW_ITERATIONS: usize = 10;

/// The counted starts of one temperature.
pub(super) struct Group {
    pub temperature: Temperature,
    /// Their indices among all starts.
    pub starts: Vec<usize>,
    pub time_to_first: Interval,
    /// Seconds by cause; they add up to the time to first.
    pub causes: [f64; CAUSES],
    /// The statistics of the iterations.
    pub series: Option<SeriesSummary>,
    /// The number of iterations of the start with the most.
    pub most_iterations: usize,
    /// The excess of the first iteration over a steady one, by cause.
    pub excess: [f64; CAUSES],
    /// The first iteration against the second, over the starts that have both.
    pub second: Option<Second>,
}

/// The first iteration against later ones, without the need for a steady state.
pub(super) struct Second {
    pub second: Interval,
    /// The fastest iteration after the first.
    pub best: Interval,
    /// first ÷ second.
    pub ratio: Interval,
    /// first − second, by cause.
    excess: [f64; CAUSES],
    /// first − second.
    whole: f64,
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
    // Average the shares of each start, so that the causes add up to the time to first.
    let mut causes = [0.0; CAUSES];
    for at in &starts {
        let all: f64 = examined[*at].causes.iter().sum();
        for (sum, cause) in causes.iter_mut().zip(&examined[*at].causes) {
            *sum += cause / all.max(f64::MIN_POSITIVE) / starts.len() as f64;
        }
    }
    causes
        .iter_mut()
        .for_each(|cause| *cause *= time_to_first.estimate);
    let with_iterations = |at: &&usize| !examined[**at].durations.is_empty();
    let series: Vec<Vec<f64>> = (starts.iter())
        .filter(with_iterations)
        .map(|at| examined[*at].durations.clone())
        .collect();
    let most_iterations = series.iter().map(Vec::len).max().unwrap_or(0);
    // Only the starts behind the values of first and steady.
    let excesses: Vec<&[f64; CAUSES]> = (starts.iter())
        .filter(|at| examined[**at].settles())
        .filter_map(|at| examined[*at].excess.as_ref())
        .collect();
    let mean = |at: usize| {
        let sum: f64 = excesses.iter().map(|excess| excess[at]).sum();
        sum / excesses.len().max(1) as f64
    };
    Some(Group {
        temperature,
        time_to_first,
        causes,
        series: summarize(&series, seed).map(|summary| match most_iterations {
            ..FEW_ITERATIONS => all_or_none_settle(summary, seed),
            _ => summary,
        }),
        most_iterations,
        excess: std::array::from_fn(mean),
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
        series.first = firsts.map_or(series.first, |first| first.estimate);
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
    let excess: Vec<&[f64; CAUSES]> = (both.iter())
        .filter_map(|start| start.second.as_ref())
        .collect();
    let mean = |at: usize| {
        let sum: f64 = excess.iter().map(|excess| excess[at]).sum();
        sum / excess.len().max(1) as f64
    };
    Some(Second {
        second,
        best: interval(&bests, seed)?,
        ratio: paired_ratio(&pairs, seed)?,
        excess: std::array::from_fn(mean),
        whole: first.estimate - second.estimate,
    })
}

impl Second {
    /// The excess of the first iteration over the second, largest cause first.
    pub(super) fn excess(&self) -> Vec<CauseSeconds> {
        largest_first(&adding_up(self.excess, self.whole))
    }
}

fn largest_first(causes: &[f64; CAUSES]) -> Vec<CauseSeconds> {
    let mut causes = in_order(causes);
    causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    causes
}

impl Group {
    pub(super) fn rung(&self) -> Rung {
        Rung {
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
            (time - self.time_to_first.estimate).abs()
        };
        let starts = self.starts.iter().copied();
        starts.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The excess of the first iteration over a steady one, largest first. Causes that took
    /// less are negative; the sum is first − steady. Empty if no start has a steady state.
    pub(super) fn first_excess(&self) -> Vec<CauseSeconds> {
        let series = self.series.as_ref();
        let Some(whole) = series.and_then(|series| Some(series.first - series.steady?)) else {
            return Vec::new();
        };
        largest_first(&adding_up(self.excess, whole))
    }
}

/// Makes the parts of an excess add up to the whole. Each part is a mean over the starts
/// and the whole is a difference of geometric means, so they add up only approximately: the
/// parts are scaled like the causes of the time to first. If the signs differ, scaling is
/// impossible; the remainder is unexplained, and never negative.
fn adding_up(mut parts: [f64; CAUSES], whole: f64) -> [f64; CAUSES] {
    let sum: f64 = parts.iter().sum();
    let factor = whole / sum;
    if sum == 0.0 && parts.iter().all(|part| *part == 0.0) {
        // Nothing was broken down, so there are no parts to scale.
        return parts;
    }
    if factor > 0.0 && factor.is_finite() {
        parts.iter_mut().for_each(|part| *part *= factor);
    } else {
        parts[Cause::Unexplained.index()] += (whole - sum).max(0.0);
    }
    parts
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
    seen: &[Seen],
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

    #[test]
    fn the_parts_of_an_excess_add_up_to_it_even_if_some_are_below_zero() {
        let mut parts = [0.0; CAUSES];
        parts[Cause::KernelLoading.index()] = 0.5;
        parts[Cause::WaitingForDevice.index()] = -0.1;
        let fitted = adding_up(parts, 0.44);
        assert!((fitted.iter().sum::<f64>() - 0.44).abs() < 1e-12);
        assert!((fitted[Cause::WaitingForDevice.index()] + 0.11).abs() < 1e-12);
        // Starts of very different lengths are scaled, too.
        let fitted = adding_up(parts, 4.0);
        assert!((fitted.iter().sum::<f64>() - 4.0).abs() < 1e-12);
        assert_eq!(fitted[Cause::Unexplained.index()], 0.0);
        // Unexplained time is never negative.
        for whole in [-0.4, 0.0] {
            let fitted = adding_up(parts, whole);
            assert_eq!(fitted[Cause::KernelLoading.index()], 0.5);
            assert_eq!(fitted[Cause::Unexplained.index()], 0.0);
        }
        let listed = in_order(&parts);
        assert_eq!(listed.len(), 2);
        assert!(listed.iter().any(|part| part.seconds < 0.0));
        assert_eq!(adding_up([0.0; CAUSES], 1.0), [0.0; CAUSES]);
    }
}
