//! `hyperfine --export-json`: `{"results": [{"command": …, "times": […]}]}`, in seconds.
//!
//! hyperfine starts a process for each time, so these are starts, not iterations: no file of
//! it can say how one start warms up. What its times can show is how the *machine* warms
//! up from start to start: page cache, clocks, compile caches. So they are judged as one
//! series, and every benchmark says so.

use preheat_analyze::classify::{Format, Measures};

use super::pull::{Json, Kind};
use super::{Reading, kept, own_unit, parameter};
use crate::Result;
use crate::held::Held;
use crate::number;
use crate::starts::Starts;

const NOTE: &str = "hyperfine starts a process for each time: these are starts, not iterations, \
                    and show how the machine warms up, not the program";

/// The time of an empty shell is taken off each time, which can come to nothing.
const ZERO: &str = "0 is no time: hyperfine takes off what the shell needs, and nothing was left; \
                    `hyperfine -N` runs the command without a shell";

/// The list of results.
pub(super) fn read(json: &mut Json, reading: &mut Reading) -> Result<()> {
    own_unit(json, Format::Hyperfine, reading.settings)?;
    json.array(|json, _| {
        let mut command = String::new();
        let mut parameters = Vec::new();
        let mut starts = Starts::default();
        let (mut held, mut of_name) = (Held::default(), Held::of_a_name());
        let mut failed = 0;
        json.object(|json, key| match key {
            "command" => {
                command = kept(json, &mut of_name)?;
                Ok(())
            }
            "times" if json.kind()? == Kind::Array => json.array(|json, _| {
                let value = json.number()?;
                if value == 0.0 {
                    return Err(json.fail_number(ZERO));
                }
                (number::time(value, 1.0, &json.digits))
                    .and_then(|seconds| starts.push(seconds, &mut held))
                    .map_err(|why| json.fail_number(why))
            }),
            "exit_codes" if json.kind()? == Kind::Array => json.array(|json, _| {
                // A process that a signal ended has null.
                let well = match json.kind()? {
                    Kind::Number => json.number()? == 0.0,
                    _ => json.skip().map(|()| false)?,
                };
                failed += usize::from(!well);
                Ok(())
            }),
            "parameters" if json.kind()? == Kind::Object => json.object(|json, name| {
                if json.kind()? == Kind::Text {
                    parameters.push(parameter(json, name, &mut of_name)?);
                    return Ok(());
                }
                json.skip()
            }),
            _ => json.skip(),
        })?;
        if starts.last_is_empty() {
            return Err(json.fail(
                "this result has no times; `hyperfine --export-json` keeps them, a summary does not",
            ));
        }
        // A name that was given to the command does not tell its parameters.
        parameters.retain(|(_, value)| !command.contains(value.as_str()));
        if !parameters.is_empty() {
            let pairs: Vec<String> = parameters.iter().map(|(n, v)| format!("{n}={v}")).collect();
            command.push_str(&format!(" ({})", pairs.join(", ")));
        }
        if command.is_empty() {
            command.clone_from(&reading.settings.name);
        }
        let mut notes = vec![NOTE.to_owned()];
        if failed > 0 {
            notes.push(format!("{failed} of its starts failed (their exit code is not 0)"));
        }
        if let Some(times) = starts.finish(command, Measures::Starts, notes) {
            reading.give(json, Format::Hyperfine, times)?;
        }
        Ok(())
    })
}
