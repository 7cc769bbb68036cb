//! A recording that was just made.

mod timers;

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use preheat_launch::{locate_optional_imports, save_manifest};
use preheat_model::run::Recording;

/// Reads it as `preheat report` would, and completes it with what only this machine knows:
/// the source behind its clock readings and imports, and whether `preheat start` can serve it.
pub fn read(directory: &Path) -> Result<Recording> {
    let mut recording = preheat_trace::read(directory)
        .with_context(|| format!("the recording in {} cannot be read", directory.display()))?;
    timers::locate_timers(&mut recording, directory);
    locate_optional_imports(&mut recording, directory);
    let command: Vec<OsString> = recording.manifest.command.iter().map(Into::into).collect();
    if let Err(why) = preheat_start::serves(&command) {
        recording.manifest.started_plainly = Some(why);
        // Without it, a report of the recording predicts what a start would not do.
        let _ = save_manifest(&recording.manifest, directory);
    }
    Ok(recording)
}
