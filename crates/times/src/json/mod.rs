//! JSON of several tools, distinguished by the document's content.
//!
//! A list contains numbers, lists of numbers, or JMH objects. An object is recognized by
//! the key of its times, which differs between tools.

mod hyperfine;
mod jmh;
mod krun;
mod pull;
mod pyperf;
mod run;

use preheat_model::classify::{Format, Measures, Times};

use crate::error::{Error, Notes};
use crate::source::Source;
use crate::starts::{Quota, Starts};
use crate::{Result, Settings, number};
use pull::{Json, Kind};

/// The settings, and the destination of complete benchmarks.
struct Reading<'a> {
    settings: &'a Settings,
    emit: &'a mut dyn FnMut(Format, Times),
    /// Benchmarks delivered so far, and their names.
    delivered: Quota,
    /// Data in memory until it is complete.
    quota: Quota,
    /// Notes on the whole file.
    notes: Notes,
}

impl Reading<'_> {
    /// Delivers a benchmark.
    fn deliver(&mut self, json: &Json, format: Format, times: Times) -> Result<()> {
        (self.delivered.benchmark())
            .and_then(|()| self.delivered.text(&times.name))
            .map_err(|why| json.fail(why))?;
        (self.emit)(format, times);
        Ok(())
    }
}

pub(crate) fn read(
    source: &mut Source,
    settings: &Settings,
    emit: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut reading = Reading {
        settings,
        emit,
        delivered: Quota::default(),
        quota: Quota::default(),
        notes: Notes::default(),
    };
    let mut json = Json::new(source);
    match json.kind()? {
        Kind::Array => list(&mut json, &mut reading)?,
        _ => object(&mut json, &mut reading)?,
    }
    json.end()?;
    Ok(reading.notes.finish())
}

/// Reads a document that is a list.
fn list(json: &mut Json, reading: &mut Reading) -> Result<()> {
    let mut plain = Plain::default();
    let mut jmh = jmh::Jmh::default();
    json.array(|json, at| match json.kind()? {
        Kind::Object if plain.is_empty() => jmh.add(json, reading),
        Kind::Object => Err(json.fail("numbers and objects are mixed in this list")),
        _ if !jmh.is_empty() => Err(json.fail("expected an object, like the ones before")),
        _ => plain.add(json, at, reading),
    })?;
    if jmh.is_empty() {
        plain.finish(json, reading)
    } else {
        jmh.finish(json, reading)
    }
}

/// Reads a document that is an object.
fn object(json: &mut Json, reading: &mut Reading) -> Result<()> {
    let mut known = false;
    let mut pyperf = pyperf::Pyperf::default();
    let mut run = run::Run::default();
    json.object(|json, key| {
        let kind = json.kind()?;
        match (key, kind) {
            ("schema", Kind::Text) => run.schema(json)?,
            ("command", Kind::Array) if run.is_run() => run.command(json)?,
            ("starts", Kind::Array) if run.is_run() => run.starts(json, reading)?,
            ("wallclock_times" | "data", Kind::Object) => krun::read(json, reading)?,
            ("results", Kind::Array) => hyperfine::read(json, reading)?,
            ("benchmarks", Kind::Array) => pyperf.benchmarks(json, reading)?,
            ("metadata", Kind::Object) => pyperf.metadata(json, reading)?,
            _ => return json.skip(),
        }
        known |= !matches!(key, "metadata");
        Ok(())
    })?;
    if !known {
        return Err(Error::new(
            "it is a JSON object of no known form: expected results of Krun (wallclock_times), \
             hyperfine (results), pyperf (benchmarks) and `preheat run` (schema)",
        ));
    }
    pyperf.finish(json, reading)?;
    run.finish(json, reading)
}

/// Rejects `--unit` for formats that define their unit.
fn own_unit(json: &Json, format: Format, settings: &Settings) -> Result<()> {
    match settings.unit {
        Some(unit) => Err(json.fail(format!(
            "{format} defines its unit; --unit {} is for files of bare numbers",
            unit.as_str()
        ))),
        None => Ok(()),
    }
}

/// Reads a text and counts it.
fn stored_text(json: &mut Json, quota: &mut Quota) -> Result<String> {
    let text = json.text()?;
    quota.text(&text).map_err(|why| json.fail(why))?;
    Ok(text)
}

/// Reads a text with its key and counts both.
fn parameter(json: &mut Json, key: &str, quota: &mut Quota) -> Result<(String, String)> {
    quota.text(key).map_err(|why| json.fail(why))?;
    Ok((key.to_owned(), stored_text(json, quota)?))
}

/// Reads a list of times into the last start.
fn times(json: &mut Json, starts: &mut Starts, in_a_second: f64, quota: &mut Quota) -> Result<()> {
    json.array(|json, _| time(json, starts, in_a_second, quota))
}

/// Reads a time into the last start.
fn time(json: &mut Json, starts: &mut Starts, in_a_second: f64, quota: &mut Quota) -> Result<()> {
    let value = json.number()?;
    number::time(value, in_a_second, &json.digits)
        .and_then(|seconds| starts.push(seconds, quota))
        .map_err(|why| json.fail_number(why))
}

/// The starts read so far.
#[derive(Default)]
struct Plain {
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
