//! Classifies many files in parallel; each worker handles one file at a time.
//!
//! A benchmark is classified as soon as it is read, and its times are dropped, so memory does
//! not grow with the number of files. The results are in the order of the files and do not
//! depend on the number of workers.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use preheat_analyze::classify;
use preheat_model::classify::{Benchmark, Format, Times};
use preheat_report::ClassifySketch;
use preheat_times::{Settings, read};

use super::input::Input;
use crate::args::ClassifyArguments;
use crate::progress::{Bar, Progress};

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
pub(super) struct FileResult {
    pub benchmarks: Vec<Benchmark>,
    /// One entry per benchmark; `None` without an HTML page or beyond the maximum.
    pub sketches: Vec<Option<ClassifySketch>>,
    pub notes: Vec<String>,
    /// The error that stopped reading the file.
    pub failure: Option<String>,
}

/// Classifies every file and returns the results in the same order.
pub(super) fn classify_all(arguments: &ClassifyArguments, inputs: &[Input]) -> Vec<FileResult> {
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
