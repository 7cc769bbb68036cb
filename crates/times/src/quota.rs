//! Limits on the benchmarks, times and text in memory, whatever a file contains.

use crate::error::Problem;

/// The maximum number of benchmarks in a file.
const MOST_BENCHMARKS: usize = 100_000;
/// The maximum number of times in memory at once: 128 MiB.
const MOST_TIMES: usize = 1 << 24;
/// The overhead of a start, counted in times: many starts have only one.
const A_START: usize = 8;
/// The maximum size of names and notes in memory at once, in bytes.
const MOST_TEXT: usize = 32 << 20;
/// The overhead of a text in bytes: many texts are empty.
const A_TEXT: usize = 48;
/// The maximum size of a composed name, in bytes.
const LONGEST_NAME: usize = 1 << 20;

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
            text_left: MOST_TEXT,
        }
    }
}

impl Quota {
    /// The limits for the parts of a single name.
    pub fn for_name() -> Quota {
        Quota {
            text_left: LONGEST_NAME,
            ..Quota::default()
        }
    }

    /// Counts a benchmark.
    pub fn benchmark(&mut self) -> Result<(), Problem> {
        if self.benchmarks == MOST_BENCHMARKS {
            return Err(Problem::ManyBenchmarks(MOST_BENCHMARKS));
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
        if self.times + times > MOST_TIMES {
            return Err(Problem::ManyTimes(MOST_TIMES));
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
        (0..MOST_BENCHMARKS).for_each(|_| quota.benchmark().unwrap());
        assert_eq!(quota.benchmark(), Err(Problem::ManyBenchmarks(100_000)));
        (0..MOST_TIMES / A_START).for_each(|_| quota.start().unwrap());
        assert_eq!(quota.time(), Err(Problem::ManyTimes(MOST_TIMES)));
        let mut quota = Quota::for_name();
        let long = "x".repeat(LONGEST_NAME - A_TEXT);
        quota.text(&long).unwrap();
        assert_eq!(quota.text(""), Err(Problem::MuchText));
    }
}
