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
    /// The values of each start.
    pub starts: Vec<Vec<f64>>,
    seed: u64,
}

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
    pub fn unpaired(&self, numerator: &[Vec<f64>], denominator: &[Vec<f64>]) -> Option<Interval> {
        stats::unpaired_ratio(numerator, denominator, self.measured.settings.seed)
    }

    /// The series, if at least one start has it.
    pub fn series(&self, subject: &Subject, key: Key<'_>) -> Option<SeriesData> {
        let unit = self.measured.units.iter().find(|unit| {
            unit.experiment == key.experiment
                && unit.subject == *subject
                && unit.variant == key.variant
        })?;
        let all = values_by_start(unit, key.name, key.size);
        let starts = steady_starts(&all);
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

/// All starts but the first of the run, or that one if there is no other.
pub(super) fn steady_starts(all: &[(usize, Vec<f64>)]) -> Vec<Vec<f64>> {
    let later: Vec<Vec<f64>> = all
        .iter()
        .filter(|(index, _)| *index > 0)
        .map(|(_, values)| values.clone())
        .collect();
    if later.is_empty() {
        all.iter().map(|(_, values)| values.clone()).collect()
    } else {
        later
    }
}

impl SeriesData {
    /// The first value of each start.
    pub fn firsts(&self) -> Vec<Vec<f64>> {
        self.starts.iter().map(|values| vec![values[0]]).collect()
    }

    /// The steady values of each start; the later half where there is no steady state.
    pub fn steadies(&self) -> Vec<Vec<f64>> {
        self.starts
            .iter()
            .map(|values| {
                let begin = stats::summarize_start(values)
                    .and_then(|summary| summary.steady_start)
                    .unwrap_or(values.len() / 2);
                values[begin.min(values.len() - 1)..].to_vec()
            })
            .collect()
    }

    /// What the first value cost over the steady ones, in each start; never below a
    /// thousandth of the first, so that it has a logarithm.
    pub fn first_excess(&self) -> Vec<Vec<f64>> {
        let steadies = self.steadies();
        self.starts
            .iter()
            .zip(steadies)
            .map(|(values, steady)| {
                let steady = stats::median(&steady).unwrap_or(values[0]);
                vec![(values[0] - steady).max(values[0] * 1e-3)]
            })
            .collect()
    }

    /// first ÷ steady.
    pub fn first_to_steady(&self) -> Option<Interval> {
        self.paired(self.firsts(), self.steadies())
    }

    /// A ratio of two quantities of the same starts.
    pub fn paired(&self, numerator: Vec<Vec<f64>>, denominator: Vec<Vec<f64>>) -> Option<Interval> {
        let pairs: Vec<_> = numerator.into_iter().zip(denominator).collect();
        stats::paired_ratio(&pairs, self.seed)
    }

    /// The median over starts of the median of these values.
    pub fn typical(values: &[Vec<f64>]) -> f64 {
        let medians: Vec<f64> = values.iter().filter_map(|v| stats::median(v)).collect();
        stats::median(&medians).unwrap_or(f64::NAN)
    }
}
