//! Imports that a library can do without.

use super::super::Cause;
use super::super::items::importer;
use super::super::trace::Import;
use super::stdlib::is_standard;
use super::{Case, Suggestion, remedy};
use crate::units;

/// An import must take at least this share of the time to first.
const WORTH_AVOIDING: f64 = 0.1;
/// And at least this many seconds.
const LEAST: f64 = 0.1;
/// The number of imports to name.
const NAMED: usize = 3;

/// Large imports that a library can do without.
pub(super) fn avoidable(case: &Case) -> Option<Suggestion> {
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
    let sentences: Vec<String> = (found.iter().take(NAMED))
        .map(|(seconds, import)| {
            let time = units::duration(*seconds);
            format!(
                "{} ({time}) is imported by {}",
                import.name,
                importer(import)
            )
        })
        .collect();
    let title = format!("Avoid importing {}", names.first()?);
    Some(remedy(
        "avoidable-imports",
        &title,
        format!(
            "{}. The library works without it: it handles a failed import, or checks whether the \
             package is installed, and the program's own files do not mention it. Remove the package \
             from the environment (`pip uninstall`) if nothing else needs it.",
            sentences.join("; ")
        ),
        found.iter().map(|(seconds, _)| seconds).sum(),
        "the library does not need it for the first result",
        &[
            Cause::PythonImports,
            Cause::BytecodeCompilation,
            Cause::LibraryLoading,
        ],
    ))
}

/// Returns true if a library imported an installed package that it can do without.
fn is_avoidable(import: &Import, optional: &[String]) -> bool {
    !matches!(import.importer.as_str(), "" | "__main__")
        && !is_standard(&import.name)
        && optional.contains(&import.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_optional_imports_are_avoidable() {
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
