//! What was measured, ready to be asked: by subject, experiment, variant and name.

use super::{ExperimentId, Measured, Sample, SampleKind, Subject, Unit};
use crate::stats::{self, Interval};

/// The measurements of one run, and the seed for all resampling.
pub(super) struct Data<'a> {
    measured: &'a Measured,
}

/// One series over its starts, the first start left out where there are others: it
/// may have found cold disks and caches.
#[derive(Clone, Debug)]
pub(super) struct SeriesData {
    /// The values of each start that has the series.
    pub starts: ByStart,
    seed: u64,
}

/// Values by the index of their start: what comes from one start belongs together,
/// also where another start failed half-way.
pub(super) type ByStart = Vec<(usize, Vec<f64>)>;

/// The values without their starts.
pub(super) fn values(by_start: &ByStart) -> Vec<Vec<f64>> {
    by_start.iter().map(|(_, values)| values.clone()).collect()
}

/// Starts that an interval needs.
const ENOUGH: usize = 3;

/// Which series is meant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a> {
    pub experiment: ExperimentId,
    pub variant: &'a str,
    pub name: &'a str,
    pub size: Option<u64>,
}

impl<'a> Key<'a> {
    /// A series of an experiment that has neither variants nor sizes.
    pub fn new(experiment: ExperimentId, name: &'a str) -> Key<'a> {
        Key {
            experiment,
            variant: "",
            name,
            size: None,
        }
    }

    /// The same in a variant.
    pub fn variant(self, variant: &'a str) -> Key<'a> {
        Key { variant, ..self }
    }

    /// The same at one size of a sweep.
    pub fn size(self, size: u64) -> Key<'a> {
        Key {
            size: Some(size),
            ..self
        }
    }
}

impl<'a> Data<'a> {
    pub fn new(measured: &'a Measured) -> Data<'a> {
        Data { measured }
    }

    /// Everything on which something was planned, each once, in the order of the run.
    pub fn subjects(&self) -> Vec<&'a Subject> {
        let mut subjects: Vec<&Subject> = Vec::new();
        for unit in &self.measured.units {
            if !subjects.contains(&&unit.subject) {
                subjects.push(&unit.subject);
            }
        }
        subjects
    }

    /// A ratio of two quantities of different starts.
    pub fn unpaired(&self, numerator: &ByStart, denominator: &ByStart) -> Option<Interval> {
        let seed = self.measured.settings.seed;
        stats::unpaired_ratio(&values(numerator), &values(denominator), seed)
    }

    /// The series, if at least one start has it.
    pub fn series(&self, subject: &Subject, key: Key<'_>) -> Option<SeriesData> {
        let unit = self.measured.units.iter().find(|unit| {
            unit.experiment == key.experiment
                && unit.subject == *subject
                && unit.variant == key.variant
        })?;
        let all = values_by_start(unit, key.name, key.size);
        let starts = later_starts(all);
        (!starts.is_empty()).then_some(SeriesData {
            starts,
            seed: self.measured.settings.seed,
        })
    }
}

/// The values of a series in each start that has it, with the start's index.
pub(super) fn values_by_start(
    unit: &Unit,
    name: &str,
    size: Option<u64>,
) -> Vec<(usize, Vec<f64>)> {
    let matches = |sample: &&Sample| sample.name == name && sample.size == size;
    unit.starts
        .iter()
        .enumerate()
        .filter_map(|(index, start)| {
            let sample = start.samples.iter().find(matches)?;
            let usable =
                !sample.values.is_empty() && sample.values.iter().all(|v| usable(sample.kind, *v));
            usable.then(|| (index, sample.values.clone()))
        })
        .collect()
}

/// A time must be positive to have a logarithm; bytes and counts may be zero.
fn usable(kind: SampleKind, value: f64) -> bool {
    match kind {
        SampleKind::Iterations | SampleKind::Stage => value.is_finite() && value > 0.0,
        SampleKind::Memory | SampleKind::Count => value.is_finite(),
    }
}

/// All starts but the unit's first, or that one if no other has the series.
pub(super) fn later_starts(mut all: ByStart) -> ByStart {
    if all.iter().any(|(index, _)| *index > 0) {
        all.retain(|(index, _)| *index > 0);
    }
    all
}

impl SeriesData {
    fn each(&self, of: impl Fn(&[f64]) -> Vec<f64>) -> ByStart {
        let starts = self.starts.iter();
        starts.map(|(index, values)| (*index, of(values))).collect()
    }

    /// The first value of each start.
    pub fn firsts(&self) -> ByStart {
        self.each(|values| vec![values[0]])
    }

    /// The second value of each start that has one.
    pub fn seconds(&self) -> ByStart {
        let mut seconds = self.each(|values| values.iter().skip(1).take(1).copied().collect());
        seconds.retain(|(_, values)| !values.is_empty());
        seconds
    }

    /// The steady values of each start, never the first. A start without a steady state
    /// is left out where enough others have one, as in the series' own summary; where
    /// they do not, the later half of each such start stands for it.
    pub fn steadies(&self) -> ByStart {
        let begins: Vec<Option<usize>> = self
            .starts
            .iter()
            .map(|(_, values)| stats::summarize_start(values)?.steady_start)
            .collect();
        let enough = begins.iter().flatten().count() >= ENOUGH;
        let starts = self.starts.iter().zip(begins);
        starts
            .filter(|(_, begin)| begin.is_some() || !enough)
            .map(|((index, values), begin)| {
                let begin = begin.unwrap_or(values.len() / 2).max(1);
                (*index, values[begin.min(values.len() - 1)..].to_vec())
            })
            .collect()
    }

    /// What the first value cost over the steady ones, in each start; never below a
    /// thousandth of the first, so that it has a logarithm.
    pub fn first_excess(&self) -> ByStart {
        let first = |index: usize| Some(self.starts.iter().find(|(i, _)| *i == index)?.1[0]);
        self.steadies()
            .into_iter()
            .filter_map(|(index, steady)| {
                let (first, steady) = (first(index)?, stats::median(&steady)?);
                Some((index, vec![(first - steady).max(first * 1e-3)]))
            })
            .collect()
    }

    /// first ÷ steady.
    pub fn first_to_steady(&self) -> Option<Interval> {
        self.paired(&self.firsts(), &self.steadies())
    }

    /// A ratio of two quantities of the same starts.
    pub fn paired(&self, numerator: &ByStart, denominator: &ByStart) -> Option<Interval> {
        let of_the_same = |index: usize| {
            let found = denominator.iter().find(|(other, _)| *other == index)?;
            Some(found.1.clone())
        };
        let pairs: Vec<(Vec<f64>, Vec<f64>)> = numerator
            .iter()
            .filter_map(|(index, values)| Some((values.clone(), of_the_same(*index)?)))
            .collect();
        stats::paired_ratio(&pairs, self.seed)
    }

    /// What is typical over starts: the geometric mean of their medians, so that a
    /// ratio of two typical values is the typical ratio.
    pub fn typical(by_start: &ByStart) -> f64 {
        stats::geometric_mean(&values(by_start)).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_failed_half_way_shifts_no_pair() {
        let series = |starts: &[usize]| SeriesData {
            starts: starts.iter().map(|&i| (i, vec![i as f64; 5])).collect(),
            seed: 1,
        };
        let (whole, cut) = (series(&[1, 2, 3, 4]), series(&[1, 3, 4]));
        let ratio = whole
            .paired(&whole.steadies(), &cut.steadies())
            .expect("three pairs");
        assert_eq!(
            (ratio.median, ratio.low, ratio.high),
            (1.0, Some(1.0), Some(1.0))
        );
    }
}
