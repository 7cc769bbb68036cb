//! JSON of several tools, told apart by what the document holds.
//!
//! A list has numbers, or lists of numbers, or JMH's objects. An object is recognised by the
//! key that holds its times: each tool has its own.

mod hyperfine;
mod jmh;
mod krun;
mod plain;
mod pull;
mod pyperf;
mod run;

use preheat_analyze::classify::{Format, Times};

use crate::error::Error;
use crate::held::Held;
use crate::notes::Notes;
use crate::source::Source;
use crate::starts::Starts;
use crate::{Result, Settings, number};
use pull::{Json, Kind};

/// What is read into: how, and where complete benchmarks go.
struct Reading<'a> {
    settings: &'a Settings,
    take: &'a mut dyn FnMut(Format, Times),
    /// What went there: how many benchmarks, under what names.
    given: Held,
    /// What is held until it is complete.
    held: Held,
    /// What is worth telling of the file as a whole.
    notes: Notes,
}

impl Reading<'_> {
    /// Hands over a benchmark.
    fn give(&mut self, json: &Json, format: Format, times: Times) -> Result<()> {
        (self.given.benchmark())
            .and_then(|()| self.given.text(&times.name))
            .map_err(|why| json.fail(why))?;
        (self.take)(format, times);
        Ok(())
    }
}

pub(crate) fn read(
    source: &mut Source,
    settings: &Settings,
    take: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut reading = Reading {
        settings,
        take,
        given: Held::default(),
        held: Held::default(),
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

/// A document that is a list.
fn list(json: &mut Json, reading: &mut Reading) -> Result<()> {
    let mut plain = plain::Plain::default();
    let mut jmh = jmh::Jmh::default();
    json.array(|json, at| match json.kind()? {
        Kind::Object if plain.is_empty() => jmh.add(json, reading),
        Kind::Object => Err(json.fail("numbers and objects are mixed in this list")),
        _ if !jmh.is_empty() => Err(json.fail("an object is expected here, as before")),
        _ => plain.add(json, at, reading),
    })?;
    if jmh.is_empty() {
        plain.finish(json, reading)
    } else {
        jmh.finish(json, reading)
    }
}

/// A document that is an object.
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
            "it is a JSON object of no known form: there are results of Krun (wallclock_times), \
             hyperfine (results), pyperf (benchmarks) and `preheat run` (schema)",
        ));
    }
    pyperf.finish(json, reading)?;
    run.finish(json, reading)
}

/// The unit of a file that says its own cannot be another one.
fn own_unit(json: &Json, format: Format, settings: &Settings) -> Result<()> {
    match settings.unit {
        Some(unit) => Err(json.fail(format!(
            "{format} says its unit itself; leave --unit {} to files of bare numbers",
            unit.as_str()
        ))),
        None => Ok(()),
    }
}

/// A text that is kept.
fn kept(json: &mut Json, held: &mut Held) -> Result<String> {
    let text = json.text()?;
    held.text(&text).map_err(|why| json.fail(why))?;
    Ok(text)
}

/// A text that is kept with its key.
fn parameter(json: &mut Json, key: &str, held: &mut Held) -> Result<(String, String)> {
    held.text(key).map_err(|why| json.fail(why))?;
    Ok((key.to_owned(), kept(json, held)?))
}

/// A list of times, added to the start that began last.
fn times(json: &mut Json, starts: &mut Starts, in_a_second: f64, held: &mut Held) -> Result<()> {
    json.array(|json, _| time(json, starts, in_a_second, held))
}

/// A time, added to the start that began last.
fn time(json: &mut Json, starts: &mut Starts, in_a_second: f64, held: &mut Held) -> Result<()> {
    let value = json.number()?;
    number::time(value, in_a_second, &json.digits)
        .and_then(|seconds| starts.push(seconds, held))
        .map_err(|why| json.fail_number(why))
}
