//! Measures the quantities of a recorded program, with 95 % intervals.
//!
//! Everything is computed from the starts, by the same rules as in the run report: starts
//! that reached their first iteration count, and the very first start only if there are no
//! others.

use super::error::NotMeasured;
use preheat_model::Quantity;

use super::{Limited, Measured};
use crate::run::{
    Cause, Counted, DeviceBytes, RunReport, StartReport, Temperature, counted, temperatures,
    warmest,
};
use crate::stats::{Estimate, SeriesSummary, firsts, interval, mean_interval, summarize};

/// All measured quantities of the warmest starts, and the time to first of colder ones.
pub fn measured(report: &RunReport) -> Vec<Measured> {
    Samples::of(report).all()
}

/// The starts by temperature, each evaluated once.
pub(super) struct Samples<'a> {
    report: &'a RunReport,
    made: Vec<(Temperature, Result<Sample<'a>, NotMeasured>)>,
}

impl<'a> Samples<'a> {
    pub(super) fn of(report: &'a RunReport) -> Self {
        Samples {
            report,
            made: Vec::new(),
        }
    }

    pub(super) fn report(&self) -> &'a RunReport {
        self.report
    }

    /// Measures one quantity, of the warmest starts if no temperature is given.
    pub(super) fn measure(
        &mut self,
        of: impl Into<Limited>,
        at: Option<Temperature>,
    ) -> Result<Measured, NotMeasured> {
        let warmest = || warmest(&self.report.starts);
        let temperature = at.or_else(warmest).ok_or(NotMeasured::NoStart)?;
        let known = self.made.iter().position(|(made, _)| *made == temperature);
        let known = known.unwrap_or_else(|| {
            let sample = Sample::of(self.report, temperature);
            self.made.push((temperature, sample));
            self.made.len() - 1
        });
        match &self.made[known].1 {
            Ok(sample) => sample.measure(of),
            Err(why) => Err(why.clone()),
        }
    }

    pub(super) fn all(&mut self) -> Vec<Measured> {
        let warmest = warmest(&self.report.starts);
        let mut all = Vec::new();
        for temperature in temperatures(&self.report.starts) {
            let causes = Cause::ALL.map(Limited::Cause);
            let quantities = Quantity::ALL.map(Limited::Quantity);
            let quantities = quantities.into_iter().chain(causes);
            let wanted = quantities
                .filter(|of| *of == Quantity::TimeToFirst || Some(temperature) == warmest);
            let found = wanted.filter_map(|of| self.measure(of, Some(temperature)).ok());
            // Causes without any time are omitted.
            let present = |found: &Measured| match found.of {
                Limited::Cause(_) => found.value.value > 0.0,
                Limited::Quantity(_) => true,
            };
            all.extend(found.filter(present));
        }
        all
    }
}

/// The starts of one temperature that count.
pub(super) struct Sample<'a> {
    temperature: Temperature,
    starts: Vec<&'a StartReport>,
    /// True if they were recorded; otherwise only their total duration is known.
    recorded: bool,
    series: Vec<Vec<f64>>,
    summary: Option<SeriesSummary>,
    seed: u64,
    /// The report's device memory, if it is about these starts.
    device: Option<&'a DeviceBytes>,
}

impl<'a> Sample<'a> {
    /// Collects the starts of a temperature; the error is the reason why there are none.
    pub(super) fn of(report: &'a RunReport, temperature: Temperature) -> Result<Self, NotMeasured> {
        let made = |start: &StartReport| start.temperature == temperature;
        if !report.starts.iter().any(made) {
            return Err(NotMeasured::NotAt(temperature));
        }
        let seed = report.settings.seed;
        let Counted {
            starts, recorded, ..
        } = counted(&report.starts, temperature);
        // The end of the program replaces the first iteration only if nothing repeats.
        if !recorded && starts.iter().any(|start| start.damaged) {
            return Err(NotMeasured::Damaged);
        }
        let series: Vec<Vec<f64>> = (starts.iter())
            .filter(|start| !start.iterations.is_empty())
            .map(|start| start.iterations.clone())
            .collect();
        Ok(Sample {
            temperature,
            recorded,
            summary: summarize(&series, seed),
            starts,
            series,
            seed,
            device: (warmest(&report.starts) == Some(temperature))
                .then_some(report.memory.device.as_ref())
                .flatten(),
        })
    }

    /// Measures one quantity; the error is the reason why it is unknown.
    pub(super) fn measure(&self, of: impl Into<Limited>) -> Result<Measured, NotMeasured> {
        let of = of.into();
        let (value, starts) = match of {
            Limited::Quantity(quantity) => self.quantity(quantity)?,
            Limited::Cause(cause) => self.cause(cause)?,
        };
        Ok(Measured {
            of,
            temperature: self.temperature,
            value,
            starts,
        })
    }

    fn quantity(&self, of: Quantity) -> Result<(Estimate, usize), NotMeasured> {
        let found = match of {
            Quantity::TimeToFirst => self.times().ok_or(NotMeasured::Unfinished)?,
            Quantity::First
            | Quantity::Steady
            | Quantity::Ratio
            | Quantity::Warmup
            | Quantity::Excess => self.iterations(of)?,
            Quantity::DeviceMemory => self
                .bytes(|start| start.peak_device)
                .or_else(|| self.device_of_report())
                .ok_or(NotMeasured::NoDeviceMemory)?,
            Quantity::HostMemory => self
                .bytes(|start| Some(start.peak_resident))
                .ok_or(NotMeasured::NoHostMemory)?,
        };
        Ok(found)
    }

    /// The times to first; without recorded starts, the times to the end.
    fn times(&self) -> Option<(Estimate, usize)> {
        let time = |start: &&StartReport| match self.recorded {
            true => start.time_to_first,
            false => Some(start.wall),
        };
        let times = self.starts.iter().filter_map(time);
        self.over(times.map(|time| vec![time]).collect())
    }

    fn iterations(&self, of: Quantity) -> Result<(Estimate, usize), NotMeasured> {
        let Some(summary) = &self.summary else {
            return Err(NotMeasured::NoIterations);
        };
        let steady = || {
            let with = self.series.iter().zip(&summary.starts);
            with.filter_map(|(values, start)| Some((values, start, start.steady_start?)))
        };
        let count = steady().count();
        let found = match of {
            Quantity::First => {
                let firsts = firsts(&summary.starts).into_iter();
                self.over(firsts.map(|first| vec![first]).collect())
            }
            Quantity::Steady => self.over(
                steady()
                    .map(|(values, _, at)| values[at.max(1)..].to_vec())
                    .collect(),
            ),
            Quantity::Ratio => summary.ratio.map(|ratio| (ratio, count)),
            Quantity::Warmup => {
                let counts: Vec<f64> = steady().map(|(_, _, at)| at as f64).collect();
                mean_interval(&counts).map(|found| (never_below_zero(found), count))
            }
            _ => {
                let excesses: Vec<f64> =
                    steady().filter_map(|(_, start, _)| start.excess).collect();
                mean_interval(&excesses).map(|found| (found, count))
            }
        };
        found.ok_or(NotMeasured::NoSteadyState)
    }

    fn bytes(&self, of: impl Fn(&StartReport) -> Option<u64>) -> Option<(Estimate, usize)> {
        let sizes = self.starts.iter().filter_map(|start| of(start));
        let known = sizes.filter(|bytes| *bytes > 0);
        let (found, count) = self.over(known.map(|bytes| vec![bytes as f64]).collect())?;
        // Means of logarithms leave fractions of a byte.
        let whole = Estimate {
            value: found.value.round(),
            low: found.low.map(f64::round),
            high: found.high.map(f64::round),
        };
        Some((whole, count))
    }

    /// Fallback for documents written before each start had its own value.
    fn device_of_report(&self) -> Option<(Estimate, usize)> {
        let device = self.device?;
        let most = device.first_peak.max(device.steady_peak.unwrap_or(0));
        (most > 0)
            .then(|| self.over(vec![vec![most as f64]]))
            .flatten()
    }

    fn over(&self, values: Vec<Vec<f64>>) -> Option<(Estimate, usize)> {
        interval(&values, self.seed).map(|found| (found, values.len()))
    }

    /// A cause as the report computes it, from its shares of each start's time; the
    /// interval is that of its seconds.
    fn cause(&self, cause: Cause) -> Result<(Estimate, usize), NotMeasured> {
        let all = |start: &StartReport| start.causes.iter().map(|part| part.seconds).sum::<f64>();
        let with: Vec<&StartReport> = (self.starts.iter().copied())
            .filter(|start| all(start) > 0.0)
            .collect();
        let of = |start: &StartReport| {
            let parts = start.causes.iter().filter(|part| part.cause == cause);
            parts.map(|part| part.seconds).sum::<f64>()
        };
        let seconds: Vec<f64> = with.iter().map(|start| of(start)).collect();
        let found = mean_interval(&seconds).zip(self.times());
        let Some((found, (time, _))) = found.filter(|_| self.recorded) else {
            return Err(NotMeasured::NoCauses);
        };
        let shares: f64 = with.iter().map(|start| of(start) / all(start)).sum();
        let value = shares / with.len() as f64 * time.value;
        let found = Estimate {
            value,
            low: found.low.map(|low| low.min(value)),
            high: found.high.map(|high| high.max(value)),
        };
        Ok((never_below_zero(found), with.len()))
    }
}

fn never_below_zero(found: Estimate) -> Estimate {
    Estimate {
        low: found.low.map(|low| low.max(0.0)),
        ..found
    }
}
