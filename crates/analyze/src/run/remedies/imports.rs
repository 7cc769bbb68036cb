//! Imports that a library asks for and works without.

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
/// So many are told by name.
const TOLD: usize = 3;

/// Large imports that a library asked for and works without.
pub(super) fn avoidable(case: &Case) -> Option<Told> {
    let (place, _) = case.examined.thread?;
    let process = case.start.facts[place].process;
    let tree = &case.trees[place];
    let until = case.examined.time_to_first?;
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
        if large && is_avoidable(import, &case.manifest.optional_imports) {
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
            "{}. The library works without it: it catches that the import fails, or asks whether the \
             package is installed, and the program's own files do not mention it. Leave the package \
             out of the environment (`pip uninstall`) if nothing else needs it.",
            sentences.join("; ")
        ),
        found.iter().map(|(seconds, _)| seconds).sum(),
        "the library does not use it for the first result",
        &[
            Cause::PythonImports,
            Cause::BytecodeCompilation,
            Cause::LibraryLoading,
        ],
    ))
}

/// Whether a library asked for an installed package that it works without.
fn is_avoidable(import: &Import, optional: &[String]) -> bool {
    !matches!(import.importer.as_str(), "" | "__main__")
        && !is_standard(&import.name)
        && optional.contains(&import.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_library_works_without_is_avoidable() {
        let import = |name: &str, importer: &str| Import {
            name: name.to_owned(),
            importer: importer.to_owned(),
            ..Import::default()
        };
        let optional = ["pandas".to_owned(), "sqlite3".to_owned()];
        assert!(is_avoidable(&import("pandas", "seaborn.core"), &optional));
        assert!(!is_avoidable(&import("pandas", "__main__"), &optional));
        assert!(!is_avoidable(
            &import("torch._dynamo", "torch._compile"),
            &optional
        ));
        assert!(!is_avoidable(&import("sqlite3", "nltk"), &optional));
    }
}
