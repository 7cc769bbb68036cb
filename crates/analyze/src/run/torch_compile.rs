//! The phases of torch.compile, derived from the names of its timed events.
//!
//! PyTorch times parts of its compiler (`dynamo_timed`). The recorder stores these parts as
//! named ranges, which are mapped to phases here. An unknown part belongs to the enclosing
//! phase.

/// The recorder's name for a compilation. The names of its parts start with this and a
/// colon.
pub(super) const COMPILE: &str = "torch.compile";

const TRACING: &str = "torch.compile: tracing";
const LOWERING: &str = "torch.compile: lowering";
const GENERATION: &str = "torch.compile: code generation";
const AUTOTUNING: &str = "torch.compile: autotuning";
const CACHES: &str = "torch.compile: caches";

/// The phases, each with substrings of the names of its parts. The first match counts.
const PARTS: [(&str, &[&str]); 5] = [
    (
        AUTOTUNING,
        &["autotun", "benchmark", "precompil", "select_algorithm"],
    ),
    (
        CACHES,
        &[
            "cache",
            "Cache.load",
            "pgo.",
            "TritonBundler",
            "torch_key",
            "CompiledArtifact",
        ],
    ),
    (
        GENERATION,
        &[
            "code_gen",
            "codegen",
            "compile_to_",
            ".generate",
            "compile_file",
            "async_compile",
            "load_by_key_path",
            "reload_kernel",
        ],
    ),
    (
        LOWERING,
        &[
            "fx_codegen_and_compile",
            "GraphLowering",
            "Scheduler",
            "inductor_compile",
            "compile_fx",
            "_passes",
            "fake_tensor_prop",
            "partition",
        ],
    ),
    (
        TRACING,
        &[
            "dynamo",
            "entire_",
            "compile_attempt",
            "compile_inner",
            "bytecode_tracing",
            "build_guards",
            "backend_compile",
            "call_user_compiler",
            "aot_",
            "create_aot_dispatcher",
        ],
    ),
];

/// The phase of a recorded range; none for other ranges, for the whole compilation and for
/// unknown parts.
pub(super) fn phase(range: &str) -> Option<&'static str> {
    let part = range.strip_prefix(COMPILE)?.strip_prefix(':')?;
    // The name matches both phases: it covers everything from the lowered graph to loaded
    // code.
    if part == "fx_codegen_and_compile" {
        return Some(LOWERING);
    }
    // Loads the generated code.
    if part.starts_with("PyCodeCache") {
        return Some(GENERATION);
    }
    let found = PARTS.iter().find(|(_, parts)| {
        let mut parts = parts.iter();
        parts.any(|known| part.contains(known))
    });
    found.map(|(phase, _)| *phase)
}

/// Returns true if a range is torch.compile or a part of it.
pub(super) fn is_part(range: &str) -> bool {
    range
        .strip_prefix(COMPILE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names from PyTorch 2.8.
    #[test]
    fn parts_of_the_compiler_have_a_phase() {
        for (part, expected) in [
            ("bytecode_tracing", TRACING),
            ("backend_compile", TRACING),
            ("aot_trace_joint_graph", TRACING),
            ("entire_backward_compile", TRACING),
            ("GraphLowering.run", LOWERING),
            ("fx_codegen_and_compile", LOWERING),
            ("compile_fx.<locals>.fw_compiler_base", LOWERING),
            ("_recursive_joint_graph_passes", LOWERING),
            ("min_cut_rematerialization_partition", LOWERING),
            ("Scheduler.codegen", GENERATION),
            ("GraphLowering.compile_to_fn", GENERATION),
            ("PyCodeCache.load_by_key_path", GENERATION),
            ("compile_file", GENERATION),
            ("CachingAutotuner.benchmark_all_configs", AUTOTUNING),
            ("pad_mm_benchmark", AUTOTUNING),
            ("inductor_codecache_torch_key", CACHES),
            ("pgo.get_local_code_state", CACHES),
        ] {
            assert_eq!(
                phase(&format!("torch.compile:{part}")),
                Some(expected),
                "{part}"
            );
        }
        assert_eq!(phase("torch.compile:gc"), None);
        assert_eq!(phase("torch.compile"), None);
        assert_eq!(phase("XlaCompile:codegen"), None);
        assert!(is_part("torch.compile") && is_part("torch.compile:gc"));
        assert!(!is_part("torch.compiled") && !is_part("step"));
    }
}
