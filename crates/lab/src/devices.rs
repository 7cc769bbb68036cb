//! Which devices this machine has.
//!
//! A device is looked at in a process of its own: a driver that crashes takes only
//! that process with it, and this one never holds a driver open, which would make
//! the starts that it measures warmer than a user's.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Duration;

use preheat_analyze::lab::MeasuredDevice;
use preheat_device::{Kind, Options};
use serde::{Deserialize, Serialize};

use crate::process::{Ended, last_lines, run_limited};
use crate::scratch::Scratch;

/// The first argument that makes this program look at one device.
pub const PROBE_ARGUMENT: &str = "__lab-device";

/// A driver that has not answered by then will not.
const LIMIT: Duration = Duration::from_secs(60);

/// A device that is here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundDevice {
    /// What it is.
    pub device: MeasuredDevice,
    /// Whether `auto` prefers it to the cpu device.
    pub is_gpu: bool,
}

/// The device of that kind, or a sentence that says why it cannot be used.
pub fn probe_device(kind: Kind) -> Result<FoundDevice, String> {
    let scratch = Scratch::new().map_err(|why| why.to_string())?;
    let output = scratch.path().join("device");
    let printed = scratch.path().join("printed");
    let program = std::env::current_exe()
        .map_err(|why| format!("preheat cannot find its own program file: {why}"))?;
    let mut command = Command::new(program);
    command.arg(PROBE_ARGUMENT).arg(kind.id()).arg(&output);
    let ended = run_limited(&mut command, &printed, LIMIT)
        .map_err(|why| format!("preheat cannot start itself: {why}"))?;
    match ended {
        Ended::Exited(_) => {}
        Ended::TimedOut => {
            return Err(format!(
                "the {} driver did not answer within {} s",
                kind.id(),
                LIMIT.as_secs()
            ));
        }
        Ended::Interrupted => return Err("interrupted".to_owned()),
    }
    let text = fs::read_to_string(&output).unwrap_or_default();
    serde_json::from_str::<Result<FoundDevice, String>>(&text).unwrap_or_else(|_| {
        Err(format!(
            "the {} driver crashed while it was looked at; it printed last: {}",
            kind.id(),
            last_lines(&printed)
        ))
    })
}

/// The other side of [`probe_device`].
pub fn probe_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let kind = arguments.next().and_then(|id| Kind::from_id(id.to_str()?));
    let (Some(kind), Some(output)) = (kind, arguments.next()) else {
        eprintln!(
            "preheat: {PROBE_ARGUMENT} is for preheat's own use; see `preheat doctor --help`"
        );
        return ExitCode::from(2);
    };
    let found = look_at(kind).map_err(|why| why.to_string());
    let written = serde_json::to_string(&found)
        .map_err(std::io::Error::from)
        .and_then(|text| fs::write(output, text));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(125),
    }
}

fn look_at(kind: Kind) -> preheat_device::Result<FoundDevice> {
    let mut device = preheat_device::open(kind, &Options::default());
    device.initialize()?;
    let info = device.info()?;
    Ok(FoundDevice {
        device: MeasuredDevice {
            kind: kind.id().to_owned(),
            name: info.name,
            driver: info.driver,
            memory: info.memory,
            facts: info.facts,
        },
        is_gpu: info.is_gpu,
    })
}
