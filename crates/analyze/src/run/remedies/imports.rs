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
    let optional = &case.manifest.optional_imports;
    // For each import the avoidable one that it belongs to, as an index into `found`.
    let mut of: Vec<Option<usize>> = vec![None; process.imports.len()];
    let mut found: Vec<(f64, &Import)> = Vec::new();
    for at in &tree.order {
        let index = *at as usize;
        let import = &process.imports[index];
        let parent = tree.parents[index].map(|parent| parent as usize);
        of[index] = parent.and_then(|parent| of[parent]);
        let (begin, end) = tree.spans[index];
        let time = end.min(until).saturating_sub(begin) as f64 * 1e-9 * case.scale;
        match of[index] {
            None if is_avoidable(import, optional) => {
                of[index] = Some(found.len());
                found.push((time, import));
            }
            // Something else loads it then: only what is nested in it and not shared is saved.
            Some(avoidable) => {
                let is_shared = |at: usize| {
                    case.manifest
                        .shared_imports
                        .contains(&process.imports[at].name)
                };
                match (is_shared(index), parent.is_some_and(is_shared)) {
                    (true, false) => found[avoidable].0 -= time,
                    (false, true) => found[avoidable].0 += time,
                    _ => {}
                }
            }
            None => {}
        }
    }
    let least = LEAST.max(WORTH_AVOIDING * until as f64 * 1e-9 * case.scale);
    found.retain(|(time, _)| *time >= least);
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
