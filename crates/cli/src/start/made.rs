//! The warm parents that a measurement has made.

use std::ffi::OsString;

/// Warm parents that are made for a measurement leave with it.
pub struct Made {
    command: String,
    before: Vec<String>,
}

impl Made {
    /// From here on, of this command.
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
                // One that does not leave now does so when it is idle.
                let _ = preheat_start::stop(&id);
            }
        }
    }
}

/// Of the parents of this command.
fn ids(command: &str) -> Vec<String> {
    let running = preheat_start::list().unwrap_or_default();
    let own = running.into_iter();
    own.filter(|parent| command.starts_with(&parent.program))
        .map(|parent| parent.id)
        .collect()
}
