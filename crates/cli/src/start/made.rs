//! Stops the warm parents that a measurement has created.

use std::ffi::OsString;

/// A guard that stops the warm parents created since [`Made::since`].
pub struct Made {
    command: String,
    before: Vec<String>,
}

impl Made {
    /// Covers the parents of this command that are created from now on.
    pub fn since(command: &[OsString]) -> Made {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let command = words.join(" ");
        Made {
            before: ids(&command),
            command,
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for id in ids(&self.command) {
            if !self.before.contains(&id) {
                // If this fails, the parent exits when it is idle.
                let _ = preheat_start::stop(&id);
            }
        }
    }
}

/// The IDs of the parents of this command.
fn ids(command: &str) -> Vec<String> {
    let running = preheat_start::list().unwrap_or_default();
    let own = running.into_iter();
    own.filter(|parent| command.starts_with(&parent.program))
        .map(|parent| parent.id)
        .collect()
}
