//! JMH JSON (`-rf json`): a list of `{"benchmark", "mode", "params", "primaryMetric":
//! {"scoreUnit", "rawData": [[…], …]}}`.
//!
//! A fork is a start. JMH does not store its warm-up iterations: the first iteration here
//! is the first one after them. Throughputs are converted to times. In `sample` mode, each
//! iteration has a histogram instead of a number; its mean is used.

use std::collections::HashSet;

use preheat_model::classify::{Format, Measures, Times};

use super::pull::{Json, Kind};
use super::{Reading, own_unit, parameter, stored_text};
use crate::error::quoted;
use crate::starts::{Quota, Starts};
use crate::{Result, number};

/// The benchmarks read so far.
#[derive(Default)]
pub(super) struct Jmh {
    /// Benchmarks with their modes.
    benchmarks: Vec<(Times, String)>,
    read: bool,
}

/// An entry being read. Its unit may come after the numbers.
#[derive(Default)]
struct Entry {
    name: String,
    mode: String,
    params: Vec<(String, String)>,
    forks: Option<f64>,
    warmups: f64,
    time: String,
    unit: String,
    raw: Starts,
}

impl Jmh {
    pub fn is_empty(&self) -> bool {
        !self.read
    }

    /// Reads one object of the list.
    pub fn add(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        own_unit(json, Format::Jmh, reading.settings)?;
        self.read = true;
        (reading.quota.benchmark()).map_err(|why| json.fail(why))?;
        let mut entry = Entry::default();
        let mut name_quota = Quota::for_name();
        json.object(|json, key| {
            match (key, json.kind()?) {
                ("benchmark", Kind::Text) => entry.name = stored_text(json, &mut name_quota)?,
                ("mode", Kind::Text) => entry.mode = stored_text(json, &mut reading.quota)?,
                ("measurementTime", Kind::Text) => {
                    entry.time = stored_text(json, &mut reading.quota)?
                }
                ("forks", Kind::Number) => entry.forks = Some(json.number()?),
                ("warmupIterations", Kind::Number) => entry.warmups = json.number()?,
                ("params", Kind::Object) => json.object(|json, name| {
                    entry.params.push(parameter(json, name, &mut name_quota)?);
                    Ok(())
                })?,
                ("primaryMetric", Kind::Object) => entry.metric(json, reading)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        if entry.name.is_empty() {
            return Err(json.fail("this object has no benchmark and rawData, unlike JMH results"));
        }
        if entry.raw.last_is_empty() {
            return Err(json.fail("this benchmark has no rawData"));
        }
        let mode = entry.mode.clone();
        let times = entry.finish(json)?;
        (reading.quota.text(&times.name)).map_err(|why| json.fail(why))?;
        self.benchmarks.push((times, mode));
        Ok(())
    }

    /// Delivers all benchmarks. A benchmark that ran in several modes gets the mode in its
    /// name.
    pub fn finish(self, json: &Json, reading: &mut Reading) -> Result<()> {
        let mut seen = HashSet::new();
        let twice: HashSet<String> = (self.benchmarks.iter())
            .filter(|(times, _)| !seen.insert(times.name.clone()))
            .map(|(times, _)| times.name.clone())
            .collect();
        for (mut times, mode) in self.benchmarks {
            if twice.contains(&times.name) && !mode.is_empty() {
                times.name = format!("{} [{mode}]", times.name);
            }
            reading.deliver(json, Format::Jmh, times)?;
        }
        Ok(())
    }
}

impl Entry {
    fn metric(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        json.object(|json, key| match key {
            "scoreUnit" => {
                self.unit = json.text()?;
                Ok(())
            }
            "rawData" | "rawDataHistogram" => json.array(|json, _| {
                (self.raw.begin(&mut reading.quota)).map_err(|why| json.fail(why))?;
                json.array(|json, _| {
                    let value = match json.kind()? {
                        Kind::Array => mean(json)?,
                        _ => json.number()?,
                    };
                    // Checked later, when the unit is known.
                    (self.raw.push(value, &mut reading.quota)).map_err(|why| json.fail(why))
                })?;
                (self.raw.mixed(reading.settings)).map_err(|why| json.fail(why))
            }),
            _ => json.skip(),
        })
    }

    /// Converts the entry to a benchmark, in seconds.
    fn finish(self, json: &Json) -> Result<Times> {
        let Some((inverse, in_a_second)) = unit(&self.unit) else {
            return Err(json.fail(format!(
                "{} is not a unit of time (s/op, ms/op, …) or throughput (ops/s, …)",
                quoted(self.unit.as_bytes())
            )));
        };
        let mut name = self.name;
        if !self.params.is_empty() {
            let pairs: Vec<String> = (self.params.iter())
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            name.push_str(&format!(" ({})", pairs.join(", ")));
        }
        let mut notes = Vec::new();
        match self.warmups {
            count if count > 0.0 => notes.push(format!(
                "JMH does not store its {count} warm-up iterations: the first here is the first \
                 after them; `-wi 0` shows them"
            )),
            _ => {}
        }
        if self.mode != "ss" && !self.time.is_empty() {
            notes.push(format!(
                "each iteration is the mean over {}; `-bm ss` times single calls",
                self.time
            ));
        }
        if self.forks == Some(0.0) {
            notes.push("it ran without forks: its start is not a fresh process".to_owned());
        }
        let no_starts = || json.fail("this benchmark has no rawData");
        let times = self.raw.finish(name, Measures::Iterations, notes);
        let mut times = times.ok_or_else(no_starts)?;
        for (fork, start) in times.starts.iter_mut().enumerate() {
            for (at, value) in start.iter_mut().enumerate() {
                let text = format!("{value} {} of fork {fork}, iteration {at},", self.unit);
                let (time, scale) = match inverse {
                    true => (1.0 / (*value * in_a_second), 1.0),
                    false => (*value, in_a_second),
                };
                *value = number::time(time, scale, &text).map_err(|why| json.fail(why))?;
            }
        }
        Ok(times)
    }
}

/// The mean of a histogram, `[[value, count], …]`.
fn mean(json: &mut Json) -> Result<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    json.array(|json, _| {
        let mut pair = [0.0; 2];
        json.array(|json, at| {
            let value = json.number()?;
            if let Some(slot) = pair.get_mut(at) {
                *slot = value;
            }
            Ok(())
        })?;
        sum += pair[0] * pair[1];
        count += pair[1];
        Ok(())
    })?;
    Ok(sum / count)
}

/// Returns true for a throughput, and the number of its time units in a second.
fn unit(text: &str) -> Option<(bool, f64)> {
    let (inverse, unit) = match (text.strip_prefix("ops/"), text.strip_suffix("/op")) {
        (Some(unit), _) => (true, unit),
        (_, Some(unit)) => (false, unit),
        _ => return None,
    };
    let in_a_second = match unit {
        "ns" => 1e9,
        "us" | "µs" | "μs" => 1e6,
        "ms" => 1e3,
        "s" => 1.0,
        "min" => 1.0 / 60.0,
        "hr" => 1.0 / 3600.0,
        "day" => 1.0 / 86_400.0,
        _ => return None,
    };
    Some((inverse, in_a_second))
}
