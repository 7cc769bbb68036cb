//! Kernels: compiled again and again, without machine code for the card, loaded before
//! they are used, or tried out.

use super::super::items::BY_XLA;
use super::super::trace::What;
use super::super::{Cause, Item, Remedy, Temperature};
use super::{Case, length, remedy};
use crate::units;

/// What is loaded from a cache takes about this part of compiling it.
const FROM_CACHE: f64 = 0.1;
/// Code that takes this many seconds to load was compiled.
const COMPILED: f64 = 0.02;
/// Of kernels that are loaded eagerly, this part is not used.
const NOT_USED: f64 = 0.8;

/// Variables that say where compiled kernels are kept.
const CACHES: &str = "CUDA_CACHE_PATH, TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR, \
                      JAX_COMPILATION_CACHE_DIR, CUPY_CACHE_DIR";

/// Compile caches that outlive the start.
pub(super) fn compile_caches(case: &Case) -> Option<Remedy> {
    let told = |what: String, saving: f64, assumption: &str| {
        let causes = [Cause::KernelCompilation];
        let title = "Keep compile caches";
        Some(remedy(
            "keep-compile-caches",
            title,
            what,
            saving,
            assumption,
            &causes,
        ))
    };
    let now = case.seconds(Cause::KernelCompilation);
    let disabled = case.environment("CUDA_CACHE_DISABLE") == Some("1");
    let jit = driver_compiles(case);
    if disabled && jit > 0.0 {
        return told(
            "CUDA_CACHE_DISABLE=1 is set: every start compiles its PTX again. Unset it.".to_owned(),
            jit * (1.0 - FROM_CACHE),
            "loading from the driver's cache takes a tenth of compiling",
        );
    }
    let rung = |temperature| {
        let mut rungs = case.report.ladder.iter();
        rungs.find(|rung| rung.temperature == temperature)
    };
    let keep = format!(
        "Keep the caches where the next start finds them, outside of /tmp and of the container's \
         own layers: {CACHES}."
    );
    if let (Some(empty), Some(filled)) = (rung(Temperature::Caches), rung(Temperature::Process)) {
        let saving = empty.time_to_first.median - filled.time_to_first.median;
        return told(
            keep,
            saving,
            "a start would else find its caches empty, as at the temperature `caches`",
        );
    }
    // The first start may have found them empty: then the others show what they save.
    let first = case.report.starts.first().filter(|start| start.first_start);
    let compiled = first.map_or(0.0, |start| {
        let causes = start.causes.iter();
        let compiled = causes.filter(|c| c.cause == Cause::KernelCompilation);
        compiled.map(|c| c.seconds).sum()
    });
    if compiled > 2.0 * now && compiled - now > COMPILED {
        return told(
            keep,
            compiled - now,
            "a start would else find its caches empty, as the first one did",
        );
    }
    // What compiles in every start has no cache at all.
    let seconds = |is: fn(&Item) -> bool| -> f64 {
        let items = case.items(Cause::KernelCompilation).iter();
        items.filter(|item| is(item)).map(|item| item.seconds).sum()
    };
    let xla = seconds(|item| item.detail == BY_XLA);
    if xla > COMPILED && case.environment("JAX_COMPILATION_CACHE_DIR").is_none() {
        return told(
            format!(
                "XLA compiles for {} in every start. Set JAX_COMPILATION_CACHE_DIR to a directory \
                 that outlives it, and JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 so that small \
                 functions are kept too.",
                units::duration(xla)
            ),
            xla * (1.0 - FROM_CACHE),
            "loading what was compiled takes a tenth of compiling it",
        );
    }
    let runtime =
        seconds(|item| item.name.starts_with("nvrtc") || item.name.starts_with("clBuild"));
    if runtime > 0.0 {
        return told(
            format!(
                "{} go into compiling from source in every start. Keep what the compiler gives \
                 (nvrtcGetCUBIN, clGetProgramInfo with CL_PROGRAM_BINARIES) and load that.",
                units::duration(runtime)
            ),
            runtime * (1.0 - FROM_CACHE),
            "loading what was compiled takes a tenth of compiling it",
        );
    }
    None
}

/// Seconds that the driver compiled code which has only PTX.
fn driver_compiles(case: &Case) -> f64 {
    let Some(facts) = case.facts() else {
        return 0.0;
    };
    let modules = case.spans(What::Module).filter(|span| {
        let module = facts.process.modules.get(span.detail as usize);
        module.is_some_and(|module| module.machine_code.is_empty() && !module.ptx.is_empty())
    });
    let slow = modules.filter(|span| length(span) >= COMPILED);
    slow.map(length).sum::<f64>() * case.scale
}

/// Code without machine code for the card.
pub(super) fn machine_code(case: &Case) -> Option<Remedy> {
    let compiled = driver_compiles(case);
    let facts = case.facts()?;
    let mut from: Vec<u16> = (facts.process.modules.iter())
        .filter(|module| module.machine_code.is_empty())
        .flat_map(|module| module.ptx.iter().copied())
        .collect();
    from.sort_unstable();
    from.dedup();
    let from: Vec<String> = from.iter().map(|a| format!("compute_{a}")).collect();
    if compiled <= 0.0 {
        return None;
    }
    Some(remedy(
        "machine-code-missing",
        "Build machine code for this card",
        format!(
            "The driver compiles PTX for {} when it is loaded. Build for this card too: nvcc \
             -gencode arch=compute_XY,code=sm_XY, TORCH_CUDA_ARCH_LIST for extensions of PyTorch, \
             with the card's compute capability X.Y.",
            from.join(", ")
        ),
        compiled * (1.0 - FROM_CACHE),
        "loading machine code takes a tenth of compiling it",
        &[Cause::KernelCompilation],
    ))
}

/// Kernels loaded before they are used.
pub(super) fn lazy_loading(case: &Case) -> Option<Remedy> {
    let setting = case.environment("CUDA_MODULE_LOADING")?;
    if !setting.eq_ignore_ascii_case("eager") {
        return None;
    }
    let kernels = case.report.memory.device.as_ref().map(|d| d.kernels);
    let mut remedy = remedy(
        "lazy-loading",
        "Load kernels when they are used",
        "CUDA_MODULE_LOADING=EAGER is set: all kernels of all libraries are loaded at once. \
         Unset it, or set it to LAZY."
            .to_owned(),
        NOT_USED * case.seconds(Cause::KernelLoading),
        "four of five kernels that are loaded are not used before the first result",
        &[Cause::KernelLoading],
    );
    remedy.saving_bytes = kernels
        .filter(|bytes| *bytes > 0)
        .map(|bytes| (NOT_USED * bytes as f64) as u64);
    Some(remedy)
}

/// Algorithms that are tried out.
pub(super) fn autotuning(case: &Case) -> Option<Remedy> {
    let facts = case.facts()?;
    let calls = case.spans(What::Heavy).chain(case.spans(What::Call));
    let tried: Vec<f64> = calls
        .filter(|span| facts.process.symbol(span).starts_with("cudnnFind"))
        .map(length)
        .collect();
    let all: f64 = tried.iter().sum();
    Some(remedy(
        "autotuning",
        "Do not try out algorithms",
        format!(
            "cuDNN tries out algorithms in {} calls, {} in all. Let it choose by heuristics: \
             torch.backends.cudnn.benchmark = False, or cudnn_conv_algo_search = HEURISTIC in \
             ONNX Runtime; or keep what was found.",
            tried.len(),
            units::duration(all * case.scale)
        ),
        all * case.scale,
        "the heuristics choose at once, and as well for the first result",
        &[Cause::LibrarySetUp],
    ))
    .filter(|_| !tried.is_empty())
}
