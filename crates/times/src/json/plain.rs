//! A list of numbers, which is one start, or a list of such lists.

use preheat_analyze::classify::{Format, Measures};

use super::pull::{Json, Kind};
use super::{Reading, time, times};
use crate::Result;
use crate::starts::Starts;

/// What was read of it.
#[derive(Default)]
pub(super) struct Plain {
    starts: Starts,
    /// What the elements are.
    of: Option<Kind>,
}

impl Plain {
    pub fn is_empty(&self) -> bool {
        self.of.is_none()
    }

    /// An element of the outer list.
    pub fn add(&mut self, json: &mut Json, at: usize, reading: &mut Reading) -> Result<()> {
        let in_a_second = reading.settings.unit.unwrap_or_default().in_a_second();
        let kind = json.kind()?;
        if at > 0 && self.of != Some(kind) && matches!(kind, Kind::Number | Kind::Array) {
            return Err(json.fail("numbers and lists are mixed in this list"));
        }
        self.of = Some(kind);
        if kind != Kind::Array {
            return time(json, &mut self.starts, in_a_second, &mut reading.held);
        }
        (self.starts.begin(&mut reading.held)).map_err(|why| json.fail(why))?;
        times(json, &mut self.starts, in_a_second, &mut reading.held)?;
        if self.starts.last_is_empty() {
            return Err(json.fail("this start has no iterations"));
        }
        (self.starts.mixed(reading.settings)).map_err(|why| json.fail(why))
    }

    /// All of it is there.
    pub fn finish(self, json: &Json, reading: &mut Reading) -> Result<()> {
        let name = reading.settings.name.clone();
        match self.starts.finish(name, Measures::Iterations, Vec::new()) {
            Some(times) => reading.give(json, Format::Json, times),
            None => Err(json.fail("this list is empty")),
        }
    }
}
