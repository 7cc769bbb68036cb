//! A recording that was just made.

use std::path::Path;

use anyhow::{Context, Result};
use preheat_analyze::run::Recording;
use preheat_launch::locate_timers;

/// Reads it as `preheat report` would, and completes it with what only this machine knows:
/// the source behind its clock readings.
pub fn read(directory: &Path) -> Result<Recording> {
    let mut recording = preheat_trace::read(directory)
        .with_context(|| format!("the recording in {} cannot be read", directory.display()))?;
    locate_timers(&mut recording, directory);
    Ok(recording)
}
