//! The warm parents that a measurement has created: waits for their standbys, and stops them.

use std::ffi::OsString;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Form, Running, RunningStandby};

/// The longest wait for standbys, and the polling interval.
const READY_WITHIN: Duration = Duration::from_secs(600);
const POLL_EVERY: Duration = Duration::from_millis(50);

/// A guard that stops the warm parents created since [`Made::since`].
pub(super) struct Made {
    command: String,
    before: Vec<String>,
}

impl Made {
    /// Covers the parents of this command that are created from now on.
    pub(super) fn since(command: &[OsString]) -> Made {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let command = words.join(" ");
        Made {
            before: of(&command).into_iter().map(|parent| parent.id).collect(),
            command,
        }
    }

    fn running(&self) -> impl Iterator<Item = Running> {
        let running = of(&self.command).into_iter();
        running.filter(|parent| !self.before.contains(&parent.id))
    }

    /// The standbys of these parents.
    pub(super) fn standbys(&self) -> Vec<RunningStandby> {
        self.running().flat_map(|parent| parent.standbys).collect()
    }

    /// Waits until a standby of each form is ready and none is being prepared, so that the
    /// next start has the machine for itself. A start without a standby fails later.
    pub(super) fn wait_for_standbys(&self, forms: &[Form]) {
        let until = Instant::now() + READY_WITHIN;
        while !forms.is_empty() && Instant::now() < until {
            let states: Vec<String> = self.standbys().into_iter().map(|it| it.state).collect();
            let is_ready = |form: &Form| states.contains(&form.to_string());
            if forms.iter().all(is_ready) && !states.iter().any(|state| state == "preparing") {
                return;
            }
            sleep(POLL_EVERY);
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for parent in self.running() {
            // If this fails, the parent exits when it is idle.
            let _ = crate::stop(&parent.id);
        }
    }
}

/// The parents of this command.
fn of(command: &str) -> Vec<Running> {
    let mut running = crate::list().unwrap_or_default();
    running.retain(|parent| command.starts_with(&parent.program));
    running
}
