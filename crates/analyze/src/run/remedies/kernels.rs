//! Kernels without machine code for the device, loaded eagerly, or autotuned.

use preheat_model::RemedyId;

use super::super::Cause;
use super::super::trace::SpanKind;
use super::{RemedyInput, Suggestion, length, remedy};
use crate::units;

/// The time to load from a cache, relative to compiling.
pub(super) const FROM_CACHE: f64 = 0.1;
/// Code that takes at least this many seconds to load was compiled.
pub(super) const COMPILED: f64 = 0.02;
/// The share of eagerly loaded kernels that are not used, by loading time and by device memory.
/// Measured on an H200 (docs/results/h200/start-lazy-infer.json): 4.45 s become 63 ms.
const NOT_USED: f64 = 0.95;
const NOT_USED_BYTES: f64 = 0.8;
/// The time of a context into which no kernels are loaded, in seconds. In the same measurement
/// 1.19 s become 0.12 s.
const CONTEXT: f64 = 0.15;

/// Seconds that the driver spent compiling code that has only PTX.
pub(super) fn driver_compiles(case: &RemedyInput) -> f64 {
    let Some(facts) = case.facts() else {
        return 0.0;
    };
    let modules = case.spans(SpanKind::Module).filter(|span| {
        let module = facts.process.modules.get(span.detail as usize);
        module.is_some_and(|module| module.machine_code.is_empty() && !module.ptx.is_empty())
    });
    let slow = modules.filter(|span| length(span) >= COMPILED);
    case.on_path(Cause::KernelCompilation, slow.map(length).sum())
}

/// Code without machine code for the device. If the cache of the driver is disabled, that
/// is reported instead.
pub(super) fn machine_code(case: &RemedyInput) -> Option<Suggestion> {
    if case.environment("CUDA_CACHE_DISABLE") == Some("1") {
        return None;
    }
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
        RemedyId::MachineCodeMissing,
        "Build machine code for this GPU",
        format!(
            "The driver compiles PTX for {} as it is loaded. Build for this GPU too: nvcc \
             -gencode arch=compute_XY,code=sm_XY, or TORCH_CUDA_ARCH_LIST for PyTorch extensions, \
             with the compute capability X.Y of the GPU.",
            from.join(", ")
        ),
        compiled * (1.0 - FROM_CACHE),
        "loading machine code takes a tenth of compiling it",
        &[Cause::KernelCompilation],
    ))
}

/// Kernels that are loaded eagerly.
pub(super) fn lazy_loading(case: &RemedyInput) -> Option<Suggestion> {
    let setting = case.environment("CUDA_MODULE_LOADING")?;
    if !setting.eq_ignore_ascii_case("eager") {
        return None;
    }
    let kernels = case.report.memory.device.as_ref().map(|d| d.kernels);
    let mut remedy = remedy(
        RemedyId::LazyLoading,
        "Load kernels lazily",
        "CUDA_MODULE_LOADING=EAGER is set: all kernels of all libraries are loaded at once. \
         Unset it, or set it to LAZY."
            .to_owned(),
        NOT_USED * case.seconds(Cause::KernelLoading)
            + (case.seconds(Cause::ContextCreation) - CONTEXT).max(0.0),
        "one in twenty of the loaded kernels is used before the first result, and a context \
         without them takes 0.15 s",
        &[Cause::KernelLoading, Cause::ContextCreation],
    );
    remedy.remedy.saving_bytes = kernels
        .filter(|bytes| *bytes > 0)
        .map(|bytes| (NOT_USED_BYTES * bytes as f64) as u64);
    Some(remedy)
}

/// Algorithms that are benchmarked.
pub(super) fn autotuning(case: &RemedyInput) -> Option<Suggestion> {
    let facts = case.facts()?;
    let calls = case
        .spans(SpanKind::Heavy)
        .chain(case.spans(SpanKind::Call));
    let tried: Vec<f64> = calls
        .filter(|span| facts.process.symbol(span).starts_with("cudnnFind"))
        .map(length)
        .collect();
    let all = case.on_path(Cause::LibrarySetUp, tried.iter().sum());
    Some(remedy(
        RemedyId::Autotuning,
        "Disable autotuning",
        format!(
            "cuDNN benchmarks algorithms in {} calls, {} in total. Let it choose by heuristics: \
             torch.backends.cudnn.benchmark = False, or cudnn_conv_algo_search = HEURISTIC in \
             ONNX Runtime; or save the results.",
            tried.len(),
            units::duration(all)
        ),
        all,
        "heuristics take no time, and choose as well for the first result",
        &[Cause::LibrarySetUp],
    ))
    .filter(|_| !tried.is_empty())
}
