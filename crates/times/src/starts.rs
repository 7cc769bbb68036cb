//! Collects the starts of one benchmark, within limits.

use preheat_model::classify::{MAX_STARTS, Measures, Times};

use crate::Settings;
use crate::error::Problem;

/// The maximum number of iterations in a start. The time to find the steady state grows
/// with the square of the iterations: this many need twenty seconds.
const MAX_ITERATIONS: usize = 1 << 18;
/// The maximum sum of squared iteration counts of a benchmark's starts: eight of the
/// longest, so that classification takes minutes at most.
const MAX_WORK: usize = 8 * MAX_ITERATIONS * MAX_ITERATIONS;

/// Starts, filled time by time.
#[derive(Default)]
pub(crate) struct Starts {
    starts: Vec<Vec<f64>>,
    /// Starts that ended before their first iteration.
    crashed: usize,
    /// The sum of the squared iteration counts.
    work: usize,
}

impl Starts {
    /// Begins a start.
    pub fn begin(&mut self, quota: &mut Quota) -> Result<(), Problem> {
        if self.starts.len() == MAX_STARTS {
            return Err(Problem::ManyStarts(MAX_STARTS));
        }
        quota.start()?;
        self.starts.push(Vec::new());
        Ok(())
    }

    /// Adds a time to the last start; begins the first start if there is none.
    pub fn push(&mut self, seconds: f64, quota: &mut Quota) -> Result<(), Problem> {
        if self.starts.is_empty() {
            self.begin(quota)?;
        }
        let Some(start) = self.starts.last_mut() else {
            return Ok(());
        };
        if start.len() == MAX_ITERATIONS {
            return Err(Problem::ManyIterations(MAX_ITERATIONS));
        }
        quota.time()?;
        // The difference between two consecutive squares.
        self.work += 2 * start.len() + 1;
        if self.work > MAX_WORK {
            return Err(Problem::MuchWork {
                starts: self.starts.len(),
            });
        }
        start.push(seconds);
        Ok(())
    }

    /// Adds the times of another value, which were already counted, to the last start.
    pub fn append(&mut self, other: Starts) -> Result<(), Problem> {
        let mut times = other.starts.into_iter().flatten();
        times.try_for_each(|seconds| self.push(seconds, &mut Quota::default()))
    }

    /// Returns true if the last start has no iterations, or there is none.
    pub fn last_is_empty(&self) -> bool {
        self.starts.last().is_none_or(Vec::is_empty)
    }

    /// Marks the last start as crashed, if it has no iterations.
    pub fn end_crashed(&mut self) {
        if self.starts.pop_if(|start| start.is_empty()).is_some() {
            self.crashed += 1;
        }
    }

    /// Checks that the last start is as long as the first.
    pub fn mixed(&self, settings: &Settings) -> Result<(), Problem> {
        let length = |start: Option<&Vec<f64>>| start.map_or(0, Vec::len);
        let (first, last) = (length(self.starts.first()), length(self.starts.last()));
        if first == last || settings.mixed_lengths {
            return Ok(());
        }
        Err(Problem::MixedLengths {
            start: self.starts.len(),
            first,
            last,
        })
    }

    /// Builds the benchmark; `None` if no start has iterations.
    pub fn finish(
        mut self,
        name: String,
        measures: Measures,
        mut notes: Vec<String>,
    ) -> Option<Times> {
        match self.crashed {
            0 => {}
            1 => notes.push("1 start has no iterations (it crashed) and is left out".to_owned()),
            n => notes.push(format!(
                "{n} starts have no iterations (they crashed) and are left out"
            )),
        }
        self.starts.retain(|start| !start.is_empty());
        (!self.starts.is_empty()).then_some(Times {
            name,
            measures,
            starts: self.starts,
            notes,
        })
    }
}

// Limits on the benchmarks, times and text in memory, whatever a file contains.

/// The maximum number of benchmarks in a file.
const MAX_BENCHMARKS: usize = 100_000;
/// The maximum number of times in memory at once: 128 MiB.
const MAX_TIMES: usize = 1 << 24;
/// The overhead of a start, counted in times: many starts have only one.
const A_START: usize = 8;
/// The maximum size of names and notes in memory at once, in bytes.
const MAX_TEXT: usize = 32 << 20;
/// The overhead of a text in bytes: many texts are empty.
const A_TEXT: usize = 48;
/// The maximum size of a composed name, in bytes.
const MAX_NAME: usize = 1 << 20;

/// Usage of all benchmarks that are incomplete or have been delivered.
pub(crate) struct Quota {
    benchmarks: usize,
    times: usize,
    /// The remaining bytes for text.
    text_left: usize,
}

impl Default for Quota {
    fn default() -> Quota {
        Quota {
            benchmarks: 0,
            times: 0,
            text_left: MAX_TEXT,
        }
    }
}

impl Quota {
    /// The limits for the parts of a single name.
    pub fn for_name() -> Quota {
        Quota {
            text_left: MAX_NAME,
            ..Quota::default()
        }
    }

    /// Counts a benchmark.
    pub fn benchmark(&mut self) -> Result<(), Problem> {
        if self.benchmarks == MAX_BENCHMARKS {
            return Err(Problem::ManyBenchmarks(MAX_BENCHMARKS));
        }
        self.benchmarks += 1;
        Ok(())
    }

    /// Counts a text.
    pub fn text(&mut self, text: &str) -> Result<(), Problem> {
        let text_left = self.text_left.checked_sub(text.len() + A_TEXT);
        self.text_left = text_left.ok_or(Problem::MuchText)?;
        Ok(())
    }

    /// Counts a start.
    pub fn start(&mut self) -> Result<(), Problem> {
        self.add(A_START)
    }

    /// Counts a time.
    pub fn time(&mut self) -> Result<(), Problem> {
        self.add(1)
    }

    fn add(&mut self, times: usize) -> Result<(), Problem> {
        if self.times + times > MAX_TIMES {
            return Err(Problem::ManyTimes(MAX_TIMES));
        }
        self.times += times;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_enforced() {
        let mut quota = Quota::default();
        let mut starts = Starts::default();
        for _ in 0..MAX_ITERATIONS {
            starts.push(1.0, &mut quota).unwrap();
        }
        let error = starts.push(1.0, &mut quota);
        assert_eq!(error, Err(Problem::ManyIterations(262_144)));
        for _ in 1..8 {
            starts.begin(&mut quota).unwrap();
            (0..MAX_ITERATIONS).for_each(|_| starts.push(1.0, &mut quota).unwrap());
        }
        starts.begin(&mut quota).unwrap();
        let error = starts.push(1.0, &mut quota);
        assert_eq!(error, Err(Problem::MuchWork { starts: 9 }));
        let mut starts = Starts::default();
        (0..MAX_STARTS).for_each(|_| starts.begin(&mut quota).unwrap());
        assert_eq!(starts.begin(&mut quota), Err(Problem::ManyStarts(10_000)));
    }

    #[test]
    fn crashed_starts_are_counted_and_left_out() {
        let mut quota = Quota::default();
        let mut starts = Starts::default();
        starts.begin(&mut quota).unwrap();
        starts.end_crashed();
        starts.begin(&mut quota).unwrap();
        starts.push(1.0, &mut quota).unwrap();
        starts.end_crashed();
        starts.begin(&mut quota).unwrap();
        starts.end_crashed();
        let times = starts
            .finish("b".to_owned(), Measures::Iterations, Vec::new())
            .unwrap();
        assert_eq!(times.starts, [[1.0]]);
        assert!(times.notes[0].starts_with("2 starts have no iterations"));
        assert!(
            Starts::default()
                .finish(String::new(), Measures::Iterations, vec![])
                .is_none()
        );
    }

    #[test]
    fn quotas_are_enforced() {
        let mut quota = Quota::default();
        (0..MAX_BENCHMARKS).for_each(|_| quota.benchmark().unwrap());
        assert_eq!(quota.benchmark(), Err(Problem::ManyBenchmarks(100_000)));
        (0..MAX_TIMES / A_START).for_each(|_| quota.start().unwrap());
        assert_eq!(quota.time(), Err(Problem::ManyTimes(MAX_TIMES)));
        let mut quota = Quota::for_name();
        let long = "x".repeat(MAX_NAME - A_TEXT);
        quota.text(&long).unwrap();
        assert_eq!(quota.text(""), Err(Problem::MuchText));
    }
}
