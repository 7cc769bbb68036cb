//! `preheat run --json`: the iterations of every start of `preheat.run/1`.
//!
//! The first start is left out where there are others, as `preheat run` itself does: it may
//! have found cold disks and caches. Starts of several temperatures are benchmarks of their
//! own. How many iterations a start has is found and not planned, so lengths may differ.

use preheat_analyze::classify::{Format, Measures};
use preheat_analyze::run::{RUN_SCHEMA, Temperature};

use super::pull::{Json, Kind};
use super::{Reading, kept, own_unit, times};
use crate::Result;
use crate::error::quoted;
use crate::held::Held;
use crate::starts::Starts;

/// What was read of it.
#[derive(Default)]
pub(super) struct Run {
    is_run: bool,
    command: Vec<String>,
    /// By temperature, in the order in which they appear.
    starts: Vec<(Option<Temperature>, Found)>,
}

/// The starts of one temperature.
#[derive(Default)]
struct Found {
    starts: Starts,
    /// The first start, apart.
    first: Option<Starts>,
    without: usize,
}

impl Run {
    pub fn is_run(&self) -> bool {
        self.is_run
    }

    /// What document this is.
    pub fn schema(&mut self, json: &mut Json) -> Result<()> {
        let schema = json.text()?;
        self.is_run = schema == RUN_SCHEMA;
        match schema.as_str() {
            RUN_SCHEMA => Ok(()),
            lab if lab.starts_with("preheat.lab/") => Err(json.fail(
                "it is a result of `preheat lab`, which has its classes already; `preheat report` \
                 shows them",
            )),
            _ => Err(json.fail(format!(
                "it is {}, and only {RUN_SCHEMA} has iterations that are read here",
                quoted(schema.as_bytes())
            ))),
        }
    }

    /// The words of the command.
    pub fn command(&mut self, json: &mut Json) -> Result<()> {
        let mut of_name = Held::of_a_name();
        self.command.clear();
        json.array(|json, _| {
            self.command.push(kept(json, &mut of_name)?);
            Ok(())
        })
    }

    /// The list of starts.
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
                        times(json, &mut start, 1.0, &mut reading.held)?;
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
                    self.starts.push((temperature, Found::default()));
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
                (found.starts.begin(&mut reading.held))
                    .and_then(|()| found.starts.append(start))
                    .map_err(|why| json.fail(why))
            }
        })
    }

    /// All of it is there.
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
                    "in {} of its starts nothing repeats",
                    found.without
                ));
            }
            match found
                .starts
                .finish(name.clone(), Measures::Iterations, notes)
            {
                Some(times) => reading.give(json, Format::Run, times)?,
                None => reading.notes.add(|| format!("in {name} nothing repeats")),
            }
        }
        Ok(())
    }
}

/// How cold a start was made. What preheat does not know is no temperature of it.
fn temperature(json: &mut Json) -> Result<Temperature> {
    let text = json.text()?;
    Temperature::from_name(&text)
        .map_err(|why| json.fail(format!("{}: {why}", quoted(text.as_bytes()))))
}
