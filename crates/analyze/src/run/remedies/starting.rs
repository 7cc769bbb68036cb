//! Before the program's own work: a parent that is warm, a driver that starts meanwhile,
//! files that are there before they are needed.

use super::super::examine::seconds;
use super::super::facts::{Thing, usage};
use super::super::path::Meant;
use super::super::trace::What;
use super::super::{Cause, Temperature};
use super::{Case, Told, ladder, remedy};
use crate::units;

/// What a fork costs, in seconds.
const FORK: f64 = 0.01;
/// From this part of waiting on, the disk is the reason.
const MUCH_WAITING: f64 = 0.1;
/// Bytes a second that even a slow disk, or one far away, gives.
const SLOW_DISK: f64 = 50e6;

/// Imports done once, in a parent that is forked.
pub(super) fn warm_parent(case: &Case) -> Option<Told> {
    let imports = case.seconds(Cause::PythonImports) + case.seconds(Cause::BytecodeCompilation);
    if !case.is_much(imports) {
        return None;
    }
    let loads = case.seconds(Cause::LibraryLoading) * loaded_by_imports(case);
    let start = case.seconds(Cause::ProcessStart);
    let saving = imports + loads + start - FORK;
    let mut sum = format!("imports {}", units::duration(imports));
    for (what, seconds) in [
        ("libraries that they load", loads),
        ("Python's own start", start),
    ] {
        if seconds > 0.0 {
            sum += &format!(" + {what} {}", units::duration(seconds));
        }
    }
    let careful = if used_a_driver(case) {
        " It does not touch the GPU."
    } else {
        ""
    };
    let fork = units::duration(FORK);
    let told = match is_start(&case.report.command) {
        true => format!(
            "This start was a plain one: `preheat start -v` says why. From a warm parent it saves \
             {sum} − a fork {fork}."
        ),
        false => format!(
            "Start it with `preheat start`: a process that has imported the modules forks each \
             start.{careful} That saves {sum} − a fork {fork}. `preheat start --measure` shows \
             whether it does."
        ),
    };
    Some(remedy(
        "warm-parent",
        "Start from a warm parent",
        told,
        saving,
        "the parent is there and has done the imports; a fork costs about 10 ms",
        &[
            Cause::PythonImports,
            Cause::BytecodeCompilation,
            Cause::ProcessStart,
            Cause::LibraryLoading,
        ],
    ))
}

/// Whether the command is `preheat start` with another.
fn is_start(command: &[String]) -> bool {
    let program = command.first().map(|word| word.rsplit('/').next());
    program == Some(Some("preheat")) && command.get(1).is_some_and(|word| word == "start")
}

/// Whether a GPU's driver was called.
fn used_a_driver(case: &Case) -> bool {
    let causes = [Cause::DriverInit, Cause::ContextCreation];
    let launches = |what| {
        case.facts()
            .is_some_and(|facts| facts.count_in_all(what) > 0)
    };
    causes.iter().any(|cause| case.seconds(*cause) > 0.0)
        || launches(What::Launch)
        || case.report.memory.device.is_some()
}

/// The part of library loading on the path that imports asked for, 0 to 1.
fn loaded_by_imports(case: &Case) -> f64 {
    let Some((place, _)) = case.examined.thread else {
        return 0.0;
    };
    let process = case.start.facts[place].process;
    let mut within = vec![false; process.loads.len()];
    let facts = &case.start.facts[place];
    for (index, thread) in process.threads.iter().enumerate() {
        if facts.count(index, What::Load) == 0 {
            continue;
        }
        let mut import_until = 0;
        for span in &thread.spans {
            match span.what {
                What::Import => import_until = span.end.max(import_until),
                What::Load => {
                    if let Some(is) = within.get_mut(span.detail as usize) {
                        *is = span.begin < import_until;
                    }
                }
                _ => {}
            }
        }
    }
    let tallies = [&case.examined.before, &case.examined.first];
    let items = tallies.iter().flat_map(|tally| tally.items());
    let loads = items.filter(|(_, id, _)| match case.examined.meant(*id) {
        Meant::Of(process, Thing::Load(at)) => process == place && within[at as usize],
        _ => false,
    });
    let loads: f64 = loads.map(|(_, _, sum)| seconds(sum.nanoseconds)).sum();
    let all = case.examined.causes[Cause::LibraryLoading.index()];
    (loads / all.max(f64::MIN_POSITIVE)).min(1.0)
}

/// Driver and context in the background, while the imports run.
pub(super) fn overlapped_init(case: &Case) -> Option<Told> {
    let init = case.seconds(Cause::DriverInit) + case.seconds(Cause::ContextCreation);
    let mut calls =
        (case.items(Cause::DriverInit).iter()).chain(case.items(Cause::ContextCreation));
    if !calls.any(|item| item.name.starts_with("cu")) {
        return None;
    }
    let begin = (case.examined.parts.iter())
        .filter(|part| matches!(part.cause, Cause::DriverInit | Cause::ContextCreation))
        .map(|part| part.begin)
        .next()?;
    let before = case.examined.parts.iter().filter(|part| part.end <= begin);
    let hidden_behind: u64 = before
        .filter(|part| {
            matches!(
                part.cause,
                Cause::PythonImports | Cause::BytecodeCompilation | Cause::LibraryLoading
            )
        })
        .map(|part| part.end - part.begin)
        .sum();
    let hidden_behind = seconds(hidden_behind) * case.scale;
    Some(remedy(
        "overlapped-init",
        "Start the driver during the imports",
        format!(
            "`preheat start --measure` tries it: cuInit and cuDevicePrimaryCtxRetain are called \
             in a background thread while the program imports. Driver and context take {} here, \
             after {} of imports and libraries.",
            units::duration(init),
            units::duration(hidden_behind)
        ),
        init.min(hidden_behind),
        "a core is free during the imports, and nothing before them chooses devices or forks",
        &[Cause::DriverInit, Cause::ContextCreation],
    ))
}

/// Files read ahead.
pub(super) fn prefetch(case: &Case) -> Option<Told> {
    let causes = [Cause::LibraryLoading, Cause::PythonImports];
    let what = "Read the program's libraries and modules ahead, before they are needed and in \
                large pieces: when the image or container is started (`vmtouch -t`, or `cat` of \
                the files to /dev/null), or beside the first imports, which `preheat start \
                --measure` tries.";
    let disk = ladder::rung(case, Temperature::Disk).filter(|rung| rung.starts >= 2);
    let process = ladder::rung(case, Temperature::Process).filter(|rung| rung.starts >= 2);
    if let (Some(disk), Some(process)) = (disk, process) {
        let told = remedy(
            "prefetch",
            "Read files ahead",
            format!(
                "{what} Files that are there save, {}.",
                ladder::base(disk, process)
            ),
            ladder::difference(disk, process),
            "the start finds a cold disk, as at the temperature `disk`, and reading ahead is \
             done by the time that it begins",
            &causes,
        );
        return Some(Told {
            base: Some(disk.time_to_first.median),
            ..told
        });
    }
    let (mut waiting, mut all) = (0.0, 0.0);
    for cause in causes {
        for item in case.items(cause) {
            waiting += item.waiting.unwrap_or(0.0);
            all += item.seconds;
        }
    }
    // Not all waiting is for a disk: never more than a slow one would take for what was read.
    let waiting = waiting.min(bytes_read(case) / SLOW_DISK);
    if waiting < MUCH_WAITING * all {
        return None;
    }
    Some(remedy(
        "prefetch",
        "Read files ahead",
        what.to_owned(),
        waiting,
        "what imports and libraries waited was for a disk, and reading ahead is done in time",
        &causes,
    ))
}

/// Bytes that imports and loads read from a disk, as far as the kernel says so.
fn bytes_read(case: &Case) -> f64 {
    let Some(facts) = case.facts() else {
        return 0.0;
    };
    let spans = case.spans(What::Import).chain(case.spans(What::Load));
    // What lies within another is in its number already.
    let outermost = spans.filter(|span| span.depth == 0);
    let usages = outermost.filter_map(|span| usage(facts.process, span));
    usages.map(|usage| usage.bytes_read as f64).sum()
}
