//! Many files on all cores: each worker reads and judges one at a time.
//!
//! A benchmark is judged as soon as it is read and its times are let go, so the memory does not
//! grow with the number of files. What comes out is in the order of the files, and does not
//! depend on how many workers there are.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use preheat_analyze::classify::{self, Benchmark, Format, Times};
use preheat_report::ClassifySketch;
use preheat_times::{Settings, read};

use super::input::Input;
use crate::args::ClassifyArguments;
use crate::progress::{Bar, Progress};

/// So many benchmarks are kept to be drawn.
const SKETCHES: usize = 2000;

/// The bar is drawn no more often than this, so that many small benchmarks cost nothing,
const OFTEN: Duration = Duration::from_millis(100);
/// and no less often than this, so that its clock goes on while a large one is judged.
const SELDOM: Duration = Duration::from_secs(1);

/// What a worker tells.
enum Message {
    /// Of this file it begins to judge the benchmark with this number and name.
    Judging(usize, usize, String),
    /// It is done with a file.
    Done(usize, Judged),
}

/// What came of one file.
#[derive(Default)]
pub(super) struct Judged {
    pub benchmarks: Vec<Benchmark>,
    /// One for each benchmark; none where no page is made, or too many are kept.
    pub sketches: Vec<Option<ClassifySketch>>,
    pub notes: Vec<String>,
    /// Why it could not be read to its end.
    pub failure: Option<String>,
}

/// Judges every file; the results in their order.
pub(super) fn judge(arguments: &ClassifyArguments, inputs: &[Input]) -> Vec<Judged> {
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
    let mut results: Vec<Judged> = Vec::new();
    results.resize_with(inputs.len(), Judged::default);
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (work, next, send) = (&work, &next, send.clone());
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = inputs.get(at) else { break };
                    let judged = work.file(at, input, &|count, name| {
                        let _ = send.send(Message::Judging(at, count, name.to_owned()));
                    });
                    if send.send(Message::Done(at, judged)).is_err() {
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

/// Puts what comes to its place, and shows how far it is.
fn collect(receive: &mpsc::Receiver<Message>, inputs: &[Input], results: &mut [Judged]) {
    let (bar, begin) = (Bar::new(), Instant::now());
    let (mut done, mut next) = (0, String::new());
    let mut drawn: Option<Instant> = None;
    loop {
        match receive.recv_timeout(SELDOM) {
            Ok(Message::Judging(at, count, name)) => {
                next = format!("{}: benchmark {count}, {name}", inputs[at].label());
            }
            Ok(Message::Done(at, judged)) => {
                results[at] = judged;
                done += 1;
                next = inputs[at].label();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if drawn.is_some_and(|at| at.elapsed() < OFTEN) {
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
    /// Benchmarks of each file that are kept to be drawn.
    sketches: usize,
}

impl Work<'_> {
    /// Judges a file; `judging` is told of each benchmark before.
    fn file(&self, at: usize, input: &Input, judging: &dyn Fn(usize, &str)) -> Judged {
        let mut judged = Judged::default();
        let settings = Settings {
            name: input.name(),
            unit: self.arguments.unit,
            mixed_lengths: self.arguments.mixed_lengths,
        };
        let label = input.label();
        let most = if at < SKETCHES { self.sketches } else { 0 };
        let mut take = |format: Format, times: Times| {
            judging(judged.benchmarks.len() + 1, &times.name);
            let seed = self.arguments.seed;
            // Only times that can be judged are read.
            if let Some(found) = classify::judge(&times, &label, format, seed, self.threads) {
                let sketch =
                    (judged.benchmarks.len() < most).then(|| ClassifySketch::of(&times.starts));
                judged.benchmarks.push(found);
                judged.sketches.push(sketch);
            }
        };
        let read = match input.open() {
            Ok(bytes) => read(bytes, &settings, &mut take).map_err(|why| why.to_string()),
            Err(why) => Err(format!("it cannot be opened: {why}")),
        };
        match read {
            Ok(notes) => judged.notes = notes,
            Err(why) => judged.failure = Some(why),
        }
        judged
    }
}
