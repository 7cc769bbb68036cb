//! The starts of one command: turns a request into a recording, start by start.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::slice;
use std::time::{Duration, Instant};

use preheat_host::interrupt::interrupted;
use preheat_model::run::{Evicted, Manifest, StartInfo, Temperature};

use crate::error::Ending;
use crate::inherited::{self, Input};
use crate::inject::{self, Variables};
use crate::install::{self, Installed};
use crate::output_lines::{Pattern, Through};
use crate::program::{self, Program};
use crate::recording::{self, Left, cannot_create, describe, prepare};
use crate::signals::Signals;
use crate::start::{Ended, Start};
use crate::temperature::{self, Caches};
use crate::{LaunchError, Request, caches, turns};

/// The file in the directory of a start with its standard error.
pub const STDERR: &str = "stderr.txt";

/// The state shared by interleaved series.
pub(crate) struct Turn {
    /// The beginning of the very first start.
    pub began: Instant,
    /// The time that must still fit into the budget.
    pub longest: Duration,
}

/// The starts of one command, run one by one.
pub(crate) struct Series<'a> {
    request: &'a Request<'a>,
    /// True if other series are interleaved with it.
    among_several: bool,
    pattern: Option<Pattern>,
    program: Program,
    installed: Installed,
    input: Input,
    /// The temperature of each start, in order.
    order: Vec<Temperature>,
    /// The files that the starts so far have read.
    files: BTreeSet<PathBuf>,
    pub manifest: Manifest,
    /// The message if the manifest could not be saved at least once.
    pub unsaved: Option<String>,
    /// The reason that it ended early, unless another series caused it.
    pub ending: Option<Ending>,
    output: PathBuf,
    /// The duration of the longest start so far.
    pub longest: Duration,
}

impl<'a> Series<'a> {
    /// Checks everything that can fail before the first start.
    pub(crate) fn new(
        request: &'a Request<'a>,
        among_several: bool,
    ) -> Result<Series<'a>, LaunchError> {
        let name = request
            .command
            .first()
            .ok_or_else(|| LaunchError::Usage("no command given; put one after --".into()))?;
        let pattern = request.pattern()?;
        let program = program::find(name)?;
        let installed = install::install()?;
        let output = prepare(&request.output)?;
        let manifest = describe(request);
        let order = turns::temperatures(
            &request.temperatures,
            manifest.settings.starts,
            request.seed,
        );
        let mut series = Series {
            request,
            among_several,
            pattern,
            program,
            installed,
            input: inherited::inspect(),
            order,
            files: BTreeSet::new(),
            manifest,
            unsaved: None,
            ending: None,
            output,
            longest: Duration::ZERO,
        };
        series.check_input();
        Ok(series)
    }

    fn check_input(&mut self) {
        if self.input != Input::Once {
            return;
        }
        if self.among_several {
            self.note(
                "Standard input is a pipe, which can be read only once: all starts had an empty one."
                    .into(),
            );
        } else if self.order.len() > 1 && self.request.starts.is_none() {
            self.order.truncate(1);
            self.manifest.settings.ended_early = Some("standard input is a pipe, which can be read only once, so only one start was made; use a file instead, or --starts if the command does not read it".into());
        } else if self.order.len() > 1 {
            self.note("Standard input is a pipe, which can be read only once: starts after the first had an empty one.".into());
        }
    }

    /// The number of planned starts.
    pub(crate) fn planned(&self) -> usize {
        self.order.len()
    }

    /// The temperature of the start with this number; `None` beyond the last one.
    pub(crate) fn temperature(&self, number: usize) -> Option<Temperature> {
        self.order.get(number).copied()
    }

    /// Runs the start with this number.
    pub(crate) fn next(&mut self, number: usize, signals: &Signals) -> Result<(), LaunchError> {
        let Some(temperature) = self.temperature(number) else {
            return Ok(());
        };
        let before = Instant::now();
        match self.start(number, temperature, signals) {
            Ok(start) => self.manifest.starts.push(start),
            Err(why) => {
                self.end_early(match interrupted() {
                    true => Ending::Interrupted,
                    false => Ending::NotMade(why.to_string()),
                });
                return Err(why);
            }
        }
        self.longest = self.longest.max(before.elapsed());
        self.save();
        Ok(())
    }

    /// Returns whether the last start failed.
    pub(crate) fn failed(&self) -> bool {
        let last = self.manifest.starts.last();
        last.is_some_and(|start| start.exit_code != 0)
    }

    /// Returns whether it has made at least one start.
    pub(crate) fn has_begun(&self) -> bool {
        !self.manifest.starts.is_empty()
    }

    /// Removes the directory if nothing was recorded.
    pub(crate) fn leave_nothing(&self) {
        // Fails unless the directory is empty.
        let _ = fs::remove_dir(&self.output);
    }

    /// Returns whether no further start is to be made; the manifest gives the reason.
    pub(crate) fn is_over(&mut self, turn: &Turn) -> bool {
        if self.manifest.settings.ended_early.is_some() {
            return true;
        }
        let failed = (self.manifest.starts.iter().rev())
            .take_while(|start| start.exit_code != 0)
            .count();
        // If a number of starts was requested, a single failure may be accidental; commands
        // that are compared must work.
        let enough = if self.request.starts.is_some() && !self.among_several {
            2
        } else {
            1
        };
        let budget = self.request.budget();
        let late = |budget: &Duration| turn.began.elapsed() + turn.longest > *budget;
        let ending = if interrupted() {
            Ending::Interrupted
        } else if failed >= enough {
            let last = self.manifest.starts.last();
            Ending::Failed(last.map_or(0, |start| start.exit_code))
        } else if let Some(budget) = budget.filter(late) {
            Ending::Budget(budget)
        } else {
            return false;
        };
        self.end_early(ending);
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
            Temperature::Caches => Some(Caches::new(&self.output, &name, &caches::ALL)),
            Temperature::Bytecode => Some(Caches::new(
                &self.output,
                &name,
                slice::from_ref(&caches::BYTECODE),
            )),
            Temperature::Process | Temperature::Disk => None,
        };
        let caches = caches
            .transpose()
            .map_err(|why| cannot_create(&self.output, &why))?;
        let quiet = (number > 0 || self.among_several) && !self.request.output_of_all;
        let through = match self.pattern.is_some() {
            true => Some(Through::new(quiet)),
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
            input: match self.among_several && self.input == Input::Once {
                true => Stdio::null(),
                false => self.input.of_start(number),
            },
            quiet,
            errors: self.errors(&directory),
            lines: through.zip(self.pattern.clone()),
            directory: &directory,
            limit: self.request.limit,
        };
        let ended = start.run(signals).inspect_err(|_| {
            // Nothing ran, so nothing is kept.
            let _ = fs::remove_dir_all(&directory);
        })?;
        Ok(self.finished(name, &directory, temperature, evicted, ended))
    }

    /// The file for the standard error of a start whose output is not shown, to explain a
    /// failure.
    fn errors(&self, directory: &Path) -> Option<File> {
        (self.among_several && !self.request.output_of_all)
            .then(|| File::create(directory.join(STDERR)).ok())
            .flatten()
    }

    /// The variables to set for a start.
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
                iterations: &self.request.iterations.to_string(),
                python_iterations: self.request.hooks_frameworks(),
                unbuffered: piped,
            };
            variables.extend(inject::variables(&self.installed, &options, user));
        }
        Ok(variables)
    }

    fn evict(&mut self, number: usize, temperature: Temperature) -> Option<Evicted> {
        if temperature != Temperature::Disk {
            return None;
        }
        if number == 0 {
            self.note("The first start used the page cache as it was found: the files to evict are only known after it.".into());
            return None;
        }
        let ours = [self.installed.directory.as_path(), self.output.as_path()];
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
        if ended.exit_code == 0 {
            let _ = fs::remove_file(directory.join(STDERR));
        }
        let left = Left::in_directory(directory, ended.pid);
        let unrecorded = match (left, &self.program.unrecorded) {
            (Left::Nothing, Some(why)) => Some(format!("{why}; its CPU time is only sampled from outside.")),
            (Left::Nothing, None) if ended.exit_code != 0 => Some(format!(
                "The program ended with exit code {} before preheat could record it; see its message above.",
                ended.exit_code
            )),
            (Left::Nothing, None) => Some("The program left no recording: LD_PRELOAD may have been removed from its environment, or the disk was full.".to_owned()),
            _ => None,
        };
        match (&unrecorded, &self.program.unrecorded) {
            (Some(why), _) => self.note(why.clone()),
            (None, Some(why)) if left == Left::ByOthers => {
                self.note(format!("{why}; only its child processes are recorded."));
            }
            _ => {}
        }
        let own = self.program.executable.clone();
        for (path, why) in ended.unrecorded.iter().filter(|(path, _)| *path != own) {
            let name = path.display();
            self.note(format!(
                "{name}, which the command started, {why}; its time counts as the program's own CPU time."
            ));
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

    pub(crate) fn save(&mut self) {
        if let Err(why) = recording::save(&self.manifest, &self.output) {
            let path = self.output.join(recording::NAME);
            let unsaved = format!("{} cannot be written: {why}", path.display());
            self.note(unsaved.clone());
            self.unsaved.get_or_insert(unsaved);
        }
    }

    fn end_early(&mut self, ending: Ending) {
        let why = ending.own(self.manifest.starts.len(), self.order.len());
        let settings = &mut self.manifest.settings;
        if settings.ended_early.is_none() {
            settings.ended_early = Some(why);
            settings.ended_with = ending.exit_code();
        }
        self.ending.get_or_insert(ending);
    }

    /// Ends this series because another one ended, unless all its starts are done.
    pub(crate) fn end_with(&mut self, ending: &Ending) {
        let (made, planned) = (self.manifest.starts.len(), self.order.len());
        if self.ending.is_none() && made < planned {
            let why = ending.of_another(made, planned);
            self.manifest.settings.ended_early.get_or_insert(why);
        }
    }

    /// Adds a note, once.
    fn note(&mut self, note: String) {
        if !self.manifest.notes.contains(&note) {
            self.manifest.notes.push(note);
        }
    }
}
