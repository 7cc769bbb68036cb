//! Detects which devices this machine has.
//!
//! Each device is probed in a separate process: a driver that crashes only ends that
//! process, and this one never holds a driver open, which would make the measured starts
//! warmer than a user's.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Duration;

use preheat_device::{Kind, Options};
use preheat_model::lab::MeasuredDevice;
use serde::{Deserialize, Serialize};

use crate::process::{Ended, last_lines, run_limited};
use preheat_host::Scratch;

/// The first argument that makes this program probe one device.
pub const PROBE_ARGUMENT: &str = "__lab-device";

/// A driver that does not respond within this time is considered hung.
const LIMIT: Duration = Duration::from_secs(60);

/// An available device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundDevice {
    /// Its properties.
    pub device: MeasuredDevice,
    /// True if `auto` prefers it over the cpu device.
    pub is_gpu: bool,
}

/// Probes the device of this kind; the error is a message saying why it cannot be used.
pub fn probe_device(kind: Kind) -> Result<FoundDevice, String> {
    let scratch = Scratch::new("lab").map_err(|why| why.to_string())?;
    let output = scratch.path().join("device");
    let printed = scratch.path().join("printed");
    let program = std::env::current_exe()
        .map_err(|why| format!("cannot find preheat's executable: {why}"))?;
    let mut command = Command::new(program);
    command.arg(PROBE_ARGUMENT).arg(kind.id()).arg(&output);
    let ended = run_limited(&mut command, &printed, LIMIT)
        .map_err(|why| format!("cannot start preheat: {why}"))?;
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
            "the {} driver crashed while it was being probed; last output: {}",
            kind.id(),
            last_lines(&printed)
        ))
    })
}

/// The child side of [`probe_device`].
pub fn probe_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let kind = arguments.next().and_then(|id| Kind::from_id(id.to_str()?));
    let (Some(kind), Some(output)) = (kind, arguments.next()) else {
        eprintln!("preheat: {PROBE_ARGUMENT} is for internal use; see `preheat doctor --help`");
        return ExitCode::from(2);
    };
    let found = query(kind).map_err(|why| why.to_string());
    let written = serde_json::to_string(&found)
        .map_err(std::io::Error::from)
        .and_then(|text| fs::write(output, text));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(125),
    }
}

fn query(kind: Kind) -> preheat_device::Result<FoundDevice> {
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
