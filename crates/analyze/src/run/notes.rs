//! Human-readable notes on missing or doubtful data in a recording.

mod doubts;

pub(super) use doubts::Doubts;

use super::detail::detailed;
use super::examine::{Examined, MAX_ITERATIONS};
use super::iterations::{Decision, together};
use super::path::is_compile_worker;
use super::summary::Group;
use super::timers::{Regions, listed, unpaired};
use super::torch_compile;
use super::trace::{Process, SpanKind, StartTrace};
use super::{IterationRule, IterationsBy, Recording};
use crate::units;

/// Fewer starts give no interval.
const FOR_AN_INTERVAL: usize = 3;

/// All notes, each once.
pub(super) fn notes(
    recording: &Recording,
    examined: &[Examined],
    decision: &Decision,
    group: Option<&Group>,
) -> Vec<String> {
    let by = decision.by;
    let mut notes = Notes::default();
    let manifest = &recording.manifest;
    manifest
        .notes
        .iter()
        .for_each(|note| notes.add(note.clone()));
    for (info, trace) in manifest.starts.iter().zip(&recording.starts) {
        info.unrecorded
            .iter()
            .for_each(|why| notes.add(why.clone()));
        trace
            .problems
            .iter()
            .for_each(|what| notes.add(what.clone()));
        for process in &trace.processes {
            process
                .notes
                .iter()
                .for_each(|note| notes.add(note.clone()));
        }
    }
    unseen_python(recording, &mut notes);
    dropped(recording, &mut notes);
    without_detail(recording, examined, &mut notes);
    failed(recording, examined, &mut notes);
    busy_machine(examined, &mut notes);
    if by == IterationsBy::None {
        notes.add(match &manifest.settings.iterations {
            IterationRule::Auto => {
                let once = decision.once.as_deref();
                let why = once.unwrap_or("No repetition was found");
                format!(
                    "{why}, so the time to first extends to the end of the program; use \
                     --iterations to define an iteration."
                )
            }
            rule => format!(
                "No iterations were found with --iterations {rule}, so the time to first extends \
                 to the end of the program."
            ),
        });
    }
    if by == IterationsBy::Lines {
        lines_together(recording, &mut notes);
    }
    let most = examined.iter().map(|e| e.iterations_in_all).max();
    if let Some(most) = most.filter(|most| *most > MAX_ITERATIONS) {
        notes.add(format!(
            "A start has up to {most} iterations; only the first {MAX_ITERATIONS} are analyzed."
        ));
    }
    match group.map(|group| group.starts.len()) {
        None => notes.add(
            "No start could be explained; times are from exec to the end of the program."
                .to_owned(),
        ),
        Some(count) if count < FOR_AN_INTERVAL => {
            let beside = if manifest.starts.len() > 1 && count > 0 {
                " besides the first"
            } else {
                ""
            };
            let starts = match count {
                1 => "One start",
                _ => "Two starts",
            };
            let verb = if count == 1 { "is" } else { "are" };
            notes.add(format!(
                "{starts}{beside} {verb} too few for an interval; use --starts 5."
            ));
        }
        Some(_) => {}
    }
    notes.all
}

/// Counts the regions that are not listed.
pub(super) fn more_regions(more: usize) -> Option<String> {
    (more > 0).then(|| format!("The program times {more} more regions, which are not listed."))
}

/// Clock readings that could not be paired. A single one is just a timestamp.
pub(super) fn unpaired_readings(regions: &Regions) -> Option<String> {
    let readings: usize = regions.unpaired.iter().map(|(_, count)| count).sum();
    let lines = listed(&unpaired(regions));
    (readings > 1).then(|| match regions.all.is_empty() {
        true => format!(
            "The program reads clocks at {lines}, but preheat cannot determine from its source \
             which readings it subtracts: no timed regions are listed."
        ),
        false => format!(
            "Clock readings at {lines} belong to no timed region: preheat cannot determine from \
             the source what they are subtracted from."
        ),
    })
}

#[derive(Default)]
struct Notes {
    all: Vec<String>,
}

impl Notes {
    fn add(&mut self, note: String) {
        if !note.is_empty() && !self.all.contains(&note) {
            self.all.push(note);
        }
    }
}

/// Python processes whose imports and iterations are not recorded, and programs started
/// without the recorder.
fn unseen_python(recording: &Recording, notes: &mut Notes) {
    for start in &recording.starts {
        for (at, process) in start.processes.iter().enumerate() {
            let file = process.program.rsplit('/').next().unwrap_or_default();
            let arguments = || process.arguments.iter().skip(1);
            let is_unseen = process.python_began.is_none() && at_work(process);
            if file.starts_with("python") && is_unseen && !is_compilers(process, start) {
                let options = arguments().take_while(|word| word.starts_with('-'));
                let isolated = options.into_iter().find(|word| {
                    !word.starts_with("--") && word.contains(['I', 'E', 'S']) && word.len() <= 4
                });
                let why = match isolated {
                    Some(option) => format!("{option} disables the recorder's Python hooks"),
                    None => "its Python is older than 3.8 or not CPython, or its PYTHONPATH \
                             was changed"
                        .to_owned(),
                };
                notes.add(format!(
                    "Imports and iterations of {file} are not recorded ({why}): its imports \
                     count as the program's own CPU time."
                ));
            }
            // A process that replaced it or was started by it, with the recorder loaded.
            let followed = start.processes.iter().enumerate().any(|(other, later)| {
                let own = later.pid == process.pid && other > at;
                (own || later.parent == process.pid) && later.main.is_some()
            });
            if WRAPPERS.contains(&file) && !followed {
                notes.add(format!(
                    "{file} started a program that is not recorded, because its environment was \
                     cleared (env -i removes LD_PRELOAD; env -u NAME removes single variables) or \
                     because it runs as another user, who cannot write to the recording. All of \
                     its time counts as the program's own CPU time."
                ));
            }
        }
    }
}

/// Returns true if torch.compile started a process. Its time counts as kernel compilation.
fn is_compilers(process: &Process, start: &StartTrace) -> bool {
    if is_compile_worker(process) {
        return true;
    }
    let mut parents = (start.processes.iter()).filter(|parent| parent.pid == process.parent);
    parents.any(|parent| {
        let mut spans = parent.threads.iter().flat_map(|thread| &thread.spans);
        spans.any(|span| {
            let text = || parent.texts.get(span.detail as usize);
            let around = span.begin <= process.began && process.began <= span.end;
            around
                && span.what == SpanKind::Range
                && text().is_some_and(|text| torch_compile::is_part(text))
        })
    })
}

/// Programs that start another program with a different environment or as a different user.
const WRAPPERS: [&str; 8] = [
    "env", "setpriv", "su", "sudo", "runuser", "gosu", "su-exec", "chpst",
];

/// Returns true if a process did anything after the recorder was loaded into it.
fn at_work(process: &Process) -> bool {
    process.main.is_some()
}

/// Lines that arrive together are reported if they exceed this share of all lines.
const MANY_TOGETHER: f64 = 0.05;

/// Lines that were read together do not have individual times.
fn lines_together(recording: &Recording, notes: &mut Notes) {
    let counts = recording
        .starts
        .iter()
        .map(|start| (together(&start.lines), start.lines.len()));
    let most = counts.max_by_key(|(together, _)| *together);
    if let Some((together, all)) = most
        && together as f64 > MANY_TOGETHER * all as f64
    {
        notes.add(format!(
            "{together} of {all} lines arrived together with the previous one: their times come \
             from the regions that the program times before them, or are spread evenly. A program that writes to a pipe may buffer its output; make it flush \
             each line (stdbuf -oL does this for many programs)."
        ));
    }
}

fn dropped(recording: &Recording, notes: &mut Notes) {
    let processes = recording.starts.iter().flat_map(|start| &start.processes);
    let mut dropped = 0;
    let mut earliest: Option<u64> = None;
    for process in processes.filter(|process| process.dropped > 0) {
        dropped = dropped.max(process.dropped);
        if let Some(at) = process.full_at {
            earliest = Some(earliest.map_or(at, |other| other.min(at)));
        }
    }
    if dropped > 0 {
        let since = earliest.map_or(String::new(), |at| {
            format!(" from {} on", units::duration(at as f64 * 1e-9))
        });
        notes.add(format!(
            "The recording reached its limit of {}: up to {dropped} calls of a process are only \
             counted{since}; raise --limit to record more.",
            units::bytes(recording.manifest.settings.limit)
        ));
    }
}

/// Overhead below this many seconds is not reported.
const REPORTED_OVERHEAD: f64 = 1e-6;

/// All iterations are timed, but only some of them are recorded in detail.
fn without_detail(recording: &Recording, examined: &[Examined], notes: &mut Notes) {
    let starts = recording.starts.iter().zip(examined);
    let counts = starts.map(|(trace, examined)| {
        let detailed = detailed(trace, examined.thread, &examined.iterations);
        let whole = detailed.iter().filter(|detailed| **detailed).count();
        (detailed.len() - whole, whole, examined.detail_cost)
    });
    let most = counts.max_by_key(|(left_out, _, _)| *left_out);
    if let Some((left_out, whole, cost)) = most.filter(|(left_out, _, _)| *left_out > 0) {
        let took = match cost >= REPORTED_OVERHEAD {
            true => format!(
                "; the overhead of {} each is subtracted",
                units::duration(cost)
            ),
            false => String::new(),
        };
        notes.add(format!(
            "All {} iterations are timed, and {whole} of them are recorded call by call{took}; \
             only those show the causes of a steady iteration.",
            left_out + whole
        ));
    }
}

fn failed(recording: &Recording, examined: &[Examined], notes: &mut Notes) {
    let infos = recording.manifest.starts.iter().zip(examined);
    let failed: Vec<i32> = infos
        .filter(|(info, examined)| info.exit_code != 0 && examined.iterations.is_empty())
        .map(|(info, _)| info.exit_code)
        .collect();
    if let Some(code) = failed.first() {
        let of = recording.manifest.starts.len();
        let ended = match code {
            129..=192 => format!("ended by signal {}", code - 128),
            _ => format!("ended with exit code {code}"),
        };
        notes.add(match (failed.len(), of) {
            (1, 1) => format!("The command {ended}."),
            (1, _) => format!("One of {of} starts {ended} and is not counted."),
            (count, _) if count == of => {
                // The reason of an early end states it already.
                if recording.manifest.settings.ended_with == Some(*code) {
                    return;
                }
                format!("All {of} starts failed; the first {ended}.")
            }
            (count, _) => format!(
                "{count} of {of} starts failed and are not counted; the first of them {ended}."
            ),
        });
    }
}

/// Waiting for a processor is reported above this share of the time to first.
const BUSY_MACHINE: f64 = 0.05;

fn busy_machine(examined: &[Examined], notes: &mut Notes) {
    let waited = examined.iter().filter_map(|start| {
        let time = start.time_to_first? as f64 * 1e-9;
        let waited = start.waited_for_processor;
        (waited > BUSY_MACHINE * time).then_some(waited)
    });
    if let Some(most) = waited.max_by(f64::total_cmp) {
        notes.add(format!(
            "The machine was busy: {} were spent waiting for a processor; repeat this on a quiet \
             machine.",
            units::duration(most)
        ));
    }
}
