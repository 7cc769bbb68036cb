//! A list of numbers, which is one start, or a list of such lists.

use preheat_model::classify::{Format, Measures};

use super::pull::{Json, Kind};
use super::{Reading, time, times};
use crate::Result;
use crate::starts::Starts;

/// The starts read so far.
#[derive(Default)]
pub(super) struct Plain {
    starts: Starts,
    /// The type of the elements.
    of: Option<Kind>,
}

impl Plain {
    pub fn is_empty(&self) -> bool {
        self.of.is_none()
    }

    /// Reads one element of the outer list.
    pub fn add(&mut self, json: &mut Json, at: usize, reading: &mut Reading) -> Result<()> {
        let in_a_second = reading.settings.unit.unwrap_or_default().in_a_second();
        let kind = json.kind()?;
        if at > 0 && self.of != Some(kind) && matches!(kind, Kind::Number | Kind::Array) {
            return Err(json.fail("numbers and lists are mixed in this list"));
        }
        self.of = Some(kind);
        if kind != Kind::Array {
            return time(json, &mut self.starts, in_a_second, &mut reading.quota);
        }
        (self.starts.begin(&mut reading.quota)).map_err(|why| json.fail(why))?;
        times(json, &mut self.starts, in_a_second, &mut reading.quota)?;
        if self.starts.last_is_empty() {
            return Err(json.fail("this start has no iterations"));
        }
        (self.starts.mixed(reading.settings)).map_err(|why| json.fail(why))
    }

    /// Delivers the benchmark.
    pub fn finish(self, json: &Json, reading: &mut Reading) -> Result<()> {
        let name = reading.settings.name.clone();
        match self.starts.finish(name, Measures::Iterations, Vec::new()) {
            Some(times) => reading.deliver(json, Format::Json, times),
            None => Err(json.fail("this list is empty")),
        }
    }
}
