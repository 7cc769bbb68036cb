//! Kernels that are compiled in every start: keep the compile caches.

use preheat_model::RemedyId;

use super::super::{Cause, Compiler, Item, Temperature};
use super::kernels::{COMPILED, FROM_CACHE, driver_compiles};
use super::{RemedyInput, Suggestion, length, remedy};
use crate::units;

/// Variables that set the cache directories for compiled kernels.
const CACHES: &str = "CUDA_CACHE_PATH, TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR, \
                      JAX_COMPILATION_CACHE_DIR, CUPY_CACHE_DIR";
/// The share of the time of torch.compile that remains with filled caches: Dynamo still
/// traces.
const TRACED_AGAIN: f64 = 0.5;

/// Compile caches that outlive the start. The first evidence that applies is reported, but for
/// compilers without a cache: if they take longer than empty caches cost, they are.
pub(super) fn compile_caches(case: &RemedyInput) -> Option<Suggestion> {
    let by_empty = disabled(case)
        .or_else(|| by_ladder(case))
        .or_else(|| by_first_start(case));
    let without = xla(case).or_else(|| numba(case));
    let larger = match (by_empty, without) {
        (Some(one), Some(other)) if other.remedy.saving > one.remedy.saving => Some(other),
        (one, other) => one.or(other),
    };
    larger
        .or_else(|| by_torch_compile(case))
        .or_else(|| at_run_time(case))
}

fn suggestion(what: String, saving: f64, assumption: &str) -> Suggestion {
    let causes = [Cause::KernelCompilation];
    remedy(
        RemedyId::KeptCaches,
        "Keep compile caches",
        what,
        saving,
        assumption,
        &causes,
    )
}

fn keep() -> String {
    format!(
        "Keep the caches where the next start finds them, outside of /tmp and the container \
         layers: `preheat start --caches DIR` does that, and `--pack` copies them elsewhere. \
         Manually: set {CACHES}."
    )
}

fn seconds(case: &RemedyInput, is: fn(&Item) -> bool) -> f64 {
    let items = case.items(Cause::KernelCompilation).iter();
    items.filter(|item| is(item)).map(|item| item.seconds).sum()
}

/// The cache of the driver is disabled.
fn disabled(case: &RemedyInput) -> Option<Suggestion> {
    let jit = driver_compiles(case);
    let disabled = case.environment("CUDA_CACHE_DISABLE") == Some("1");
    (disabled && jit > 0.0).then(|| {
        suggestion(
            "CUDA_CACHE_DISABLE=1 is set: every start compiles PTX again. Unset it.".to_owned(),
            jit * (1.0 - FROM_CACHE),
            "loading from the driver's cache takes a tenth of compiling",
        )
    })
}

/// Evidence from starts with empty caches. It counts only if compilation explains the
/// difference; otherwise it is chance.
fn by_ladder(case: &RemedyInput) -> Option<Suggestion> {
    let empty = super::at_temperature(case, Temperature::Caches)?;
    let filled = super::at_temperature(case, Temperature::Process)?;
    let saving = super::difference(empty, filled);
    let compiled = super::seconds(empty, Cause::KernelCompilation)
        - super::seconds(filled, Cause::KernelCompilation);
    if compiled < COMPILED || compiled <= saving / 2.0 {
        return None;
    }
    let what = format!(
        "{} Saving with filled caches, {}.",
        keep(),
        super::base(empty, filled)
    );
    let suggestion = suggestion(
        what,
        saving,
        "starts without this find empty caches, as at temperature `caches`",
    );
    Some(Suggestion {
        base: Some(empty.time_to_first.value),
        ..suggestion
    })
}

/// Evidence from the first start, which may have found the caches empty.
fn by_first_start(case: &RemedyInput) -> Option<Suggestion> {
    let now = case.seconds(Cause::KernelCompilation);
    let first = case.report.starts.first().filter(|start| start.first_start);
    let first = first?;
    let causes = first.causes.iter();
    let compiled = causes.filter(|part| part.cause == Cause::KernelCompilation);
    let compiled: f64 = compiled.map(|part| part.seconds).sum();
    (compiled > 2.0 * now && compiled - now > COMPILED).then(|| {
        let suggestion = suggestion(
            keep(),
            compiled - now,
            "starts without this find empty caches, like the first one",
        );
        Suggestion {
            base: first.time_to_first,
            ..suggestion
        }
    })
}

/// XLA has no cache by default.
fn xla(case: &RemedyInput) -> Option<Suggestion> {
    let xla = seconds(case, |item| item.compiler() == Some(Compiler::Xla));
    if xla <= COMPILED || case.environment("JAX_COMPILATION_CACHE_DIR").is_some() {
        return None;
    }
    Some(suggestion(
        format!(
            "XLA compilation takes {} in every start. Set JAX_COMPILATION_CACHE_DIR to a directory \
             that outlives it, and JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 to keep small \
             functions too.",
            units::duration(xla)
        ),
        xla * (1.0 - FROM_CACHE),
        "loading compiled code takes a tenth of compiling it",
    ))
}

/// Numba keeps compiled functions only with `cache=True`.
fn numba(case: &RemedyInput) -> Option<Suggestion> {
    let compiled = seconds(case, |item| item.compiler() == Some(Compiler::Numba));
    (compiled > COMPILED).then(|| {
        suggestion(
            format!(
                "Numba compiles for {} in every start. Pass cache=True to its decorators, and set \
                 NUMBA_CACHE_DIR to a directory that outlives the machine or container.",
                units::duration(compiled)
            ),
            compiled * (1.0 - FROM_CACHE),
            "loading compiled code takes a tenth of compiling it",
        )
    })
}

/// torch.compile keeps its caches in /tmp by default.
fn by_torch_compile(case: &RemedyInput) -> Option<Suggestion> {
    let variables = ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"];
    let compiled = seconds(case, |item| item.compiler() == Some(Compiler::TorchCompile));
    let kept = variables
        .iter()
        .all(|name| case.environment(name).is_some());
    if kept || !case.is_much(compiled) || are_filled(case) {
        return None;
    }
    Some(suggestion(
        format!(
            "torch.compile takes {} here. It keeps its caches in /tmp: set \
             TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR to directories that outlive the machine \
             or container, and fill them once.",
            units::duration(compiled)
        ),
        compiled * (1.0 - TRACED_AGAIN),
        "the caches were empty, and filled caches halve the time of torch.compile, which still \
         traces the program",
    ))
}

/// Returns true if the shown start found the caches of torch.compile filled, by an earlier
/// start of the same recording or according to the files it read.
fn are_filled(case: &RemedyInput) -> bool {
    let first = case.report.starts.iter().any(|start| start.first_start);
    let others = case.report.starts.iter().any(|start| !start.first_start);
    let mut processes = case.start.trace.processes.iter();
    (first && others)
        || processes.any(|process| process.files.iter().any(|f| f.contains("/fxgraph/")))
}

/// Source that is compiled at run time, by the program or by a library that it calls.
fn at_run_time(case: &RemedyInput) -> Option<Suggestion> {
    let compiled = seconds(case, Item::is_source_compilation);
    let by_libraries = within_libraries(case).min(compiled);
    let own = compiled - by_libraries;
    if own > by_libraries {
        return Some(suggestion(
            format!(
                "Compiling from source takes {} in every start. Keep the compiled binaries \
                 (nvrtcGetCUBIN, clGetProgramInfo with CL_PROGRAM_BINARIES) and load those.",
                units::duration(own)
            ),
            own * (1.0 - FROM_CACHE),
            "loading compiled code takes a tenth of compiling it",
        ));
    }
    (by_libraries > COMPILED).then(|| {
        let mut without = suggestion(
            format!(
                "A CUDA library compiles kernels for itself, for {} in this start: the calls of \
                 nvrtcCompileProgram are inside its own calls, so the program has no compiled \
                 code that it could keep. Warm up before the real work; a standby (`preheat start \
                 --standby`) does that before the program starts.",
                units::duration(by_libraries)
            ),
            0.0,
            "the library compiles them again in the next process",
        );
        without.remedy.helps = false;
        without
    })
}

/// The beginnings of the names of calls in which CUDA libraries compile kernels for themselves.
const LIBRARIES: [&str; 3] = ["cudnn", "cublas", "cufft"];

/// The time in which libraries compile source for themselves: within their own calls.
fn within_libraries(case: &RemedyInput) -> f64 {
    let Some(facts) = case.facts() else {
        return 0.0;
    };
    let until = case.examined.time_to_first.unwrap_or(0);
    let mut sum = 0.0;
    for thread in &facts.process.threads {
        let spans = thread.spans.iter().take_while(|span| span.begin < until);
        let mut library_until = 0;
        for span in spans.filter(|span| facts.is_call(span)) {
            let name = facts.process.symbol(span);
            if LIBRARIES.iter().any(|library| name.starts_with(library)) {
                library_until = span.end.max(library_until);
            } else if name.starts_with("nvrtc") && span.begin < library_until {
                sum += length(span);
            }
        }
    }
    sum
}
