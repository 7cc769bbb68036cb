//! Reads a recording that was just made.

mod timers;

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use preheat_launch::{locate_optional_imports, save_manifest};
use preheat_model::run::Recording;

/// Reads a recording as `preheat report` would, and completes it with facts about this
/// machine: the source of its clock readings and imports, and whether `preheat start` can
/// serve the command.
pub fn read(directory: &Path) -> Result<Recording> {
    let mut recording = preheat_trace::read(directory)
        .with_context(|| format!("the recording in {} cannot be read", directory.display()))?;
    timers::locate_timers(&mut recording, directory);
    locate_optional_imports(&mut recording, directory);
    let command: Vec<OsString> = recording.manifest.command.iter().map(Into::into).collect();
    if let Err(why) = preheat_start::serves(&command) {
        recording.manifest.started_plainly = Some(why.to_string());
        // Otherwise a later report would predict savings that `start` cannot deliver.
        let _ = save_manifest(&recording.manifest, directory);
    }
    Ok(recording)
}
