//! Kernels that are compiled again and again: a cache that outlives the start.

use super::super::items::BY_XLA;
use super::super::{Cause, Item, Temperature, torch_compile};
use super::kernels::{COMPILED, FROM_CACHE, driver_compiles};
use super::{Case, Told, ladder, remedy};
use crate::units;

/// Variables that say where compiled kernels are kept.
const CACHES: &str = "CUDA_CACHE_PATH, TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR, \
                      JAX_COMPILATION_CACHE_DIR, CUPY_CACHE_DIR";
/// Of what torch.compile takes, this part is left with filled caches: Dynamo still traces.
const TRACED_AGAIN: f64 = 0.5;

/// Compile caches that outlive the start. The first evidence that applies is told.
pub(super) fn compile_caches(case: &Case) -> Option<Told> {
    disabled(case)
        .or_else(|| by_ladder(case))
        .or_else(|| by_first_start(case))
        .or_else(|| xla(case))
        .or_else(|| by_torch_compile(case))
        .or_else(|| at_run_time(case))
}

fn told(what: String, saving: f64, assumption: &str) -> Told {
    let causes = [Cause::KernelCompilation];
    remedy(
        "kept-caches",
        "Keep compile caches",
        what,
        saving,
        assumption,
        &causes,
    )
}

fn keep() -> String {
    format!(
        "Keep the caches where the next start finds them, outside of /tmp and of the container's \
         own layers: `preheat start --caches DIR` does that, and `--pack` carries them elsewhere. \
         By hand: {CACHES}."
    )
}

fn seconds(case: &Case, is: fn(&Item) -> bool) -> f64 {
    let items = case.items(Cause::KernelCompilation).iter();
    items.filter(|item| is(item)).map(|item| item.seconds).sum()
}

/// The driver's own cache is switched off.
fn disabled(case: &Case) -> Option<Told> {
    let jit = driver_compiles(case);
    let disabled = case.environment("CUDA_CACHE_DISABLE") == Some("1");
    (disabled && jit > 0.0).then(|| {
        told(
            "CUDA_CACHE_DISABLE=1 is set: every start compiles its PTX again. Unset it.".to_owned(),
            jit * (1.0 - FROM_CACHE),
            "loading from the driver's cache takes a tenth of compiling",
        )
    })
}

/// Starts with empty caches were made. They show what the caches save only if it is
/// compiling that they take longer for: else the difference is chance.
fn by_ladder(case: &Case) -> Option<Told> {
    let empty = ladder::rung(case, Temperature::Caches)?;
    let filled = ladder::rung(case, Temperature::Process)?;
    let saving = ladder::difference(empty, filled);
    let compiled = ladder::seconds(empty, Cause::KernelCompilation)
        - ladder::seconds(filled, Cause::KernelCompilation);
    if compiled < COMPILED || compiled <= saving / 2.0 {
        return None;
    }
    let what = format!(
        "{} Filled caches save, {}.",
        keep(),
        ladder::base(empty, filled)
    );
    let told = told(
        what,
        saving,
        "a start would else find its caches empty, as at the temperature `caches`",
    );
    Some(Told {
        base: Some(empty.time_to_first.median),
        ..told
    })
}

/// The first start may have found them empty: then the others show what they save.
fn by_first_start(case: &Case) -> Option<Told> {
    let now = case.seconds(Cause::KernelCompilation);
    let first = case.report.starts.first().filter(|start| start.first_start);
    let first = first?;
    let causes = first.causes.iter();
    let compiled = causes.filter(|part| part.cause == Cause::KernelCompilation);
    let compiled: f64 = compiled.map(|part| part.seconds).sum();
    (compiled > 2.0 * now && compiled - now > COMPILED).then(|| {
        let told = told(
            keep(),
            compiled - now,
            "a start would else find its caches empty, as the first one did",
        );
        Told {
            base: first.time_to_first,
            ..told
        }
    })
}

/// What XLA compiles in every start has no cache at all.
fn xla(case: &Case) -> Option<Told> {
    let xla = seconds(case, |item| item.detail == BY_XLA);
    if xla <= COMPILED || case.environment("JAX_COMPILATION_CACHE_DIR").is_some() {
        return None;
    }
    Some(told(
        format!(
            "XLA compiles for {} in every start. Set JAX_COMPILATION_CACHE_DIR to a directory \
             that outlives it, and JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 so that small \
             functions are kept too.",
            units::duration(xla)
        ),
        xla * (1.0 - FROM_CACHE),
        "loading what was compiled takes a tenth of compiling it",
    ))
}

/// torch.compile keeps its caches in /tmp, unless it is told another place.
fn by_torch_compile(case: &Case) -> Option<Told> {
    let variables = ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"];
    let compiled = seconds(case, |item| {
        item.name.starts_with(torch_compile::COMPILE) || item.name.contains("TorchInductor")
    });
    let kept = variables
        .iter()
        .all(|name| case.environment(name).is_some());
    if kept || !case.is_much(compiled) || are_filled(case) {
        return None;
    }
    Some(told(
        format!(
            "torch.compile takes {} here. It keeps what it compiles in /tmp: set \
             TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR to directories that outlive the machine \
             or container, and fill them once.",
            units::duration(compiled)
        ),
        compiled * (1.0 - TRACED_AGAIN),
        "the caches were not filled yet, and a filled cache halves what torch.compile takes: it \
         still traces the program",
    ))
}

/// Whether the shown start found the caches of torch.compile filled: by an earlier start of
/// the same recording, or by what it read.
fn are_filled(case: &Case) -> bool {
    let first = case.report.starts.iter().any(|start| start.first_start);
    let others = case.report.starts.iter().any(|start| !start.first_start);
    let mut processes = case.start.trace.processes.iter();
    (first && others)
        || processes.any(|process| process.files.iter().any(|f| f.contains("/fxgraph/")))
}

/// Source that is compiled while the program runs.
fn at_run_time(case: &Case) -> Option<Told> {
    let compiled = seconds(case, |item| {
        item.name.starts_with("nvrtc") || item.name.starts_with("clBuild")
    });
    (compiled > 0.0).then(|| {
        told(
            format!(
                "{} go into compiling from source in every start. Keep what the compiler gives \
                 (nvrtcGetCUBIN, clGetProgramInfo with CL_PROGRAM_BINARIES) and load that.",
                units::duration(compiled)
            ),
            compiled * (1.0 - FROM_CACHE),
            "loading what was compiled takes a tenth of compiling it",
        )
    })
}
