//! Records the starts of a measurement: a plain start, which shows the remedies that apply, then
//! starts of all configurations, interleaved.
//!
//! Each configuration is a separate command, `preheat start --only … -- CMD`, recorded like any
//! other program. Plain and remedied starts thus differ only in the remedies. The results are
//! judged elsewhere.

mod configurations;
mod extract;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use preheat_launch::{LaunchError, Progress, Request, record, record_in_turn};
use preheat_model::measurement::Holds;
use preheat_model::run::{Manifest, Temperature};

use crate::{CommandState, Form, Reason, Remedies, Remedy, Running, RunningStandby};
use preheat_model::RemedyId;

pub use configurations::{Configuration, configurations};
pub use extract::observed;

/// The directory of the plain starts that are recorded first.
pub const PLAIN: &str = "observe";

/// The prefix of the directories of starts that only prepare something. Processes that such a start
/// leaves in the background are recorded too, and may write a file while the directory is being
/// removed. So each has another directory, and what remains is removed when all starts have ended.
const PREPARE: &str = "prepare-";

/// A command to measure.
pub struct Measurement<'a> {
    /// The command, its directory and the settings that all starts share.
    pub request: Request<'a>,
    /// The remedies to measure; `None` for all that apply.
    pub remedies: Option<Remedies>,
}

/// The remedies that apply, and the others with the reasons why they do not.
pub struct Applicable {
    /// Those to measure.
    pub applicable: Remedies,
    /// The others.
    pub skipped: Vec<(Remedy, Reason)>,
}

/// The recorded starts of all configurations.
pub struct Measured {
    /// The manifests, in the order of the configurations.
    pub manifests: Vec<Manifest>,
    /// The standbys that waited at the end.
    pub standbys: Vec<RunningStandby>,
}

impl Measured {
    /// The memory that a waiting standby of this remedy holds.
    pub fn holds(&self, id: RemedyId) -> Option<Holds> {
        let form = Remedy::of(id).and_then(Remedy::form)?.to_string();
        let standby = self.standbys.iter().find(|it| it.state == form)?;
        Some(Holds {
            device: standby.device_memory,
            host: standby.memory,
        })
    }
}

impl<'a> Measurement<'a> {
    /// Returns whether prefetch may be measured.
    pub fn prefetches(&self) -> bool {
        let asked = self.remedies.as_ref();
        asked.is_none_or(|asked| asked.contains(&Remedy::Prefetch))
    }

    /// Records one or two plain starts into [`PLAIN`], to find the remedies that apply.
    pub fn record_plain(&self) -> Result<Manifest, LaunchError> {
        let mut request = self.request(self.request.command.clone(), PLAIN);
        request.starts = Some(1);
        if self.prefetches() {
            // A start with an empty page cache shows which parts of its files it reads.
            request.temperatures.push(Temperature::Disk);
        }
        Ok(record(&request, |_| {})?.manifest)
    }

    /// Prepares the remedies that apply, for recorded starts. Warm parents that are created from
    /// here on stop when the second result is dropped.
    pub fn prepare(&self, known: &CommandState) -> (Applicable, Prepared) {
        let made = Made::since(&self.request.command);
        let mut found = Applicable {
            applicable: Remedies::new(),
            skipped: Vec::new(),
        };
        for (remedy, applies) in known.applicable(&self.request.command) {
            if (self.remedies.as_ref()).is_some_and(|asked| !asked.contains(&remedy)) {
                continue;
            }
            let ready = applies.and_then(|()| match remedy {
                Remedy::WarmParent => self.prepare_parent(),
                Remedy::StandbyParked | Remedy::StandbyHot => {
                    match found.applicable.contains(&Remedy::WarmParent) {
                        true => self.prepare_standby(remedy),
                        false => Err(Reason::NeedsParent),
                    }
                }
                _ => Ok(()),
            });
            match ready {
                Ok(()) => drop(found.applicable.insert(remedy)),
                Err(why) => found.skipped.push((remedy, why)),
            }
        }
        let forms = found.applicable.iter().filter_map(|remedy| remedy.form());
        let prepared = Prepared {
            forms: forms.collect(),
            made,
        };
        (found, prepared)
    }

    /// Makes a start that learns the operations of the program, and prepares a standby for recorded
    /// starts; an error is the reason why there is none.
    fn prepare_standby(&self, remedy: Remedy) -> Result<(), Reason> {
        self.prepare_with(remedy, &[], Reason::NotLearned)?;
        let flags = [OsStr::new("--prepare")];
        self.prepare_with(remedy, &flags, Reason::StandbyNotPrepared)
    }

    /// Creates the warm parent for recorded starts; an error is the reason why there is none.
    fn prepare_parent(&self) -> Result<(), Reason> {
        let plain = self.request.output.join(PLAIN);
        let flags = ["--prepare", "--from"].map(OsStr::new);
        let flags = [flags[0], flags[1], plain.as_os_str()];
        // The command prints the reason.
        self.prepare_with(Remedy::WarmParent, &flags, Reason::ParentNotCreated)
    }

    /// Runs a start with this remedy; `failed` is the reason if it does not succeed.
    fn prepare_with(&self, remedy: Remedy, flags: &[&OsStr], failed: Reason) -> Result<(), Reason> {
        let directory = match flags.is_empty() {
            true => format!("{PREPARE}{}-learning", remedy.id()),
            false => format!("{PREPARE}{}", remedy.id()),
        };
        let mut request = self.request(self.with(&[remedy], flags)?, &directory);
        request.starts = Some(1);
        let recorded = record(&request, |_| {});
        let _ = fs::remove_dir_all(&request.output);
        let starts = recorded?.manifest.starts;
        match starts.last().is_some_and(|start| start.exit_code != 0) {
            true => Err(failed),
            false => Ok(()),
        }
    }

    /// Records the starts of all configurations, interleaved, each into its directory. Calls
    /// `progress` before each start.
    pub fn record(
        &self,
        configurations: &[Configuration],
        prepared: &Prepared,
        mut progress: impl FnMut(&Progress),
    ) -> Result<Measured, Reason> {
        let mut requests = Vec::new();
        for configuration in configurations {
            let command = match configuration.remedies.is_empty() {
                true => self.request.command.clone(),
                false => {
                    let remedies: Vec<Remedy> = configuration.remedies.iter().copied().collect();
                    let flags = ["--patience", "5", "--strictly"].map(OsStr::new);
                    // The first start finds all files in the page cache, so prefetch is left out.
                    let strictly = !remedies.contains(&Remedy::Prefetch);
                    let flags = if strictly { &flags[..] } else { &flags[..2] };
                    self.with(&remedies, flags)?
                }
            };
            let mut request = self.request(command, &configuration.directory());
            request.temperatures = vec![configuration.temperature];
            requests.push(request);
        }
        let manifests = record_in_turn(&requests, |next| {
            progress(next);
            prepared.wait();
        });
        prepared.wait();
        self.remove_preparations();
        Ok(Measured {
            standbys: prepared.made.standbys(),
            manifests: manifests?,
        })
    }

    /// Removes the directories of preparations that could not be removed before.
    fn remove_preparations(&self) {
        let entries = fs::read_dir(&self.request.output).into_iter().flatten();
        for entry in entries.flatten() {
            if entry.file_name().as_bytes().starts_with(PREPARE.as_bytes()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// The command line of `preheat start` with these remedies.
    fn with(&self, remedies: &[Remedy], flags: &[&OsStr]) -> Result<Vec<OsString>, Reason> {
        let ourselves = std::env::current_exe().map_err(|why| Reason::Proc(why.into()))?;
        let only: Vec<&str> = remedies.iter().map(|remedy| remedy.id()).collect();
        let mut words: Vec<OsString> = vec![
            ourselves.into(),
            "start".into(),
            "--only".into(),
            only.join(",").into(),
        ];
        words.extend(flags.iter().map(OsString::from));
        words.push("--".into());
        words.extend(self.request.command.iter().cloned());
        Ok(words)
    }

    /// A request with the shared settings.
    fn request(&self, command: Vec<OsString>, directory: &str) -> Request<'a> {
        Request {
            command,
            output: self.request.output.join(directory),
            ..self.request.clone()
        }
    }
}

/// The warm parents and standbys of a measurement. They stop when this is dropped.
pub struct Prepared {
    forms: Vec<Form>,
    made: Made,
}

impl Prepared {
    /// Waits until the standbys are ready, so that the next start has the machine for itself.
    fn wait(&self) {
        self.made.wait_for_standbys(&self.forms);
    }
}

// The warm parents that a measurement has created: waits for their standbys, and stops them. Its
// starts are recorded, so they use no others. A parent that an earlier start has requested may
// become ready at any time; its standbys must not be mistaken for those of the measurement.

/// The longest wait for standbys, and the polling interval.
const READY_WITHIN: Duration = Duration::from_secs(600);
const POLL_EVERY: Duration = Duration::from_millis(50);

/// A guard that stops the warm parents created since [`Made::since`].
struct Made {
    command: String,
    before: Vec<String>,
}

impl Made {
    /// Covers the parents of this command that are created from now on.
    fn since(command: &[OsString]) -> Made {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let command = words.join(" ");
        Made {
            before: of(&command).into_iter().map(|parent| parent.id).collect(),
            command,
        }
    }

    fn running(&self) -> impl Iterator<Item = Running> {
        let running = of(&self.command).into_iter();
        running.filter(|parent| parent.recorded && !self.before.contains(&parent.id))
    }

    /// The standbys of these parents.
    fn standbys(&self) -> Vec<RunningStandby> {
        self.running().flat_map(|parent| parent.standbys).collect()
    }

    /// Waits until a standby of each form is ready and none is being prepared, so that the
    /// next start has the machine for itself. A start without a standby fails later.
    fn wait_for_standbys(&self, forms: &[Form]) {
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
