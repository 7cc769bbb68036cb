//! `preheat run --json`: the iterations of every start of `preheat.run`.
//!
//! The first start is omitted if there are others, as in `preheat run`: it may have run
//! with cold disks and caches. Starts of several temperatures become separate benchmarks.
//! The number of iterations in a start is detected and not planned, so lengths may differ.

use preheat_model::classify::{Format, Measures};
use preheat_model::run::{RUN_SCHEMA, RUN_SCHEMAS, Temperature};

use super::pull::{Json, Kind};
use super::{Reading, own_unit, stored_text, times};
use crate::Result;
use crate::error::quoted;
use crate::starts::{Quota, Starts};

/// The starts read so far.
#[derive(Default)]
pub(super) struct Run {
    is_run: bool,
    command: Vec<String>,
    /// By temperature, in order of appearance.
    starts: Vec<(Option<Temperature>, AtTemperature)>,
}

/// The starts at one temperature.
#[derive(Default)]
struct AtTemperature {
    starts: Starts,
    /// The very first start.
    first: Option<Starts>,
    without: usize,
}

impl Run {
    pub fn is_run(&self) -> bool {
        self.is_run
    }

    /// Checks the type of the document.
    pub fn schema(&mut self, json: &mut Json) -> Result<()> {
        let schema = json.text()?;
        self.is_run = RUN_SCHEMAS.contains(&schema.as_str());
        match schema.as_str() {
            _ if self.is_run => Ok(()),
            lab if lab.starts_with("preheat.lab/") => Err(json.fail(
                "it is a result of `preheat lab`, which already has classes; `preheat report` \
                 shows them",
            )),
            _ => Err(json.fail(format!(
                "it is {}; only {RUN_SCHEMA} is supported here",
                quoted(schema.as_bytes())
            ))),
        }
    }

    /// Reads the command line.
    pub fn command(&mut self, json: &mut Json) -> Result<()> {
        let mut name_quota = Quota::for_name();
        self.command.clear();
        json.array(|json, _| {
            self.command.push(stored_text(json, &mut name_quota)?);
            Ok(())
        })
    }

    /// Reads the list of starts.
    pub fn starts(&mut self, json: &mut Json, reading: &mut Reading) -> Result<()> {
        own_unit(json, Format::Run, reading.settings)?;
        json.array(|json, _| {
            let mut temperature = None;
            let (mut start, mut first) = (Starts::default(), false);
            json.object(|json, key| {
                match (key, json.kind()?) {
                    ("temperature", Kind::Text) => temperature = Some(self::temperature(json)?),
                    ("first_start", Kind::Word) => first = json.word()? == Some(true),
                    ("iterations", Kind::Array) => {
                        times(json, &mut start, 1.0, &mut reading.quota)?;
                    }
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            let at = match self
                .starts
                .iter()
                .position(|(known, _)| *known == temperature)
            {
                Some(at) => at,
                None => {
                    self.starts.push((temperature, AtTemperature::default()));
                    self.starts.len() - 1
                }
            };
            let found = &mut self.starts[at].1;
            if start.last_is_empty() {
                found.without += 1;
                Ok(())
            } else if first {
                found.first = Some(start);
                Ok(())
            } else {
                (found.starts.begin(&mut reading.quota))
                    .and_then(|()| found.starts.append(start))
                    .map_err(|why| json.fail(why))
            }
        })
    }

    /// Delivers one benchmark per temperature.
    pub fn finish(self, json: &Json, reading: &mut Reading) -> Result<()> {
        let several = self.starts.len() > 1;
        for (temperature, mut found) in self.starts {
            let mut name = self.command.join(" ");
            if name.is_empty() {
                name.clone_from(&reading.settings.name);
            }
            if let (true, Some(temperature)) = (several, temperature) {
                name.push_str(&format!(" [{}]", temperature.as_str()));
            }
            let mut notes = Vec::new();
            match found.first.take() {
                Some(first) if found.starts.last_is_empty() => found.starts = first,
                Some(_) => notes.push(
                    "the first start is left out: it may have found cold disks and caches"
                        .to_owned(),
                ),
                None => {}
            }
            if found.without > 0 {
                notes.push(format!(
                    "{} of its starts have no repeated iterations",
                    found.without
                ));
            }
            match found
                .starts
                .finish(name.clone(), Measures::Iterations, notes)
            {
                Some(times) => reading.deliver(json, Format::Run, times)?,
                None => reading
                    .notes
                    .add(|| format!("{name} has no repeated iterations")),
            }
        }
        Ok(())
    }
}

/// Reads the temperature of a start; rejects unknown ones.
fn temperature(json: &mut Json) -> Result<Temperature> {
    let text = json.text()?;
    Temperature::from_name(&text)
        .map_err(|why| json.fail(format!("{}: {why}", quoted(text.as_bytes()))))
}
