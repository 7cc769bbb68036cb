//! The series of starts: from a request to a recording.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use preheat_analyze::run::{Evicted, Manifest, StartInfo, Temperature};
use regex_lite::Regex;

use crate::inject::{self, Variables};
use crate::input::{self, Input};
use crate::lines::Through;
use crate::place::{self, Placed};
use crate::program::{self, Program};
use crate::recording::{Left, cannot_create, describe, prepare};
use crate::signals::{self, Signals};
use crate::start::{Ended, Start};
use crate::temperature::{self, Caches};
use crate::{LaunchError, Progress, Request, manifest, plan};

/// Run the command as often and as cold as asked; `progress` is told before each start.
///
/// A command that cannot be started at all is an error. One that fails, or leaves no
/// recording, is a result: the manifest says so. Only one series runs at a time.
pub fn record(
    request: &Request<'_>,
    progress: impl FnMut(&Progress),
) -> Result<Manifest, LaunchError> {
    let name = request.command.first().ok_or_else(|| {
        LaunchError::Usage("there is no command to run; name one after --".into())
    })?;
    let pattern = request.pattern()?;
    let program = program::find(name)?;
    let placed = place::place()?;
    let output = prepare(&request.output)?;
    let mut series = Series {
        request,
        pattern,
        program,
        placed,
        input: input::look(),
        files: BTreeSet::new(),
        manifest: describe(request),
        output,
        began: Instant::now(),
    };
    series.run(progress).inspect_err(|_| {
        // Works only if nothing is in it, and then it is of no use.
        let _ = fs::remove_dir(&series.output);
    })?;
    Ok(series.manifest)
}

struct Series<'a> {
    request: &'a Request<'a>,
    pattern: Option<Regex>,
    program: Program,
    placed: Placed,
    input: Input,
    /// What the starts so far have read.
    files: BTreeSet<PathBuf>,
    manifest: Manifest,
    output: PathBuf,
    began: Instant,
}

impl Series<'_> {
    fn run(&mut self, mut progress: impl FnMut(&Progress)) -> Result<(), LaunchError> {
        let mut order = plan::order(
            &self.request.temperatures,
            self.manifest.settings.starts,
            self.request.seed,
        );
        if self.input == Input::Once && order.len() > 1 {
            match self.request.starts {
                None => {
                    order.truncate(1);
                    self.end_early("standard input is a pipe, which can be read only once, so one start was made; give it a file, or --starts if the command reads nothing".into());
                }
                Some(_) => self.note("standard input is a pipe, which can be read only once: starts after the first had an empty one".into()),
            }
        }
        let signals = Signals::take();
        let mut longest = Duration::ZERO;
        for (number, &temperature) in order.iter().enumerate() {
            if number > 0 && self.is_over(number, order.len(), longest) {
                break;
            }
            progress(&Progress {
                done: number,
                total: order.len(),
                temperature,
                elapsed: self.began.elapsed(),
            });
            let before = Instant::now();
            match self.start(number, temperature, &signals) {
                Ok(start) => self.manifest.starts.push(start),
                Err(why) if number == 0 => return Err(why),
                Err(_) if self.is_over(number, order.len(), Duration::ZERO) => break,
                Err(why) => {
                    self.end_early(format!("start {} could not be made: {why}", number + 1));
                    break;
                }
            }
            longest = longest.max(before.elapsed());
            self.save();
        }
        self.save();
        Ok(())
    }

    /// Whether no further start is to be made; the manifest says why.
    fn is_over(&mut self, number: usize, total: usize, longest: Duration) -> bool {
        if self.manifest.settings.ended_early.is_some() {
            return true;
        }
        let made = format!("{number} of {total} starts were made");
        let failed = self
            .manifest
            .starts
            .iter()
            .rev()
            .take_while(|start| start.exit_code != 0)
            .count();
        // Asked for by number, a single failure may be one of them.
        let enough = if self.request.starts.is_some() { 2 } else { 1 };
        let why = if signals::interrupted() {
            format!("{made}: preheat was asked to end")
        } else if failed >= enough {
            let code = self
                .manifest
                .starts
                .last()
                .map_or(0, |start| start.exit_code);
            format!("{made}: the command failed with exit code {code}")
        } else if self
            .request
            .budget()
            .is_some_and(|budget| self.began.elapsed() + longest > budget)
        {
            format!(
                "{made}: another would have taken more than {} s in all; --starts asks for as many as it says",
                self.request.budget().unwrap_or_default().as_secs()
            )
        } else {
            return false;
        };
        self.end_early(why);
        true
    }

    fn start(
        &mut self,
        number: usize,
        temperature: Temperature,
        signals: &Signals,
    ) -> Result<StartInfo, LaunchError> {
        let name = format!("start-{}", number + 1);
        let directory = self.output.join(&name);
        fs::create_dir(&directory).map_err(|why| cannot_create(&directory, &why))?;
        let evicted = self.evict(number, temperature);
        let caches = match temperature {
            Temperature::Caches => Some(Caches::new(&self.output, &name)),
            _ => None,
        };
        let caches = caches
            .transpose()
            .map_err(|why| cannot_create(&self.output, &why))?;
        let through = match self.pattern.is_some() {
            true => Some(Through::new()),
            false => None,
        };
        let through = through.transpose().map_err(|why| {
            LaunchError::Failed(format!("the command's output cannot be read: {why}"))
        })?;
        let piped = through
            .as_ref()
            .is_some_and(|through| !through.is_terminal());
        let start = Start {
            variables: self.variables(&directory, piped, caches.as_ref())?,
            program: &self.program,
            command: &self.request.command,
            input: self.input.of_start(number),
            quiet: number > 0 && !self.request.output_of_all,
            lines: through.zip(self.pattern.clone()),
            directory: &directory,
            limit: self.request.limit,
        };
        let ended = start.run(signals).inspect_err(|_| {
            // Nothing ran: nothing is left.
            let _ = fs::remove_dir_all(&directory);
        })?;
        Ok(self.finished(name, &directory, temperature, evicted, ended))
    }

    /// What is set for a start.
    fn variables(
        &self,
        directory: &Path,
        piped: bool,
        caches: Option<&Caches>,
    ) -> Result<Variables, LaunchError> {
        let user = |name: &str| std::env::var_os(name);
        let mut variables = match caches {
            Some(caches) => caches
                .variables(user)
                .map_err(|why| cannot_create(&self.output, &why))?,
            None => Variables::new(),
        };
        if self.program.inject {
            let options = inject::Options {
                directory,
                limit: self.request.limit,
                synchronize: self.request.synchronize,
                python_iterations: self.request.python_iterations,
                unbuffered: piped,
            };
            variables.extend(inject::variables(&self.placed, &options, user));
        }
        Ok(variables)
    }

    fn evict(&mut self, number: usize, temperature: Temperature) -> Option<Evicted> {
        if temperature != Temperature::Disk {
            return None;
        }
        if number == 0 {
            self.note("the first start was made with whatever was in the page cache: which files to evict is known only after it".into());
            return None;
        }
        let ours = [self.placed.directory.as_path(), self.output.as_path()];
        Some(temperature::evict(&self.files, &ours))
    }

    fn finished(
        &mut self,
        name: String,
        directory: &Path,
        temperature: Temperature,
        evicted: Option<Evicted>,
        ended: Ended,
    ) -> StartInfo {
        let left = Left::in_directory(directory, ended.pid);
        let unrecorded = match (left, &self.program.unrecorded) {
            (Left::Nothing, Some(why)) => Some(format!("{why}; it was run unrecorded")),
            (Left::Nothing, None) => Some("it left no recording: perhaps it ended before its libraries were loaded, something took LD_PRELOAD from its environment, or the disk was full".to_owned()),
            _ => None,
        };
        match (&unrecorded, &self.program.unrecorded) {
            (Some(why), _) => self.note(why.clone()),
            (None, Some(why)) if left == Left::ByOthers => {
                self.note(format!("{why}; only what it starts is recorded"));
            }
            _ => {}
        }
        ended.notes.into_iter().for_each(|note| self.note(note));
        if self.request.temperatures.contains(&Temperature::Disk) && unrecorded.is_none() {
            self.files.extend((self.request.files_of)(directory));
        }
        StartInfo {
            directory: name,
            temperature,
            exec: ended.exec,
            end: ended.end,
            pid: ended.pid,
            exit_code: ended.exit_code,
            peak_resident: ended.peak_resident,
            evicted,
            unrecorded,
        }
    }

    fn save(&mut self) {
        if let Err(why) = manifest::save(&self.manifest, &self.output) {
            let place = self.output.join(manifest::NAME);
            self.note(format!("{} cannot be written: {why}", place.display()));
        }
    }

    fn end_early(&mut self, why: String) {
        self.manifest.settings.ended_early.get_or_insert(why);
    }

    /// Say it once.
    fn note(&mut self, note: String) {
        if !self.manifest.notes.contains(&note) {
            self.manifest.notes.push(note);
        }
    }
}
