//! Access to measurements by subject, experiment, variant and name.

use std::cell::RefCell;

use super::{Basis, ExperimentId, Measured, Sample, SampleKind, Setup, Subject};
use crate::stats::{self, Estimate};

/// The measurements of one run, and the seed for all resampling.
pub(super) struct Data<'a> {
    measured: &'a Measured,
    /// The series found since the last [`Data::take_used`].
    used: RefCell<Vec<Basis>>,
}

/// One series over its starts, without the first start if there are others: it may have run
/// with cold disks and caches.
#[derive(Clone, Debug)]
pub(super) struct SeriesData {
    /// The values of each start that has the series.
    pub starts: ByStart,
    seed: u64,
}

/// Values by start index: values from the same start belong together, even if another start
/// failed midway.
pub(super) type ByStart = Vec<(usize, Vec<f64>)>;

/// The values without their start indices.
pub(super) fn values(by_start: &ByStart) -> Vec<Vec<f64>> {
    by_start.iter().map(|(_, values)| values.clone()).collect()
}

/// Identifies a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a> {
    pub experiment: ExperimentId,
    pub variant: &'a str,
    pub name: &'a str,
    pub size: Option<u64>,
}

impl<'a> Key<'a> {
    /// A series of an experiment without variants and sizes.
    pub fn new(experiment: ExperimentId, name: &'a str) -> Key<'a> {
        Key {
            experiment,
            variant: "",
            name,
            size: None,
        }
    }

    /// The same series in a variant.
    pub fn variant(self, variant: &'a str) -> Key<'a> {
        Key { variant, ..self }
    }

    /// The same series at one size of a sweep.
    pub fn size(self, size: u64) -> Key<'a> {
        Key {
            size: Some(size),
            ..self
        }
    }
}

impl<'a> Data<'a> {
    pub fn new(measured: &'a Measured) -> Data<'a> {
        Data {
            measured,
            used: RefCell::default(),
        }
    }

    /// The series found since the last call, each once.
    pub fn take_used(&self) -> Vec<Basis> {
        self.used.take()
    }

    /// The memory of a device, in bytes.
    pub fn memory_of(&self, device: &str) -> Option<u64> {
        let mut devices = self.measured.devices.iter();
        Some(devices.find(|known| known.kind == device)?.memory)
    }

    /// All planned subjects, each once, in the order of the run.
    pub fn subjects(&self) -> Vec<&'a Subject> {
        let mut subjects: Vec<&Subject> = Vec::new();
        for setup in &self.measured.setups {
            if !subjects.contains(&&setup.subject) {
                subjects.push(&setup.subject);
            }
        }
        subjects
    }

    /// A ratio of two quantities from different starts.
    pub fn unpaired(&self, numerator: &ByStart, denominator: &ByStart) -> Option<Estimate> {
        let seed = self.measured.settings.seed;
        stats::unpaired_ratio(&values(numerator), &values(denominator), seed)
    }

    /// The series, if at least one start has it.
    pub fn series(&self, subject: &Subject, key: Key<'_>) -> Option<SeriesData> {
        let setup = self.measured.setups.iter().find(|setup| {
            setup.experiment == key.experiment
                && setup.subject == *subject
                && setup.variant == key.variant
        })?;
        let all = values_by_start(setup, key.name, key.size);
        let series = SeriesData::new(later_starts(all), self.measured.settings.seed)?;
        let basis = Basis {
            experiment: key.experiment,
            variant: key.variant.to_owned(),
            series: key.name.to_owned(),
            size: key.size,
            starts: series.starts.len(),
        };
        let mut used = self.used.borrow_mut();
        if !used.contains(&basis) {
            used.push(basis);
        }
        Some(series)
    }
}

/// The values of a series in each start that has it, with the start's index.
pub(super) fn values_by_start(
    setup: &Setup,
    name: &str,
    size: Option<u64>,
) -> Vec<(usize, Vec<f64>)> {
    let matches = |sample: &&Sample| sample.name == name && sample.size == size;
    setup
        .starts
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

/// All starts except the setup's first, or only that one if no other has the series.
pub(super) fn later_starts(mut all: ByStart) -> ByStart {
    if all.iter().any(|(index, _)| *index > 0) {
        all.retain(|(index, _)| *index > 0);
    }
    all
}

impl SeriesData {
    /// The series of these starts; `None` without any.
    pub fn new(starts: ByStart, seed: u64) -> Option<SeriesData> {
        (!starts.is_empty()).then_some(SeriesData { starts, seed })
    }

    fn each(&self, of: impl Fn(&[f64]) -> Vec<f64>) -> ByStart {
        let starts = self.starts.iter();
        starts.map(|(index, values)| (*index, of(values))).collect()
    }

    /// The first value of each start that [`SeriesData::steadies`] includes.
    pub fn firsts(&self) -> ByStart {
        let counted = self.steady_from();
        let mut firsts = self.each(|values| vec![values[0]]);
        firsts.retain(|(index, _)| counted.iter().any(|(other, _)| other == index));
        firsts
    }

    /// The second value of each start that has one.
    pub fn seconds(&self) -> ByStart {
        let mut seconds = self.each(|values| values.iter().skip(1).take(1).copied().collect());
        seconds.retain(|(_, values)| !values.is_empty());
        seconds
    }

    /// The steady values of each start, always without the first. Starts without a steady
    /// state are omitted if enough others have one; otherwise, the later half of each such
    /// start is used instead.
    pub fn steadies(&self) -> ByStart {
        let values = |index: usize| {
            let found = self.starts.iter().find(|(other, _)| *other == index);
            found.map_or(&[][..], |(_, values)| values)
        };
        self.steady_from()
            .into_iter()
            .map(|(index, begin)| (index, values(index)[begin..].to_vec()))
            .collect()
    }

    /// The starts that count, with the index of their first steady value.
    fn steady_from(&self) -> Vec<(usize, usize)> {
        let begins: Vec<Option<usize>> = self.starts.iter().map(|of| settles_at(&of.1)).collect();
        let enough = begins.iter().flatten().count() >= stats::MIN_STARTS;
        let starts = self.starts.iter().zip(begins);
        starts
            .filter(|(_, begin)| begin.is_some() || !enough)
            .map(|((index, values), begin)| {
                let begin = begin.unwrap_or(values.len() / 2).max(1);
                (*index, begin.min(values.len() - 1))
            })
            .collect()
    }

    /// Returns true if at least one start has a steady state.
    pub fn settles(&self) -> bool {
        self.starts.iter().any(|of| settles_at(&of.1).is_some())
    }

    /// The mean of all but the first value of each start: a pool that grows in large steps
    /// makes most allocations cheap and some expensive.
    pub fn later(&self) -> ByStart {
        self.each(|values| {
            let later = &values[1.min(values.len() - 1)..];
            vec![later.iter().sum::<f64>() / later.len() as f64]
        })
    }

    /// The cost of the first value beyond the steady ones, in each start; at least a
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
    pub fn first_to_steady(&self) -> Option<Estimate> {
        self.paired(&self.firsts(), &self.steadies())
    }

    /// A ratio of two quantities from the same starts.
    pub fn paired(&self, numerator: &ByStart, denominator: &ByStart) -> Option<Estimate> {
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

    /// The typical value over starts: the geometric mean of their medians, so that a ratio
    /// of two typical values is the typical ratio.
    pub fn typical(by_start: &ByStart) -> f64 {
        stats::geometric_mean(&values(by_start)).unwrap_or(f64::NAN)
    }
}

fn settles_at(values: &[f64]) -> Option<usize> {
    stats::summarize_start(values)?.steady_start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_failed_midway_does_not_shift_pairs() {
        let series = |starts: &[usize]| SeriesData {
            starts: starts.iter().map(|&i| (i, vec![i as f64; 5])).collect(),
            seed: 1,
        };
        let (whole, cut) = (series(&[1, 2, 3, 4]), series(&[1, 3, 4]));
        let ratio = whole
            .paired(&whole.steadies(), &cut.steadies())
            .expect("three pairs");
        assert_eq!(
            (ratio.value, ratio.low, ratio.high),
            (1.0, Some(1.0), Some(1.0))
        );
    }
}
