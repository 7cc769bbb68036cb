//! `hyperfine --export-json`: `{"results": [{"command": …, "times": […]}]}`, in seconds.
//!
//! hyperfine starts a process for each time, so these are starts, not iterations: its files
//! cannot show how one start warms up. They can show how the *machine* warms up from start
//! to start: page cache, clocks, compile caches. So they are classified as one series, and
//! every benchmark has a note about it.

use preheat_model::classify::{Format, Measures};

use super::pull::{Json, Kind};
use super::{Reading, own_unit, parameter, stored_text};
use crate::starts::{Quota, Starts};
use crate::{Result, number};

const NOTE: &str = "hyperfine starts a process for each time: these are starts, not iterations, \
                    and show how the machine warms up, not the program";

/// hyperfine subtracts the time of an empty shell from each time, which can leave 0.
const ZERO: &str = "0 is not a time: hyperfine subtracted the shell's startup time, and nothing was left; \
                    `hyperfine -N` runs the command without a shell";

/// Reads the list of results.
pub(super) fn read(json: &mut Json, reading: &mut Reading) -> Result<()> {
    own_unit(json, Format::Hyperfine, reading.settings)?;
    json.array(|json, _| {
        let mut command = String::new();
        let mut parameters = Vec::new();
        let mut starts = Starts::default();
        let (mut quota, mut name_quota) = (Quota::default(), Quota::for_name());
        let mut failed = 0;
        json.object(|json, key| match key {
            "command" => {
                command = stored_text(json, &mut name_quota)?;
                Ok(())
            }
            "times" if json.kind()? == Kind::Array => json.array(|json, _| {
                let value = json.number()?;
                if value == 0.0 {
                    return Err(json.fail_number(ZERO));
                }
                (number::time(value, 1.0, &json.digits))
                    .and_then(|seconds| starts.push(seconds, &mut quota))
                    .map_err(|why| json.fail_number(why))
            }),
            "exit_codes" if json.kind()? == Kind::Array => json.array(|json, _| {
                // A process killed by a signal has null.
                let well = match json.kind()? {
                    Kind::Number => json.number()? == 0.0,
                    _ => json.skip().map(|()| false)?,
                };
                failed += usize::from(!well);
                Ok(())
            }),
            "parameters" if json.kind()? == Kind::Object => json.object(|json, name| {
                if json.kind()? == Kind::Text {
                    parameters.push(parameter(json, name, &mut name_quota)?);
                    return Ok(());
                }
                json.skip()
            }),
            _ => json.skip(),
        })?;
        if starts.last_is_empty() {
            return Err(
                json.fail("this result has no times; `hyperfine --export-json` writes them")
            );
        }
        // A custom command name does not show the parameters.
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
            notes.push(format!(
                "{failed} of its starts failed (their exit code is not 0)"
            ));
        }
        if let Some(times) = starts.finish(command, Measures::Starts, notes) {
            reading.deliver(json, Format::Hyperfine, times)?;
        }
        Ok(())
    })
}
