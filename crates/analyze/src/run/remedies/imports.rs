//! Imports that the program did not ask for itself.

use super::super::Cause;
use super::super::items::asked;
use super::super::trace::Import;
use super::stdlib::is_standard;
use super::{Case, Told, remedy};
use crate::units;

/// An import must take this part of the time to first.
const WORTH_AVOIDING: f64 = 0.1;
/// And this many seconds.
const LEAST: f64 = 0.1;
/// What a program is about is not avoided.
const NEEDED: &[&str] = &[
    "torch",
    "tensorflow",
    "jax",
    "jaxlib",
    "keras",
    "numpy",
    "cupy",
    "onnxruntime",
    "numba",
    "triton",
    "pyopencl",
    "tensorrt",
    "torchvision",
    "transformers",
];
/// So many are told by name.
const TOLD: usize = 3;

/// Large imports that another package asked for, or a function when it was called.
pub(super) fn avoidable(case: &Case) -> Option<Told> {
    let (place, _) = case.examined.thread?;
    let process = case.start.facts[place].process;
    let tree = &case.trees[place];
    let until = case.examined.time_to_first?;
    let compiles = process.imports.iter().any(|import| {
        import.name == "torch._inductor.compile_fx" || import.name == "torch._inductor.graph"
    });
    let mut within = vec![false; process.imports.len()];
    let mut found: Vec<(f64, &Import)> = Vec::new();
    for at in &tree.order {
        let index = *at as usize;
        let import = &process.imports[index];
        if tree.parents[index].is_some_and(|parent| within[parent as usize]) {
            within[index] = true;
            continue;
        }
        let (begin, end) = tree.spans[index];
        let length = end.min(until).saturating_sub(begin);
        let time = length as f64 * 1e-9 * case.scale;
        let large = length as f64 >= WORTH_AVOIDING * until as f64 && time >= LEAST;
        let used = compiles && import.name.starts_with("torch._");
        if large && !used && is_foreign(import) {
            within[index] = true;
            found.push((time, import));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<&str> = found
        .iter()
        .map(|(_, import)| import.name.as_str())
        .collect();
    let sentences: Vec<String> = (found.iter().take(TOLD))
        .map(|(seconds, import)| {
            let time = units::duration(*seconds);
            format!("{} ({time}) is asked for by {}", import.name, asked(import))
        })
        .collect();
    let title = format!("Avoid importing {}", names.first()?);
    Some(remedy(
        "avoidable-imports",
        &title,
        format!(
            "{}. See whether that can be left out, or come after the first result.",
            sentences.join("; ")
        ),
        found.iter().map(|(seconds, _)| seconds).sum(),
        "the program does not need them for its first result",
        &[
            Cause::PythonImports,
            Cause::BytecodeCompilation,
            Cause::LibraryLoading,
        ],
    ))
}

/// Whether someone else than the program itself asked: another package, or a function
/// deep in a library when it was called.
fn is_foreign(import: &Import) -> bool {
    let package = |name: &str| name.split('.').next().unwrap_or("").to_owned();
    let top_level = matches!(import.function.as_str(), "" | "<module>");
    let other = package(&import.importer) != package(&import.name);
    !matches!(import.importer.as_str(), "" | "__main__")
        && !NEEDED.contains(&import.name.as_str())
        && !is_standard(&import.name)
        && (other || !top_level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_asks_for_is_its_own_affair() {
        let import = |name: &str, importer: &str, function: &str| Import {
            name: name.to_owned(),
            importer: importer.to_owned(),
            function: function.to_owned(),
            ..Import::default()
        };
        assert!(is_foreign(&import(
            "torch._dynamo",
            "torch._compile",
            "inner"
        )));
        assert!(is_foreign(&import("pandas", "seaborn.core", "<module>")));
        assert!(!is_foreign(&import("torch.nn", "torch", "<module>")));
        assert!(!is_foreign(&import("pandas", "__main__", "main")));
        assert!(!is_foreign(&import("torch", "helpers", "<module>")));
        assert!(!is_foreign(&import(
            "multiprocessing.connection",
            "torch",
            "f"
        )));
    }
}
