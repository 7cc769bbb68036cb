//! Modules that an optional import loads, but that would be loaded without it too.
//!
//! The recorder sees only the first import of a module. Later requests are found in the
//! sources: the import statements that run when a module is loaded.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::{self, File};
use std::io::Read;

use preheat_model::run::trace::{Process, SpanKind};

use crate::import_statements::{import_statements, is_optional};
use crate::optional::{installed_as, top};

/// Directories of Python's own modules.
const STANDARD: &str = "/lib/python3.";

/// The requests for modules that would be made without the optional imports.
#[derive(Default)]
pub(crate) struct Others {
    /// Modules that the optional imports load and that other modules import too.
    pub(crate) shared: BTreeSet<String>,
    /// Optional imports that another module cannot do without.
    pub(crate) required: BTreeSet<String>,
}

/// Follows the import statements of all modules outside the optional imports, and of the
/// program's `own` sources.
pub(crate) fn others(process: &Process, optional: &BTreeSet<String>, own: &[String]) -> Others {
    let within = within(process, optional);
    let files = module_files(process);
    let mut found = Others::default();
    let mut visited: HashSet<String> = HashSet::new();
    let mut pending: VecDeque<String> = (process.imports.iter())
        .filter(|import| !import.failed)
        .map(|import| import.name.clone())
        .filter(|name| !within.contains(name.as_str()) && blocked(name, optional).is_none())
        .collect();
    let mut follow = |source: &str, package: &str, pending: &mut VecDeque<String>| {
        let statements = import_statements(source).into_iter();
        let targets = statements
            .filter(|statement| statement.runs_on_load)
            .flat_map(|it| it.modules.into_iter().map(move |name| (name, it.line)));
        for (name, line) in targets {
            for part in prefixes(&absolute(&name, package)) {
                if let Some(blocked) = blocked(part, optional) {
                    if !is_optional(source, line) {
                        found.required.insert(blocked.clone());
                    }
                    break;
                }
                if within.contains(part) && found.shared.insert(part.to_owned()) {
                    pending.push_back(part.to_owned());
                }
            }
        }
    };
    for source in own {
        follow(source, "", &mut pending);
    }
    while let Some(module) = pending.pop_front() {
        let Some(file) = files.get(module.as_str()) else {
            continue;
        };
        if !visited.insert(module.clone()) {
            continue;
        }
        if let Ok(source) = fs::read_to_string(file) {
            follow(&source, package_of(&module, file), &mut pending);
        }
    }
    found
        .required
        .extend(needed_packages(process, optional, &files));
    found
}

/// Optional imports of packages that cannot be uninstalled: another loaded module cannot do without
/// some part of the package, or may not, if it is compiled. That module may belong to an optional import itself, which a report
/// does not mention if it is short.
fn needed_packages(
    process: &Process,
    optional: &BTreeSet<String>,
    files: &HashMap<String, &str>,
) -> BTreeSet<String> {
    let packages: BTreeSet<&str> = optional.iter().map(|name| top(name)).collect();
    let mut needed_by: HashMap<&str, Vec<String>> = HashMap::new();
    for (module, file) in extensions(process) {
        let packages = packages.iter().filter(|package| **package != top(&module));
        for package in names_in(file, &packages.copied().collect::<Vec<_>>()) {
            needed_by.entry(package).or_default().push(module.clone());
        }
    }
    for import in process.imports.iter().filter(|import| !import.failed) {
        let name = import.name.as_str();
        let Some((file, source)) = files
            .get(name)
            .and_then(|file| Some((file, fs::read_to_string(file).ok()?)))
        else {
            continue;
        };
        let statements = import_statements(&source).into_iter();
        for statement in statements.filter(|statement| statement.runs_on_load) {
            for target in &statement.modules {
                let target = absolute(target, package_of(name, file));
                let package = packages.get(top(&target)).filter(|it| **it != top(name));
                if let Some(package) = package
                    && !is_optional(&source, statement.line)
                {
                    needed_by.entry(package).or_default().push(name.to_owned());
                }
            }
        }
    }
    let is_needed = |name: &&String| {
        let only = BTreeSet::from([(*name).clone()]);
        let own = within(process, &only);
        let mut others = needed_by.get(top(name)).into_iter().flatten();
        others.any(|module| !own.contains(module.as_str()))
    };
    optional.iter().filter(is_needed).cloned().collect()
}

/// The installed extension modules, with their files.
fn extensions(process: &Process) -> impl Iterator<Item = (String, &str)> {
    process.files.iter().filter_map(|file| {
        let path = installed_as(file).filter(|path| path.ends_with(".so"))?;
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let name = name.split('.').next().unwrap_or(name);
        let module = format!("{directory}/{name}").replace('/', ".");
        Some((module.trim_start_matches('.').to_owned(), file.as_str()))
    })
}

/// The names that a file contains as whole texts. Compiled code names the modules that it
/// imports like this; whether it could do without them is not known.
fn names_in<'a>(file: &str, names: &[&'a str]) -> Vec<&'a str> {
    const PIECE: usize = 1 << 20;
    let texts: Vec<Vec<u8>> = (names.iter())
        .map(|name| [b"\0", name.as_bytes(), b"\0"].concat())
        .collect();
    let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
    let Ok(mut file) = File::open(file) else {
        return Vec::new();
    };
    let mut found = vec![false; names.len()];
    let mut buffer = vec![0; longest + PIECE];
    // The end of a piece is searched again with the next one.
    let mut kept = 0;
    while found.contains(&false) {
        let Some(length) = file.read(&mut buffer[kept..]).ok().filter(|read| *read > 0) else {
            break;
        };
        let bytes = &buffer[..kept + length];
        for (text, found) in texts.iter().zip(&mut found) {
            let is_text = |part: &[u8]| part[1] == text[1] && part == text;
            *found = *found || bytes.windows(text.len()).any(is_text);
        }
        let rest = bytes.len() - bytes.len().min(longest);
        let end = bytes.len();
        kept = end - rest;
        buffer.copy_within(rest..end, 0);
    }
    let found = names.iter().zip(found).filter(|(_, found)| *found);
    found.map(|(name, _)| *name).collect()
}

/// The package to which the relative imports of a module refer.
fn package_of<'a>(module: &'a str, file: &str) -> &'a str {
    match file.ends_with("/__init__.py") {
        true => module,
        false => module.rsplit_once('.').map_or("", |(package, _)| package),
    }
}

/// The modules that were loaded during optional imports, these included.
fn within<'a>(process: &'a Process, optional: &BTreeSet<String>) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    for thread in &process.threads {
        // Spans are in the order of their begin.
        let mut end = 0;
        for span in thread
            .spans
            .iter()
            .filter(|span| span.what == SpanKind::Import)
        {
            let Some(import) = process.imports.get(span.detail as usize) else {
                continue;
            };
            if optional.contains(&import.name) {
                end = end.max(span.end);
            }
            if span.begin < end && span.end <= end {
                found.insert(import.name.as_str());
            }
        }
    }
    found
}

/// The optional import that a module is or belongs to.
fn blocked<'a>(module: &str, optional: &'a BTreeSet<String>) -> Option<&'a String> {
    optional.iter().find(|name| {
        let rest = module.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The source files of installed and standard modules, by module.
fn module_files(process: &Process) -> HashMap<String, &str> {
    let files = process.files.iter().filter_map(|file| {
        let path = installed_as(file).or_else(|| {
            let at = file.find(STANDARD)? + STANDARD.len();
            file[at..].split_once('/').map(|(_, rest)| rest)
        })?;
        let path = path.strip_suffix(".py")?;
        let path = path.strip_suffix("/__init__").unwrap_or(path);
        Some((path.replace('/', "."), file.as_str()))
    });
    files.collect()
}

/// `a`, `a.b` and `a.b.c` for `a.b.c`.
fn prefixes(module: &str) -> impl Iterator<Item = &str> {
    let dots = module.match_indices('.').map(|(at, _)| at);
    dots.chain([module.len()]).map(|end| &module[..end])
}

/// The full name of a module that a module of `package` imports.
fn absolute(name: &str, package: &str) -> String {
    let relative = name.trim_start_matches('.');
    match name.len() - relative.len() {
        0 => name.to_owned(),
        level => {
            let mut parts: Vec<&str> = package.split('.').collect();
            parts.truncate(parts.len().saturating_sub(level - 1));
            parts.extend((!relative.is_empty()).then_some(relative));
            parts.join(".")
        }
    }
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;
    use preheat_model::run::trace::{Import, Span, Thread};

    use super::*;

    #[test]
    fn names_are_completed() {
        assert_eq!(absolute("a.b", "p.q"), "a.b");
        assert_eq!(absolute(".", "p.q"), "p.q");
        assert_eq!(absolute(".h", "p.q"), "p.q.h");
        assert_eq!(absolute("..i.j", "p.q"), "p.i.j");
        assert_eq!(prefixes("a.b.c").collect::<Vec<_>>(), ["a", "a.b", "a.b.c"]);
    }

    /// A process that imported these modules, with the begin and end of each.
    fn process(directory: &std::path::Path, modules: &[(&str, &str, u64, u64)]) -> Process {
        let packages = directory.join("site-packages");
        let mut process = Process::default();
        let mut thread = Thread::default();
        for (at, &(name, source, begin, end)) in modules.iter().enumerate() {
            let path = packages.join(format!("{}.py", name.replace('.', "/")));
            fs::create_dir_all(path.parent().expect("it has one")).expect("it is created");
            fs::write(&path, source).expect("it is written");
            process.files.push(path.to_string_lossy().into_owned());
            process.imports.push(Import {
                name: name.to_owned(),
                ..Import::default()
            });
            thread.spans.push(Span {
                begin,
                end,
                what: SpanKind::Import,
                detail: at as u32,
                symbol: 0,
                depth: 0,
            });
        }
        process.threads.push(thread);
        process
    }

    #[test]
    fn modules_that_others_import_are_shared() {
        let scratch = Scratch::new("shared").expect("a directory for the test");
        let directory = scratch.path();
        let guarded = "try:\n    import optional\nexcept ImportError:\n    pass\nimport other\n";
        let modules = [
            ("library", guarded, 0, 90),
            ("optional", "import common, alone\n", 10, 60),
            ("common", "import deeper\n", 20, 40),
            ("deeper", "", 25, 30),
            ("alone", "", 45, 50),
            ("other", "import common\n", 70, 80),
        ];
        let process = process(directory, &modules);
        let optional = BTreeSet::from(["optional".to_owned()]);
        let found = others(&process, &optional, &[]);
        assert_eq!(Vec::from_iter(found.shared), ["common", "deeper"]);
        assert!(found.required.is_empty());
        // The program itself needs it.
        let found = others(&process, &optional, &["import optional\n".to_owned()]);
        assert_eq!(found.required, optional);
    }

    #[test]
    fn packages_with_other_parts_that_are_needed_are_required() {
        let scratch = Scratch::new("needed").expect("a directory for the test");
        let directory = scratch.path();
        let guarded = "try:\n    import package.part\nexcept ImportError:\n    pass\n";
        let modules = [
            ("library", guarded, 0, 50),
            ("package.part", "import package.more\n", 10, 40),
            ("package.more", "import package\n", 20, 30),
            ("other", "import user\n", 60, 99),
            ("user", "import package.core\n", 70, 80),
        ];
        let process = process(directory, &modules);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let part: BTreeSet<String> = names(&["package.part"]);
        assert_eq!(others(&process, &part, &[]).required, part);
        // The module that needs it is optional itself.
        let both = names(&["other", "package.part"]);
        assert_eq!(others(&process, &both, &[]).required, part);
        let whole = names(&["library", "package.part"]);
        assert_eq!(others(&process, &whole, &[]).required, part);
    }

    #[test]
    fn packages_that_compiled_modules_import_are_required() {
        let scratch = Scratch::new("compiled").expect("a directory for the test");
        let directory = scratch.path();
        let guarded = "try:\n    import frames\nexcept ImportError:\n    pass\n";
        let modules = [("library", guarded, 0, 50), ("frames", "", 10, 40)];
        let mut process = process(directory, &modules);
        let optional = BTreeSet::from(["frames".to_owned()]);
        // A text at the border of two pieces, and one that is part of another.
        for (name, text, is_required) in [
            ("fast", &b"\0frames\0"[..], true),
            ("other", b"\0dataframes\0", false),
        ] {
            let file = directory.join(format!("site-packages/library/{name}.abi3.so"));
            fs::create_dir_all(file.parent().expect("it has one")).expect("it is created");
            let bytes = [&vec![b'x'; (1 << 20) + 4], text, &[b'x'; 99]].concat();
            fs::write(&file, bytes).expect("it is written");
            process.files.push(file.to_string_lossy().into_owned());
            let found = others(&process, &optional, &[]);
            assert_eq!(found.required.contains("frames"), is_required, "{name}");
            process.files.pop();
        }
    }
}
