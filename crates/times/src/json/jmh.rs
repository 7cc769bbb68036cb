//! JMH's JSON (`-rf json`): a list of `{"benchmark", "mode", "params", "primaryMetric":
//! {"scoreUnit", "rawData": [[…], …]}}`.
//!
//! A fork is a start, and JMH does not keep its warm-up iterations: what is first here is the
//! first after them. Throughputs are turned into times. With `sample` there is a histogram for
//! each iteration in place of a number; its mean is taken.

use std::collections::HashSet;

use preheat_analyze::classify::{Format, Measures, Times};

use super::pull::{Json, Kind};
use super::{Reading, kept, own_unit, parameter};
use crate::Result;
use crate::error::quoted;
use crate::held::Held;
use crate::number;
use crate::starts::Starts;

/// What was read of it.
#[derive(Default)]
pub(super) struct Jmh {
    /// Benchmarks with their modes.
    benchmarks: Vec<(Times, String)>,
    read: bool,
}

/// An entry while it is read. The unit may stand behind the numbers.
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

    /// An object of the list.
    pub fn add(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        own_unit(json, Format::Jmh, reading.settings)?;
        self.read = true;
        (reading.held.benchmark()).map_err(|why| json.fail(why))?;
        let mut entry = Entry::default();
        let mut of_name = Held::of_a_name();
        json.object(|json, key| {
            match (key, json.kind()?) {
                ("benchmark", Kind::Text) => entry.name = kept(json, &mut of_name)?,
                ("mode", Kind::Text) => entry.mode = kept(json, &mut reading.held)?,
                ("measurementTime", Kind::Text) => entry.time = kept(json, &mut reading.held)?,
                ("forks", Kind::Number) => entry.forks = Some(json.number()?),
                ("warmupIterations", Kind::Number) => entry.warmups = json.number()?,
                ("params", Kind::Object) => json.object(|json, name| {
                    entry.params.push(parameter(json, name, &mut of_name)?);
                    Ok(())
                })?,
                ("primaryMetric", Kind::Object) => entry.metric(json, reading)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        if entry.name.is_empty() {
            return Err(json.fail("this object has no benchmark and rawData, as those of JMH have"));
        }
        if entry.raw.last_is_empty() {
            return Err(json.fail("this benchmark has no rawData"));
        }
        let mode = entry.mode.clone();
        let times = entry.finish(json)?;
        (reading.held.text(&times.name)).map_err(|why| json.fail(why))?;
        self.benchmarks.push((times, mode));
        Ok(())
    }

    /// All of it is there. A benchmark that was run in several modes is called by them.
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
            reading.give(json, Format::Jmh, times)?;
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
                (self.raw.begin(&mut reading.held)).map_err(|why| json.fail(why))?;
                json.array(|json, _| {
                    let value = match json.kind()? {
                        Kind::Array => mean(json)?,
                        _ => json.number()?,
                    };
                    // Whether it is a time is known when the unit is.
                    (self.raw.push(value, &mut reading.held)).map_err(|why| json.fail(why))
                })?;
                (self.raw.mixed(reading.settings)).map_err(|why| json.fail(why))
            }),
            _ => json.skip(),
        })
    }

    /// The benchmark, in seconds.
    fn finish(self, json: &Json) -> Result<Times> {
        let Some((inverse, in_a_second)) = unit(&self.unit) else {
            return Err(json.fail(format!(
                "{} is no unit of time (s/op, ms/op, …) or of throughput (ops/s, …)",
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
                "JMH does not keep its {count} warm-up iterations: the first here is the first \
                 after them; `-wi 0` shows them"
            )),
            _ => {}
        }
        if self.mode != "ss" && !self.time.is_empty() {
            notes.push(format!(
                "each iteration is the mean of what ran within {}; `-bm ss` times single ones",
                self.time
            ));
        }
        if self.forks == Some(0.0) {
            notes.push("it ran without forks: its start is no fresh process".to_owned());
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
            if let Some(place) = pair.get_mut(at) {
                *place = value;
            }
            Ok(())
        })?;
        sum += pair[0] * pair[1];
        count += pair[1];
        Ok(())
    })?;
    Ok(sum / count)
}

/// Whether it is a throughput, and how many of the unit of time a second has.
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
