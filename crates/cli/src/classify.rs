//! `preheat classify`: classifies iteration times from other tools.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use preheat_analyze::classify;
use preheat_model::classify::{Benchmark, CLASSIFY_SCHEMA, ClassifyReport, Format, Times, Unread};
use preheat_report::{ClassifySketch, classify_html, classify_json, classify_terminal};
use preheat_times::{Settings, read};

use crate::args::ClassifyArguments;
use crate::exit::{USAGE, Usage, complain};
use crate::output::stdout_terminal;
use crate::progress::{Bar, Progress};
use crate::show::{DocumentFormat, Targets};

/// The maximum number of unreadable files to report individually.
const MAX_ERRORS: usize = 20;

pub fn run(arguments: &ClassifyArguments) -> Result<ExitCode> {
    let inputs = Input::of(&arguments.files)?;
    let targets = Targets::of_document(&arguments.show)?;
    targets.spare(arguments.files.iter().map(PathBuf::as_path))?;
    let (report, sketches) = gather(arguments, &inputs);
    if !report.benchmarks.is_empty() || !report.unread.is_empty() {
        let written = targets.write(|format| match format {
            DocumentFormat::Json => classify_json(&report).into_bytes(),
            DocumentFormat::Html => classify_html(&report, &sketches).into_bytes(),
        });
        let printed = match report.benchmarks.len() {
            0 => Ok(()),
            _ => targets.print(&classify_terminal(&report, &stdout_terminal())),
        };
        written.and(printed)?;
    }
    Ok(report_errors(&report.unread))
}

/// Classifies all inputs and merges the results in the order of the files.
fn gather(
    arguments: &ClassifyArguments,
    inputs: &[Input],
) -> (ClassifyReport, Vec<Option<ClassifySketch>>) {
    let mut report = ClassifyReport {
        schema: CLASSIFY_SCHEMA.to_owned(),
        preheat: env!("CARGO_PKG_VERSION").to_owned(),
        seed: arguments.seed,
        files: inputs.len(),
        benchmarks: Vec::new(),
        unread: Vec::new(),
        notes: Vec::new(),
    };
    let mut sketches = Vec::new();
    for (input, result) in inputs.iter().zip(classify_all(arguments, inputs)) {
        let FileResult {
            benchmarks,
            sketches: of_file,
            notes,
            failure,
        } = result;
        report.benchmarks.extend(benchmarks);
        sketches.extend(of_file);
        let labelled = |note| format!("{}: {note}", input.label());
        report.notes.extend(notes.into_iter().map(labelled));
        report.unread.extend(failure.map(|why| Unread {
            file: input.label(),
            why,
        }));
    }
    (report, sketches)
}

/// Prints the files that could not be read to standard error, and chooses the exit code.
fn report_errors(unread: &[Unread]) -> ExitCode {
    for Unread { file, why } in unread.iter().take(MAX_ERRORS) {
        complain(&format!("{file}: {why}"));
    }
    if unread.len() > MAX_ERRORS {
        let more = unread.len() - MAX_ERRORS;
        complain(&format!("{more} more files could not be read"));
    }
    match unread.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(USAGE),
    }
}

// Classifies many files in parallel; each worker handles one file at a time.
//
// A benchmark is classified as soon as it is read, and its times are dropped, so memory does
// not grow with the number of files. The results are in the order of the files and do not
// depend on the number of workers.

/// The maximum number of sketches to keep for the HTML page.
const SKETCHES: usize = 2000;

/// The minimum time between two updates of the progress bar, so that many small benchmarks
/// do not slow down drawing it.
const MIN_REDRAW: Duration = Duration::from_millis(100);
/// The maximum time between two updates, so that the clock keeps running during a large
/// benchmark.
const MAX_REDRAW: Duration = Duration::from_secs(1);

/// A message from a worker.
enum Message {
    /// It begins a benchmark: file index, benchmark number, benchmark name.
    Began(usize, usize, String),
    /// It finished a file.
    Done(usize, FileResult),
}

/// The result of one file.
#[derive(Default)]
struct FileResult {
    pub benchmarks: Vec<Benchmark>,
    /// One entry per benchmark; `None` without an HTML page or beyond the maximum.
    pub sketches: Vec<Option<ClassifySketch>>,
    pub notes: Vec<String>,
    /// The error that stopped reading the file.
    pub failure: Option<String>,
}

/// Classifies every file and returns the results in the same order.
fn classify_all(arguments: &ClassifyArguments, inputs: &[Input]) -> Vec<FileResult> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cores.min(inputs.len()).max(1);
    let work = Work {
        arguments,
        threads: (cores / workers).max(1),
        sketches: match arguments.show.html {
            Some(_) => SKETCHES.div_ceil(inputs.len().max(1)),
            None => 0,
        },
    };
    let next = AtomicUsize::new(0);
    let mut results: Vec<FileResult> = Vec::new();
    results.resize_with(inputs.len(), FileResult::default);
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (work, next, send) = (&work, &next, send.clone());
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = inputs.get(at) else { break };
                    let result = work.file(at, input, &|count, name| {
                        let _ = send.send(Message::Began(at, count, name.to_owned()));
                    });
                    if send.send(Message::Done(at, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        collect(&receive, inputs, &mut results);
    });
    results
}

/// Stores incoming results at their index and draws the progress bar.
fn collect(receive: &mpsc::Receiver<Message>, inputs: &[Input], results: &mut [FileResult]) {
    let (bar, begin) = (Bar::new(), Instant::now());
    let (mut done, mut next) = (0, String::new());
    let mut drawn: Option<Instant> = None;
    loop {
        match receive.recv_timeout(MAX_REDRAW) {
            Ok(Message::Began(at, count, name)) => {
                next = format!("{}: benchmark {count}, {name}", inputs[at].label());
            }
            Ok(Message::Done(at, result)) => {
                results[at] = result;
                done += 1;
                next = inputs[at].label();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if drawn.is_some_and(|at| at.elapsed() < MIN_REDRAW) {
            continue;
        }
        drawn = Some(Instant::now());
        bar.draw(&Progress {
            done,
            total: inputs.len(),
            of: "files",
            next: next.clone(),
            elapsed: begin.elapsed(),
            budget_used: None,
        });
    }
}

struct Work<'a> {
    arguments: &'a ClassifyArguments,
    /// Threads for the starts of one benchmark.
    threads: usize,
    /// The maximum number of sketches per file.
    sketches: usize,
}

impl Work<'_> {
    /// Classifies one file; calls `began` with the number and name of each benchmark first.
    fn file(&self, at: usize, input: &Input, began: &dyn Fn(usize, &str)) -> FileResult {
        let mut result = FileResult::default();
        let settings = Settings {
            name: input.name(),
            unit: self.arguments.unit,
            mixed_lengths: self.arguments.mixed_lengths,
        };
        let label = input.label();
        let most = if at < SKETCHES { self.sketches } else { 0 };
        let mut classify_one = |format: Format, times: Times| {
            began(result.benchmarks.len() + 1, &times.name);
            let seed = self.arguments.seed;
            // The reader returns only times that can be classified, so this is always Some.
            if let Some(found) = classify::judge(&times, &label, format, seed, self.threads) {
                let sketch =
                    (result.benchmarks.len() < most).then(|| ClassifySketch::of(&times.starts));
                result.benchmarks.push(found);
                result.sketches.push(sketch);
            }
        };
        let read = match input.open() {
            Ok(bytes) => read(bytes, &settings, &mut classify_one).map_err(|why| why.to_string()),
            Err(why) => Err(format!("cannot open the file: {why}")),
        };
        match read {
            Ok(notes) => result.notes = notes,
            Err(why) => result.failure = Some(why),
        }
        result
    }
}

// The inputs of `preheat classify`: files and standard input.

/// A file, or standard input.
enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    /// The named files, or standard input if none is named and it is not a terminal.
    pub fn of(files: &[PathBuf]) -> Result<Vec<Input>> {
        if files.is_empty() {
            if io::stdin().is_terminal() {
                return Err(Usage(
                    "name files with iteration times, or pipe them in, one number per line; \
                     `preheat classify --help` has examples"
                        .to_owned(),
                )
                .into());
            }
            return Ok(vec![Input::Stdin]);
        }
        let stdin = |path: &&PathBuf| path.as_path() == Path::new("-");
        if files.iter().filter(stdin).count() > 1 {
            return Err(Usage("standard input (-) can be read only once".to_owned()).into());
        }
        let input = |path: &PathBuf| match stdin(&path) {
            true => Input::Stdin,
            false => Input::File(path.clone()),
        };
        Ok(files.iter().map(input).collect())
    }

    /// The name of the input in reports.
    pub fn label(&self) -> String {
        match self {
            Input::Stdin => "standard input".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }

    /// The name of a benchmark that has none in the file: the file stem.
    pub fn name(&self) -> String {
        match self {
            Input::Stdin => self.label(),
            Input::File(path) => (path.file_stem())
                .map_or_else(|| self.label(), |stem| stem.to_string_lossy().into_owned()),
        }
    }

    /// Opens the input for reading.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Input::Stdin => Box::new(io::stdin()),
            Input::File(path) => Box::new(File::open(path)?),
        })
    }
}
