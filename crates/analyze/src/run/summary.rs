//! All starts of a recording together: which of them count, and what they say.

use super::examine::{Examined, seconds};
use super::path::CAUSES;
use super::{Cause, CauseSeconds, Recording, Rung, StartReport, Temperature};
use crate::stats::{Interval, SeriesSummary, interval, summarize};

/// The starts of one temperature that count.
pub(super) struct Group {
    pub temperature: Temperature,
    /// Their places among all starts.
    pub starts: Vec<usize>,
    pub time_to_first: Interval,
    /// Seconds by cause; they add up to the time to first.
    pub causes: [f64; CAUSES],
    /// What the iterations say.
    pub series: Option<SeriesSummary>,
    /// What the first iteration took beyond a steady one, by cause.
    pub excess: [f64; CAUSES],
}

/// The groups, from the warmest to the coldest; a temperature without a start that
/// counts has none.
pub(super) fn groups(recording: &Recording, examined: &[Examined]) -> Vec<Group> {
    let mut temperatures: Vec<Temperature> = (recording.manifest.starts.iter())
        .map(|start| start.temperature)
        .collect();
    temperatures.sort_unstable();
    temperatures.dedup();
    let group = |temperature| group(recording, examined, temperature);
    temperatures.into_iter().filter_map(group).collect()
}

/// Which starts of a temperature count: those that came to their first iteration. One
/// that failed counts only if it came so far, or if there is no other. The very first of
/// all may have found cold disks and caches: it counts only if it is alone.
fn counted(recording: &Recording, examined: &[Examined], temperature: Temperature) -> Vec<usize> {
    let infos = &recording.manifest.starts;
    let came_so_far: Vec<usize> = (0..examined.len())
        .filter(|at| infos[*at].temperature == temperature)
        .filter(|at| examined[*at].time_to_first.is_some_and(|time| time > 0))
        .collect();
    let good = |at: &usize| infos[*at].exit_code == 0 || !examined[*at].iterations.is_empty();
    let mut counted: Vec<usize> = came_so_far.iter().copied().filter(good).collect();
    if counted.is_empty() {
        counted = came_so_far;
    }
    if counted.len() > 1 {
        counted.retain(|at| *at != 0);
    }
    counted
}

fn group(recording: &Recording, examined: &[Examined], temperature: Temperature) -> Option<Group> {
    let seed = recording.manifest.settings.seed;
    let starts = counted(recording, examined, temperature);
    let time = |at: &usize| examined[*at].time_to_first.map(seconds);
    let times: Vec<Vec<f64>> = (starts.iter())
        .filter_map(|at| Some(vec![time(at)?]))
        .collect();
    let time_to_first = interval(&times, seed)?;
    // Each start by its shares, so that the causes add up to the time to first.
    let mut causes = [0.0; CAUSES];
    for at in &starts {
        let all: f64 = examined[*at].causes.iter().sum();
        for (sum, cause) in causes.iter_mut().zip(&examined[*at].causes) {
            *sum += cause / all.max(f64::MIN_POSITIVE) / starts.len() as f64;
        }
    }
    causes
        .iter_mut()
        .for_each(|cause| *cause *= time_to_first.median);
    let with_iterations = |at: &&usize| !examined[**at].durations.is_empty();
    let series: Vec<Vec<f64>> = (starts.iter())
        .filter(with_iterations)
        .map(|at| examined[*at].durations.clone())
        .collect();
    let excesses: Vec<&[f64; CAUSES]> = (starts.iter())
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
        series: summarize(&series, seed),
        excess: std::array::from_fn(mean),
        starts,
    })
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

    /// The start that is nearest to the typical one: it is shown.
    pub(super) fn typical(&self, examined: &[Examined]) -> Option<usize> {
        let distance = |at: &usize| {
            let time = examined[*at].time_to_first.map_or(f64::MAX, seconds);
            (time - self.time_to_first.median).abs()
        };
        let starts = self.starts.iter().copied();
        starts.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// What the first iteration took beyond a steady one, largest first.
    pub(super) fn first_excess(&self) -> Vec<CauseSeconds> {
        let mut excess = in_order(&self.excess);
        excess.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        excess
    }
}

/// Causes that took time, in the order of a program's life.
pub(super) fn in_order(causes: &[f64; CAUSES]) -> Vec<CauseSeconds> {
    let all = Cause::ALL.into_iter().zip(causes);
    all.filter(|(_, seconds)| **seconds > 0.0)
        .map(|(cause, seconds)| CauseSeconds {
            cause,
            seconds: *seconds,
        })
        .collect()
}

/// What is told of each start.
pub(super) fn starts(recording: &Recording, examined: &[Examined]) -> Vec<StartReport> {
    let infos = recording.manifest.starts.iter().enumerate();
    infos
        .zip(examined)
        .map(|((index, info), examined)| StartReport {
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
            evicted: info.evicted,
        })
        .collect()
}
