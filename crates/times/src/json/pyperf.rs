//! pyperf JSON: `{"benchmarks": [{"runs": [{"warmups": [[loops, time], …], "values": […]}],
//! "metadata": …}], "metadata": …}`, in seconds.
//!
//! A run is a start, and its warm-ups are its first iterations. A run without values only
//! calibrated the number of loops and is not a start. The metadata shared by all benchmarks
//! comes after them, so all benchmarks stay in memory until it is known.

use preheat_model::classify::{Format, Measures};

use super::pull::{Json, Kind};
use super::{Reading, own_unit, stored_text, time, times};
use crate::Result;
use crate::error::quoted;
use crate::starts::{Quota, Starts};

/// The benchmarks read so far.
#[derive(Default)]
pub(super) struct Pyperf {
    benchmarks: Vec<Entry>,
    common: Metadata,
}

#[derive(Default)]
struct Entry {
    starts: Starts,
    own: Metadata,
    calibrations: usize,
    /// The largest number of loops of any warm-up.
    loops: f64,
}

#[derive(Default)]
struct Metadata {
    name: Option<String>,
    unit: Option<String>,
    loops: Option<f64>,
}

impl Pyperf {
    /// Reads the list of benchmarks.
    pub fn benchmarks(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        own_unit(json, Format::Pyperf, reading.settings)?;
        json.array(|json, _| {
            (reading.quota.benchmark()).map_err(|why| json.fail(why))?;
            let mut entry = Entry::default();
            let mut has_runs = false;
            json.object(|json, key| match key {
                "metadata" => metadata(json, &mut entry.own, &mut reading.quota),
                "runs" => {
                    has_runs = true;
                    json.array(|json, _| entry.run(json, reading))
                }
                _ => json.skip(),
            })?;
            if !has_runs {
                return Err(json.fail("this benchmark has no runs, unlike pyperf results"));
            }
            self.benchmarks.push(entry);
            Ok(())
        })
    }

    /// Reads the metadata that all benchmarks share.
    pub fn metadata(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        metadata(json, &mut self.common, &mut reading.quota)
    }

    /// Delivers all benchmarks.
    pub fn finish(self, json: &Json, reading: &mut Reading) -> Result<()> {
        for (at, entry) in self.benchmarks.into_iter().enumerate() {
            let (own, common) = (entry.own, &self.common);
            let name = own.name.or_else(|| common.name.clone());
            let name = name.unwrap_or_else(|| reading.settings.name.clone());
            let unit = own.unit.as_ref().or(common.unit.as_ref());
            if let Some(unit) = unit.filter(|unit| *unit != "second") {
                return Err(json.fail(format!(
                    "benchmark {}, {}, is measured in {}, which is not a unit of time",
                    at + 1,
                    quoted(name.as_bytes()),
                    quoted(unit.as_bytes())
                )));
            }
            let loops = own.loops.or(common.loops).unwrap_or(1.0).max(entry.loops);
            let mut notes = Vec::new();
            if loops > 1.0 {
                notes.push(
                    "each time is the mean of many loops, over which the cost of the very first \
                     call is spread; `--loops 1` of pyperf shows it"
                        .to_owned(),
                );
            }
            match entry.calibrations {
                0 => {}
                1 => notes.push("1 run only calibrated and is not a start".to_owned()),
                n => notes.push(format!("{n} runs only calibrated and are not starts")),
            }
            match entry
                .starts
                .finish(name.clone(), Measures::Iterations, notes)
            {
                Some(times) => reading.deliver(json, Format::Pyperf, times)?,
                None => reading.notes.add(|| format!("{name} has no values")),
            }
        }
        Ok(())
    }
}

impl Entry {
    fn run(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        // Warm-ups come first in time, but after the values in the file.
        let mut values = Starts::default();
        let mut warmups = Starts::default();
        let quota = &mut reading.quota;
        json.object(|json, key| match key {
            "values" => times(json, &mut values, 1.0, quota),
            "warmups" => json.array(|json, _| {
                json.array(|json, at| match at {
                    0 => {
                        self.loops = self.loops.max(json.number()?);
                        Ok(())
                    }
                    _ => time(json, &mut warmups, 1.0, quota),
                })
            }),
            _ => json.skip(),
        })?;
        if values.last_is_empty() {
            self.calibrations += 1;
            return Ok(());
        }
        (self.starts.begin(quota))
            .and_then(|()| self.starts.append(warmups))
            .and_then(|()| self.starts.append(values))
            .and_then(|()| self.starts.mixed(reading.settings))
            .map_err(|why| json.fail(why))
    }
}

fn metadata(json: &mut Json, to: &mut Metadata, quota: &mut Quota) -> Result<()> {
    json.object(|json, key| {
        match (key, json.kind()?) {
            ("name", Kind::Text) => to.name = Some(stored_text(json, quota)?),
            ("unit", Kind::Text) => to.unit = Some(stored_text(json, quota)?),
            ("loops", Kind::Number) => to.loops = Some(json.number()?),
            _ => json.skip()?,
        }
        Ok(())
    })
}
