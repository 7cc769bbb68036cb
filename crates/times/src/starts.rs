//! The starts of one benchmark while they are read, and how many there may be.

use preheat_analyze::classify::{MOST_STARTS, Measures, Times};

use crate::Settings;
use crate::held::Held;

/// The most iterations of one start. Finding where it settles takes time that grows with their
/// square: this many take twenty seconds.
const MOST_ITERATIONS: usize = 1 << 18;
/// The most squares of iterations that the starts of a benchmark have together: eight of the
/// longest, so that it is judged within minutes.
const MOST_WORK: usize = 8 * MOST_ITERATIONS * MOST_ITERATIONS;

/// Starts, time by time. Errors are sentences without a place: who reads knows it.
#[derive(Default)]
pub(crate) struct Starts {
    starts: Vec<Vec<f64>>,
    /// Starts that ended before their first iteration.
    crashed: usize,
    /// The squares of their iterations, together.
    work: usize,
}

impl Starts {
    /// Begins a start.
    pub fn begin(&mut self, held: &mut Held) -> Result<(), String> {
        if self.starts.len() == MOST_STARTS {
            return Err(format!(
                "a benchmark has at most {MOST_STARTS} starts here; leave some out"
            ));
        }
        held.start()?;
        self.starts.push(Vec::new());
        Ok(())
    }

    /// Adds a time to the start that began last, to the first if none began.
    pub fn push(&mut self, seconds: f64, held: &mut Held) -> Result<(), String> {
        if self.starts.is_empty() {
            self.begin(held)?;
        }
        let Some(start) = self.starts.last_mut() else {
            return Ok(());
        };
        if start.len() == MOST_ITERATIONS {
            return Err(format!(
                "a start has at most {MOST_ITERATIONS} iterations here; give the first of them"
            ));
        }
        held.time()?;
        // From one square to the next.
        self.work += 2 * start.len() + 1;
        if self.work > MOST_WORK {
            return Err(format!(
                "{} starts of so many iterations would take many minutes to judge; give fewer \
                 starts, or the first iterations of each",
                self.starts.len()
            ));
        }
        start.push(seconds);
        Ok(())
    }

    /// Adds what another one holds, already counted, to the start that began last.
    pub fn append(&mut self, other: Starts) -> Result<(), String> {
        let mut times = other.starts.into_iter().flatten();
        times.try_for_each(|seconds| self.push(seconds, &mut Held::default()))
    }

    /// Whether the start that began last has no iterations, or none began.
    pub fn last_is_empty(&self) -> bool {
        self.starts.last().is_none_or(Vec::is_empty)
    }

    /// Takes the start that began last for one that crashed, if it has no iterations.
    pub fn end_crashed(&mut self) {
        if self.starts.pop_if(|start| start.is_empty()).is_some() {
            self.crashed += 1;
        }
    }

    /// What is wrong if the start that began last is not as long as the first.
    pub fn mixed(&self, settings: &Settings) -> Result<(), String> {
        let length = |start: Option<&Vec<f64>>| start.map_or(0, Vec::len);
        let (first, last) = (length(self.starts.first()), length(self.starts.last()));
        if first == last || settings.mixed_lengths {
            return Ok(());
        }
        let iterations = if last == 1 { "iteration" } else { "iterations" };
        Err(format!(
            "start {} has {last} {iterations} and the first has {first}: was one cut off? \
             --mixed-lengths takes starts as long as they are",
            self.starts.len()
        ))
    }

    /// The benchmark; none if no start has iterations.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_bounds() {
        let mut held = Held::default();
        let mut starts = Starts::default();
        for _ in 0..MOST_ITERATIONS {
            starts.push(1.0, &mut held).unwrap();
        }
        let said = starts.push(1.0, &mut held).unwrap_err();
        assert!(said.contains("262144 iterations"), "{said}");
        for _ in 1..8 {
            starts.begin(&mut held).unwrap();
            (0..MOST_ITERATIONS).for_each(|_| starts.push(1.0, &mut held).unwrap());
        }
        starts.begin(&mut held).unwrap();
        let said = starts.push(1.0, &mut held).unwrap_err();
        assert!(said.starts_with("9 starts of so many"), "{said}");
        let mut starts = Starts::default();
        (0..MOST_STARTS).for_each(|_| starts.begin(&mut held).unwrap());
        assert!(
            starts
                .begin(&mut held)
                .unwrap_err()
                .contains("10000 starts")
        );
    }

    #[test]
    fn crashed_starts_are_counted_and_left_out() {
        let mut held = Held::default();
        let mut starts = Starts::default();
        starts.begin(&mut held).unwrap();
        starts.end_crashed();
        starts.begin(&mut held).unwrap();
        starts.push(1.0, &mut held).unwrap();
        starts.end_crashed();
        starts.begin(&mut held).unwrap();
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
}
