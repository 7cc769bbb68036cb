//! Demangles kernel names: `_ZN2at6native29vectorized_elementwise_kernelILi4E…` becomes
//! `at::native::vectorized_elementwise_kernel`. Names of Rust are demangled too.
//!
//! Template arguments and parameters are dropped: with them a name of PyTorch fills a page.
//! Of names that cannot be parsed, the namespaces and the function are read; anything else
//! stays unchanged.

use cpp_demangle::{DemangleOptions, Symbol};

/// The readable name of a kernel or function.
pub(in crate::run) fn kernel(raw: &str) -> String {
    match rust(raw)
        .or_else(|| demangled(raw))
        .or_else(|| qualified(raw))
    {
        Some(name) => name,
        None => raw.to_owned(),
    }
}

/// The readable name of a thread, which may be `function (library)`.
pub(in crate::run) fn thread(name: &str) -> String {
    match name.split_once(' ') {
        Some((function, of)) => format!("{} {of}", kernel(function)),
        None => kernel(name),
    }
}

/// The namespaces, classes and function at the beginning of a nested name. Demanglers fail
/// on some template arguments that follow.
fn qualified(raw: &str) -> Option<String> {
    let mut rest = raw.strip_prefix("_ZN")?.trim_start_matches(['r', 'V', 'K']);
    let mut parts = Vec::new();
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let length: usize = rest[..rest.len() - name.len()].parse().ok()?;
        parts.push(name.get(..length)?);
        rest = &name[length..];
    }
    (parts.len() > 1).then(|| parts.join("::"))
}

/// A name of Rust without type arguments: `<T>::method` and `<T as Trait>::method` become
/// `T::method`.
fn rust(raw: &str) -> Option<String> {
    // Names of older compilers are those of C++ with a hash.
    let hash = raw.strip_suffix('E').and_then(|raw| raw.rsplit_once("17h"));
    let is_old = raw.starts_with("_ZN") && hash.is_some_and(|(_, hash)| hash.len() == 16);
    if !raw.starts_with("_R") && !is_old {
        return None;
    }
    let whole = format!("{:#}", rustc_demangle::try_demangle(raw).ok()?);
    let (of, rest) = match whole.strip_prefix('<') {
        Some(inner) => inner.split_at(closing(inner)?),
        None => ("", whole.as_str()),
    };
    let of = without_template_arguments(of);
    let of = of.split(" as ").next().unwrap_or_default();
    let rest = without_template_arguments(rest.strip_prefix('>').unwrap_or(rest));
    let name = format!("{of}{rest}").replace("::::", "::");
    Some(name.trim_end_matches("::").to_owned())
}

/// Where the angle bracket closes that was opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 0 => return Some(at),
            '>' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn demangled(raw: &str) -> Option<String> {
    // Otherwise a C function called `f` would be parsed as a type.
    if !raw.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let symbol = Symbol::new(raw).ok()?;
    let whole = symbol.demangle_with_options(&options).ok()?;
    let parts = without_template_arguments(&whole.replace("(anonymous namespace)::", ""));
    let parts = parts.split("::").filter(|part| {
        // The namespace in which nvcc puts what is private to a file.
        !part.starts_with("_INTERNAL_")
    });
    Some(parts.collect::<Vec<_>>().join("::"))
}

fn without_template_arguments(name: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0usize;
    for c in name.chars() {
        match c {
            '<' | '>' if depth == 0 && ends_with_operator(&kept) => kept.push(c),
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// Returns true after `operator`, or one that begins with `<`, `>` or `-`.
fn ends_with_operator(text: &str) -> bool {
    let name = text.trim_end_matches(['<', '>', '-']);
    name.ends_with("operator") && text.len() - name.len() < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_demangled() {
        for (raw, name) in [
            ("_Z9saxpy_addifPfS_", "saxpy_add"),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
                "at::native::vectorized_elementwise_kernel",
            ),
            (
                "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid_stride_kernelIfLi4EEEvv",
                "at::native::distribution_elementwise_grid_stride_kernel",
            ),
            (
                "_ZN7cutlass6KernelINS_4gemm6kernel4GemmILi3EEEE3runEv",
                "cutlass::Kernel::run",
            ),
            ("_ZSt4swapIiEvRT_S1_", "std::swap"),
            ("_ZN3foo3barILNS_4KindE2EEEvv", "foo::bar"),
            ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
            ("sm90_xmma_gemm_f32f32", "sm90_xmma_gemm_f32f32"),
            ("_Z", "_Z"),
            ("_Z999x", "_Z999x"),
            ("_ZN3fooI", "_ZN3fooI"),
            (
                "_ZN3tbb6detail2r115task_dispatcher21receive_or_steal_taskILb0ENS1_23outermost_worker_waiterEEEPNS0_2d14taskERNS1_11thread_dataERNS1_18execution_data_extERT0_RNS1_20context_guard_helperIXT_EEElbb",
                "tbb::detail::r1::task_dispatcher::receive_or_steal_task",
            ),
            ("_ZN3foo99bar", "_ZN3foo99bar"),
            ("_ZN1altIiEEbRKS_S1_", "a::operator<"),
            ("_ZN1alsIiEEbRKS_S1_", "a::operator<<"),
            ("_ZNK1aptEv", "a::operator->"),
            ("_Z99999999999999999999999x", "_Z99999999999999999999999x"),
            ("", ""),
        ] {
            assert_eq!(kernel(raw), name, "{raw}");
        }
        for (raw, name) in [
            ("_RNvCs15kBYyAo9fc_7mycrate3foo", "mycrate::foo"),
            (
                "_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo",
                "mycrate::Example::foo",
            ),
            (
                "_RNvXs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7ExampleNtB4_5Trait3foo",
                "mycrate::Example::foo",
            ),
            ("_RINvCs4Cv8Wi1oAIB_7mycrate7examplelE", "mycrate::example"),
            ("_ZN3foo3bar17h05af221e174051e9E", "foo::bar"),
            ("_RNvC", "_RNvC"),
            ("_Rust_function", "_Rust_function"),
        ] {
            assert_eq!(kernel(raw), name, "{raw}");
        }
        assert_eq!(thread("_ZN1a1bEv (lib.so)"), "a::b (lib.so)");
        assert_eq!(thread("pool 1 of (x)"), "pool 1 of (x)");
    }
}
