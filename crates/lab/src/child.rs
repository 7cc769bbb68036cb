//! The child side of a native start: preheat as its own child process.

use std::ffi::OsString;
use std::process::ExitCode;

use preheat_device::{Cache, Kind, Options};

use crate::experiments;
use crate::line::Job;
use crate::recorder::Recorder;

/// The first argument that turns this program into a lab start.
pub const CHILD_ARGUMENT: &str = "__lab-start";

/// Runs the experiment that the arguments describe. Results and failures go to the job's
/// output file; nothing is printed to stdout.
pub fn child_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let job = arguments
        .next()
        .and_then(|text| text.into_string().ok())
        .and_then(|text| serde_json::from_str::<Job>(&text).ok());
    let Some(job) = job else {
        eprintln!("preheat: {CHILD_ARGUMENT} is for internal use; see `preheat lab --help`");
        return ExitCode::from(2);
    };
    let mut recorder = match Recorder::create(&job.output) {
        Ok(recorder) => recorder,
        Err(why) => {
            eprintln!(
                "cannot create the result file {}: {why}",
                job.output.display()
            );
            return ExitCode::from(125);
        }
    };
    let Some(kind) = Kind::from_id(&job.device) else {
        eprintln!("unknown device {}", job.device);
        return ExitCode::from(125);
    };
    let options = Options {
        cache: job.cache.clone().map_or(Cache::Off, Cache::Directory),
    };
    let device = preheat_device::open(kind, &options);
    let written = match experiments::run(&job, device, &mut recorder) {
        Ok(()) => recorder.end(),
        Err(why) => recorder.failed(why.to_string()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cannot write the result: {why}");
            ExitCode::from(125)
        }
    }
}
