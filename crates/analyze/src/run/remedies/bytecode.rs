//! Source that is compiled in every start: keep its bytecode.

use preheat_model::RemedyId;

use super::super::items::{Reasons, reasons};
use super::super::{Cause, Temperature};
use super::{RemedyInput, Suggestion, remedy};
use crate::units;

/// The time to read bytecode, relative to compiling the source: 0.03 to 0.08 of the CPU
/// time of `import torch` with CPython 3.11 and PyTorch 1.13 and 2.8.
const READ_SHARE: f64 = 0.05;

/// Smaller savings are not reported, in seconds.
const MIN_SECONDS: f64 = 0.05;

/// Bytecode that outlives the start. The first evidence that applies is reported.
pub(super) fn kept_bytecode(case: &RemedyInput) -> Option<Suggestion> {
    by_ladder(case)
        .or_else(|| in_every_start(case))
        .or_else(|| by_first_start(case))
}

fn suggestion(what: String, saving: f64, assumption: &str) -> Suggestion {
    remedy(
        RemedyId::KeptBytecode,
        "Keep Python bytecode",
        what,
        saving,
        assumption,
        &[Cause::BytecodeCompilation],
    )
}

/// Instructions.
fn keep(case: &RemedyInput) -> String {
    let drop = match case.environment("PYTHONDONTWRITEBYTECODE") {
        Some(value) if !value.is_empty() => " and unset PYTHONDONTWRITEBYTECODE",
        _ => "",
    };
    format!(
        "In a Dockerfile, after the packages are installed: `RUN python -m compileall -q \
         --invalidation-mode checked-hash $(python -c 'import site; \
         print(*site.getsitepackages())')`{drop}. Without changing the image: `preheat start \
         --measure` tries a cache directory for it."
    )
}

/// The modules compiled until the first iteration, with the reasons.
fn compiled(case: &RemedyInput) -> (u64, Reasons) {
    let until = case.examined.time_to_first.unwrap_or(u64::MAX);
    let mut all = Reasons::default();
    for reasons in reasons(case.start.facts, until).values() {
        all.merge(reasons);
    }
    (all.missing + all.stale + all.unreadable, all)
}

/// Evidence from starts without bytecode.
fn by_ladder(case: &RemedyInput) -> Option<Suggestion> {
    let without = super::rung(case, Temperature::Bytecode)?;
    let with = super::rung(case, Temperature::Process)?;
    let compiled = super::seconds(without, Cause::BytecodeCompilation)
        - super::seconds(with, Cause::BytecodeCompilation);
    let saving = super::difference(without, with);
    if compiled < MIN_SECONDS || compiled <= saving / 2.0 {
        return None;
    }
    let suggestion = suggestion(
        format!(
            "{} Saving with bytecode, {}.",
            keep(case),
            super::base(without, with)
        ),
        saving,
        "starts without this find no bytecode, as at temperature `bytecode`",
    );
    Some(Suggestion {
        base: Some(without.time_to_first.value),
        ..suggestion
    })
}

/// Bytecode is missing and not written either.
fn in_every_start(case: &RemedyInput) -> Option<Suggestion> {
    let seconds = case.seconds(Cause::BytecodeCompilation);
    let (modules, why) = compiled(case);
    let because = if why.turned_off > 0 {
        match case.environment("PYTHONDONTWRITEBYTECODE") {
            Some(value) if !value.is_empty() => {
                format!("PYTHONDONTWRITEBYTECODE={value} prevents Python from writing it")
            }
            _ => "`-B` or `sys.dont_write_bytecode` prevents Python from writing it".to_owned(),
        }
    } else if why.not_writable > 0 {
        "the directories of the modules are not writable".to_owned()
    } else {
        return None;
    };
    if seconds < MIN_SECONDS {
        return None;
    }
    Some(suggestion(
        format!(
            "Every start compiles {modules} modules from source, which takes {}: they have no \
             usable bytecode, and {because}. {}",
            units::duration(seconds),
            keep(case)
        ),
        seconds * (1.0 - READ_SHARE),
        "reading bytecode takes 5 % of compiling",
    ))
}

/// The first start found no bytecode and wrote it, as the first start in a new container
/// would.
fn by_first_start(case: &RemedyInput) -> Option<Suggestion> {
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
    (compiled > 2.0 * now && compiled - now > MIN_SECONDS).then(|| {
        let suggestion = suggestion(
            format!(
                "The first start spent {} compiling Python modules and wrote their bytecode; the first \
                 start in a new container does this again. {}",
                units::duration(compiled),
                keep(case)
            ),
            (compiled - now) * (1.0 - READ_SHARE),
            "starts without this find no bytecode, like the first one",
        );
        Suggestion {
            base: first.time_to_first,
            ..suggestion
        }
    })
}
