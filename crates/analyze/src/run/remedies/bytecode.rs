//! Source that is compiled in every start: bytecode that outlives it.

use super::super::items::{Reasons, reasons};
use super::super::{Cause, Temperature};
use super::{Case, Told, ladder, remedy};
use crate::units;

/// Reading bytecode takes this part of compiling the source: 0.03 to 0.08 of the CPU time of
/// `import torch` with CPython 3.11 and PyTorch 1.13 and 2.8.
const READ: f64 = 0.05;

/// Less is not worth a remedy, in seconds.
const LEAST: f64 = 0.05;

/// Bytecode that outlives the start. The first evidence that applies is reported.
pub(super) fn kept_bytecode(case: &Case) -> Option<Told> {
    by_ladder(case)
        .or_else(|| in_every_start(case))
        .or_else(|| by_first_start(case))
}

fn told(what: String, saving: f64, assumption: &str) -> Told {
    remedy(
        "kept-bytecode",
        "Keep Python bytecode",
        what,
        saving,
        assumption,
        &[Cause::BytecodeCompilation],
    )
}

/// What to do about it.
fn keep(case: &Case) -> String {
    let drop = match case.environment("PYTHONDONTWRITEBYTECODE") {
        Some(value) if !value.is_empty() => " and drop PYTHONDONTWRITEBYTECODE",
        _ => "",
    };
    format!(
        "In a Dockerfile, after the packages are installed: `RUN python -m compileall -q \
         --invalidation-mode checked-hash $(python -c 'import site; \
         print(*site.getsitepackages())')`{drop}. Without changing the image: `preheat start \
         --measure` tries keeping it in its cache directory."
    )
}

/// Modules that were compiled until the first iteration, with the reasons.
fn compiled(case: &Case) -> (u64, Reasons) {
    let until = case.examined.time_to_first.unwrap_or(u64::MAX);
    let mut all = Reasons::default();
    for reasons in reasons(case.start.facts, until).values() {
        all.merge(reasons);
    }
    (all.missing + all.stale + all.unreadable, all)
}

/// Starts without bytecode were made.
fn by_ladder(case: &Case) -> Option<Told> {
    let without = ladder::rung(case, Temperature::Bytecode)?;
    let with = ladder::rung(case, Temperature::Process)?;
    let compiled = ladder::seconds(without, Cause::BytecodeCompilation)
        - ladder::seconds(with, Cause::BytecodeCompilation);
    let saving = ladder::difference(without, with);
    if compiled < LEAST || compiled <= saving / 2.0 {
        return None;
    }
    let told = told(
        format!(
            "{} Bytecode saves, {}.",
            keep(case),
            ladder::base(without, with)
        ),
        saving,
        "a start would else find no bytecode, as at the temperature `bytecode`",
    );
    Some(Told {
        base: Some(without.time_to_first.median),
        ..told
    })
}

/// Bytecode is missing and is not written either.
fn in_every_start(case: &Case) -> Option<Told> {
    let seconds = case.seconds(Cause::BytecodeCompilation);
    let (modules, why) = compiled(case);
    let because = if why.turned_off > 0 {
        match case.environment("PYTHONDONTWRITEBYTECODE") {
            Some(value) if !value.is_empty() => {
                format!("PYTHONDONTWRITEBYTECODE={value} keeps Python from writing it")
            }
            _ => "`-B` or `sys.dont_write_bytecode` keeps Python from writing it".to_owned(),
        }
    } else if why.not_writable > 0 {
        "the directories of the modules are not writable".to_owned()
    } else {
        return None;
    };
    if seconds < LEAST {
        return None;
    }
    Some(told(
        format!(
            "Every start compiles {modules} modules from source, which takes {}: they have no \
             usable bytecode, and {because}. {}",
            units::duration(seconds),
            keep(case)
        ),
        seconds * (1.0 - READ),
        "reading bytecode takes 5 % of compiling",
    ))
}

/// The first start found none and wrote it, as a new container would in every start.
fn by_first_start(case: &Case) -> Option<Told> {
    let now = case.seconds(Cause::BytecodeCompilation);
    let first = case
        .report
        .starts
        .first()
        .filter(|start| start.first_start)?;
    let parts = first.causes.iter();
    let compiled: f64 = parts
        .filter(|part| part.cause == Cause::BytecodeCompilation)
        .map(|part| part.seconds)
        .sum();
    (compiled > 2.0 * now && compiled - now > LEAST).then(|| {
        let told = told(
            format!(
                "The first start compiled Python modules for {} and wrote their bytecode; the \
                 first start in a new container does it again. {}",
                units::duration(compiled),
                keep(case)
            ),
            (compiled - now) * (1.0 - READ),
            "a start would else find no bytecode, as the first one did",
        );
        Told {
            base: first.time_to_first,
            ..told
        }
    })
}
