//! Remedies before the program's own work: a warm parent, overlapped driver initialization,
//! files that are read ahead.

use preheat_model::RemedyId;

use super::super::examine::seconds;
use super::super::facts::{ItemRef, usage};
use super::super::items::file_name;
use super::super::path::ItemMeaning;
use super::super::trace::SpanKind;
use super::super::{Cause, Item, Temperature};
use super::{RemedyInput, Suggestion, remedy};
use crate::units;

/// The cost of a fork, in seconds.
const FORK: f64 = 0.01;
/// Above this share of waiting, the disk is the reason.
const MUCH_WAITING: f64 = 0.1;
/// The speed of a slow or remote disk, in bytes per second.
const SLOW_DISK: f64 = 50e6;

/// Imports done once, in a parent that is forked. Counts only the process that `preheat
/// start` serves: the workers of a launcher start as usual.
pub(super) fn warm_parent(case: &RemedyInput) -> Option<Suggestion> {
    let all = case.seconds(Cause::PythonImports) + case.seconds(Cause::BytecodeCompilation);
    if !case.is_much(all) {
        return None;
    }
    if let Some(why) = &case.manifest.started_plainly {
        return Some(not_served(why));
    }
    let served = served(case)?;
    let imports: f64 = [Cause::PythonImports, Cause::BytecodeCompilation]
        .into_iter()
        .map(|cause| case.seconds(cause) * share_of(case, cause, served))
        .sum();
    let loads = case.seconds(Cause::LibraryLoading) * loaded_by_imports(case, served);
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
    let only = if imports < ALMOST_ALL * all {
        " Other processes of the command still import as usual."
    } else {
        ""
    };
    let fork = units::duration(FORK);
    let suggestion = match is_start(&case.report.command) {
        true => format!(
            "This start was a plain one: run `preheat start -v` to see why. A warm parent would \
             save {sum} − a fork {fork}."
        ),
        false => format!(
            "Start it with `preheat start`: a process that has already imported the modules is \
             forked for each start.{careful} That saves {sum} − a fork {fork}.{only} Run `preheat \
             start --measure` to verify it."
        ),
    };
    Some(remedy(
        RemedyId::WarmParent,
        WARM_PARENT,
        suggestion,
        saving,
        "the parent is running and has done the imports; a fork costs about 10 ms",
        &[
            Cause::PythonImports,
            Cause::BytecodeCompilation,
            Cause::ProcessStart,
            Cause::LibraryLoading,
        ],
    ))
}

const WARM_PARENT: &str = "Start from a warm parent";

/// Above this share of all imports, those of other processes are not mentioned.
const ALMOST_ALL: f64 = 0.95;

/// The remedy if `preheat start` would start the command plainly.
fn not_served(why: &str) -> Suggestion {
    let mut suggestion = remedy(
        RemedyId::WarmParent,
        WARM_PARENT,
        format!("`preheat start` starts this command plainly: {why}."),
        0.0,
        "the command is started as in the recording",
        &[Cause::PythonImports],
    );
    suggestion.remedy.helps = false;
    suggestion
}

/// Programs that run one other program as their child, which `preheat start` then serves;
/// see `crates/shim/src/chain.rs`.
const RUN_ONE_CHILD: [&str; 3] = ["uv", "uvx", "timeout"];

/// The process that `preheat start` serves: the Python that the command execs, or that a
/// launcher runs as its only child.
fn served(case: &RemedyInput) -> Option<usize> {
    let trace = case.start.trace;
    if trace
        .processes
        .iter()
        .all(|process| process.python_began.is_none())
    {
        // There is no mark of Python's begin, for example without our sitecustomize.
        return case.examined.thread.map(|(process, _)| process);
    }
    let first = |is: &dyn Fn(u32, u32) -> bool| {
        let mut all = trace.processes.iter();
        all.position(|process| process.python_began.is_some() && is(process.pid, process.parent))
    };
    let own = first(&|pid, _| pid == trace.pid);
    own.or_else(|| {
        // A statically linked launcher leaves no process file.
        let mut all = trace.processes.iter().rev();
        let root = all.find(|process| process.pid == trace.pid);
        let program = root.map(|process| &process.program);
        let program = program.or(case.report.command.first())?;
        let launches = RUN_ONE_CHILD.contains(&file_name(program));
        launches.then(|| first(&|_, parent| parent == trace.pid))?
    })
}

/// The share of a cause on the path that lies in this process, 0 to 1.
fn share_of(case: &RemedyInput, cause: Cause, process: usize) -> f64 {
    let tallies = [&case.examined.before, &case.examined.first];
    let (mut own, mut all) = (0, 0);
    for (of, id, sum) in tallies.iter().flat_map(|tally| tally.items()) {
        if of == cause {
            all += sum.nanoseconds;
            if matches!(case.examined.meaning(id), ItemMeaning::Of(at, _) if at == process) {
                own += sum.nanoseconds;
            }
        }
    }
    own as f64 / (all as f64).max(1.0)
}

/// Returns true if the command is itself a `preheat start`.
fn is_start(command: &[String]) -> bool {
    let program = command.first().map(|word| word.rsplit('/').next());
    program == Some(Some("preheat")) && command.get(1).is_some_and(|word| word == "start")
}

/// Returns true if a GPU driver was called.
fn used_a_driver(case: &RemedyInput) -> bool {
    let causes = [Cause::DriverInit, Cause::ContextCreation];
    let launches = |what| {
        case.facts()
            .is_some_and(|facts| facts.count_in_all(what) > 0)
    };
    causes.iter().any(|cause| case.seconds(*cause) > 0.0)
        || launches(SpanKind::Launch)
        || case.report.memory.device.is_some()
}

/// The share of library loading on the path that was triggered by imports of this process,
/// 0 to 1.
fn loaded_by_imports(case: &RemedyInput, place: usize) -> f64 {
    let process = case.start.facts[place].process;
    let mut within = vec![false; process.loads.len()];
    let facts = &case.start.facts[place];
    for (index, thread) in process.threads.iter().enumerate() {
        if facts.count(index, SpanKind::Load) == 0 {
            continue;
        }
        let mut import_until = 0;
        for span in &thread.spans {
            match span.what {
                SpanKind::Import => import_until = span.end.max(import_until),
                SpanKind::Load => {
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
    let loads = items.filter(|(_, id, _)| match case.examined.meaning(*id) {
        ItemMeaning::Of(process, ItemRef::Load(at)) => process == place && within[at as usize],
        _ => false,
    });
    let loads: f64 = loads.map(|(_, _, sum)| seconds(sum.nanoseconds)).sum();
    let all = case.examined.causes[Cause::LibraryLoading.index()];
    (loads / all.max(f64::MIN_POSITIVE)).min(1.0)
}

/// Driver and context in the background, while the imports run.
pub(super) fn overlapped_init(case: &RemedyInput) -> Option<Suggestion> {
    let init = case.seconds(Cause::DriverInit) + case.seconds(Cause::ContextCreation);
    let mut calls =
        (case.items(Cause::DriverInit).iter()).chain(case.items(Cause::ContextCreation));
    if !calls.any(Item::is_driver_call) {
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
        RemedyId::OverlappedInit,
        "Initialize the driver during the imports",
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
pub(super) fn prefetch(case: &RemedyInput) -> Option<Suggestion> {
    let causes = [Cause::LibraryLoading, Cause::PythonImports];
    let what = "Read the program's libraries and modules ahead, in large blocks: when the image or \
                container is started (`vmtouch -t`, or `cat` of the files to /dev/null), or in \
                parallel with the first imports, which `preheat start --measure` tries.";
    let disk = super::at_temperature(case, Temperature::Disk).filter(|level| level.starts >= 2);
    let process =
        super::at_temperature(case, Temperature::Process).filter(|level| level.starts >= 2);
    if let (Some(disk), Some(process)) = (disk, process) {
        let suggestion = remedy(
            RemedyId::Prefetch,
            "Read files ahead",
            format!(
                "{what} Saving with cached files, {}.",
                super::base(disk, process)
            ),
            super::difference(disk, process),
            "the start finds a cold disk, as at temperature `disk`, and reading ahead is done \
             before it begins",
            &causes,
        );
        return Some(Suggestion {
            base: Some(disk.time_to_first.value),
            ..suggestion
        });
    }
    let (mut waiting, mut all) = (0.0, 0.0);
    for cause in causes {
        for item in case.items(cause) {
            waiting += item.waiting.unwrap_or(0.0);
            all += item.seconds;
        }
    }
    // Not all waiting is for a disk: at most the time that a slow disk needs for the bytes
    // read.
    let waiting = waiting.min(bytes_read(case) / SLOW_DISK);
    if waiting < MUCH_WAITING * all {
        return None;
    }
    Some(remedy(
        RemedyId::Prefetch,
        "Read files ahead",
        what.to_owned(),
        waiting,
        "imports and libraries waited for a disk, and reading ahead is done in time",
        &causes,
    ))
}

/// Bytes that imports and loads read from a disk, as reported by the kernel.
fn bytes_read(case: &RemedyInput) -> f64 {
    let Some(facts) = case.facts() else {
        return 0.0;
    };
    let spans = case
        .spans(SpanKind::Import)
        .chain(case.spans(SpanKind::Load));
    // Nested spans are already included.
    let outermost = spans.filter(|span| span.depth == 0);
    let usages = outermost.filter_map(|span| usage(facts.process, span));
    usages.map(|usage| usage.bytes_read as f64).sum()
}
