//! README.md and docs/: the commands of README.md and of the tutorial work, and every link leads
//! somewhere.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod support;
use preheat_model::run::Cause;
use preheat_start::Remedy;
use support::{Directory, python_with, run};

/// Commands that install preheat, which the test needs already.
const INSTALLING: [&str; 2] = ["pip install .", "cargo install --locked --path crates/cli"];
/// Commands whose exit code 1 is a verdict on the machine, not a failure.
const JUDGING: [&str; 2] = ["preheat compare ", "preheat check "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// The lines of the fenced blocks that hold shell commands.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        match line {
            "```sh" => in_block = true,
            "```" => in_block = false,
            _ if in_block && !line.is_empty() => commands.push(line.to_owned()),
            _ => {}
        }
    }
    commands
}

#[test]
fn readme_can_be_read_in_five_minutes() {
    let lines = readme().lines().count();
    assert!(lines <= 200, "README.md has {lines} lines");
}

#[test]
fn every_command_in_readme_works() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let commands = commands(&readme());
    let of_preheat = |line: &&String| line.starts_with("preheat ");
    assert!(
        commands.iter().filter(of_preheat).count() >= 8,
        "{commands:?}"
    );
    execute(&commands, &python, &[]);
}

#[test]
fn every_command_in_the_tutorial_works_in_a_clone() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let text = fs::read_to_string(root().join("docs/tutorial.md")).expect("the tutorial");
    let commands = commands(&text);
    assert!(commands.len() >= 5, "{commands:?}");
    execute(&commands, &python, &[("ITERATIONS", "4")]);
}

/// The tutorial quotes the report of a kept recording; a line with only `…` stands for others.
#[test]
fn the_output_in_the_tutorial_is_real() {
    let kept = "docs/results/h200/linear.json";
    let said = run(support::preheat()
        .args(["report", kept])
        .env("COLUMNS", "80")
        .current_dir(root()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report: Vec<&str> = said.out.lines().map(str::trim_end).collect();
    let text = fs::read_to_string(root().join("docs/tutorial.md")).expect("the tutorial");
    assert!(text.contains(kept), "the tutorial names the recording");
    let blocks: Vec<&str> = text.split("```text\n").skip(1).collect();
    assert!(blocks.len() >= 4, "{text}");
    for block in blocks {
        let block = block.split("```").next().unwrap_or_default();
        let mut rest = report.as_slice();
        let mut may_skip = true;
        for line in block.lines() {
            if line.trim() == "…" {
                may_skip = true;
                continue;
            }
            let found = rest.iter().position(|is| *is == line);
            let found = found.filter(|at| may_skip || *at == 0);
            let at = found.unwrap_or_else(|| panic!("`{line}` does not follow in the report"));
            rest = &rest[at + 1..];
            may_skip = false;
        }
    }
}

/// Executes commands in a directory that has the examples, as in a clone.
fn execute(commands: &[String], python: &Path, variables: &[(&str, &str)]) {
    let directory = Directory::new();
    for name in ["bin", "run", "cache"] {
        let path = directory.join(name);
        fs::create_dir(&path).expect("a directory for the test");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("it is private");
    }
    symlink(env!("CARGO_BIN_EXE_preheat"), directory.join("bin/preheat"))
        .expect("preheat is on the path");
    symlink(root().join("examples"), directory.join("examples")).expect("the examples");
    let bin = format!(
        "{}:{}:/usr/bin:/bin",
        directory.join("bin").display(),
        python.parent().expect("a directory").display()
    );
    let shell = |line: &str| {
        let mut shell = Command::new("/bin/bash");
        shell
            .args(["-c", line])
            .current_dir(directory.path())
            .env("PATH", &bin)
            .env("XDG_RUNTIME_DIR", directory.join("run"))
            .env("XDG_CACHE_HOME", directory.join("cache"))
            .envs(variables.iter().copied())
            .stdin(Stdio::null());
        shell
    };
    for line in commands {
        if INSTALLING.iter().any(|begin| line.starts_with(begin)) {
            continue;
        }
        let said = run(&mut shell(line));
        let judging = JUDGING.iter().any(|begin| line.starts_with(begin));
        let fine = said.code == Some(0) || (judging && said.code == Some(1));
        assert!(fine, "`{line}` exits with {:?}: {}", said.code, said.err);
    }
    run(&mut shell("preheat start --stop"));
}

/// Markdown files below a directory.
fn documents(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.extension() {
            _ if path.is_dir() => documents(&path, found),
            Some(extension) if extension == "md" => found.push(path),
            _ => {}
        }
    }
}

/// The targets of links and images, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        in_block ^= line.starts_with("```");
        let mut rest = line;
        while let Some(at) = rest.find("](").filter(|_| !in_block) {
            rest = &rest[at + 2..];
            let end = rest.find(')').unwrap_or(rest.len());
            links.push(rest[..end].to_owned());
        }
    }
    links
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> HashSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        heading
            .chars()
            .filter(kept)
            .collect::<String>()
            .replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// The name of the page of a cause.
fn slug(cause: Cause) -> String {
    let name = cause.as_str().to_lowercase();
    name.replace('\'', "").replace(' ', "-")
}

#[test]
fn every_cause_has_a_page() {
    for cause in Cause::ALL {
        let name = cause.as_str();
        let page = root().join(format!("docs/causes/{}.md", slug(cause)));
        let text = fs::read_to_string(&page).unwrap_or_default();
        for part in [
            "\n## How to see it\n",
            "\n## What removes it\n",
            &format!("*{name}*"),
        ] {
            assert!(text.contains(part), "{}: {part:?}", page.display());
        }
    }
}

/// Schemas, guides and the contents of the site repeat the list of causes. `PREHEAT_UPDATE=1`
/// updates it.
#[test]
fn every_list_of_causes_is_current() {
    let list = |separator, item: &dyn Fn(Cause) -> String| Cause::ALL.map(item).join(separator);
    let names = list(", ", &|cause| format!("\"{}\"", cause.as_str()));
    for schema in ["run-2", "compare-2", "check-2"] {
        let file = format!("docs/schema/preheat.{schema}.schema.json");
        current(&file, "\"cause\": {\n      \"enum\": [", &names, "]");
    }
    let rows = list("\n", &|cause| {
        format!("| `{}` | {} |", cause.as_str(), cause.explanation())
    });
    let head = "| cause | meaning |\n|---|---|\n";
    current("docs/run-json.md", head, &rows, "\n\n");
    let rows = list("\n", &|cause| {
        let about = cause.explanation().trim_end_matches('.');
        format!("| [{}]({}.md) | {about} |", cause.as_str(), slug(cause))
    });
    let head = "| cause | in short |\n|---|---|\n";
    current("docs/causes/README.md", head, &rows, "\n\n");
    let pages = list("\n", &|cause| format!("      - causes/{}.md", slug(cause)));
    current("mkdocs.yml", "- causes/README.md\n", &pages, "\n  - ");
}

/// The schema and the guide of `start --measure` repeat the list of remedies.
#[test]
fn every_list_of_remedies_is_current() {
    let names = Remedy::ALL.map(|remedy| format!("\"{remedy}\"")).join(", ");
    let schema = "docs/schema/preheat.start-2.schema.json";
    current(schema, "\"remedy\": {\"enum\": [", &names, "]");
    let names = Remedy::ALL.map(|remedy| format!("`{remedy}`")).join(", ");
    current("docs/start-json.md", "| `id` | one of ", &names, " |");
}

/// Compares the part of a file between `head` and `tail` with `expected`.
fn current(file: &str, head: &str, expected: &str, tail: &str) {
    let path = root().join(file);
    let text = fs::read_to_string(&path).expect(file);
    let begin = text.find(head).expect(head) + head.len();
    let length = text[begin..].find(tail).expect(tail);
    if std::env::var_os("PREHEAT_UPDATE").is_some() {
        let (before, after) = (&text[..begin], &text[begin + length..]);
        fs::write(&path, [before, expected, after].concat()).expect(file);
    } else {
        let part = &text[begin..begin + length];
        assert_eq!(part, expected, "{file}: PREHEAT_UPDATE=1 updates it");
    }
}

/// A page that is not in the table of contents is hard to find.
#[test]
fn every_page_is_in_the_contents_of_the_site() {
    let contents = fs::read_to_string(root().join("mkdocs.yml")).expect("mkdocs.yml");
    let (_, listed) = contents
        .split_once("\nnav:\n")
        .expect("a table of contents");
    let listed: HashSet<&str> = (listed.lines())
        .filter_map(|line| line.trim_start_matches([' ', '-']).split(": ").last())
        .collect();
    let docs = root().join("docs");
    let mut pages = Vec::new();
    documents(&docs, &mut pages);
    assert!(pages.len() > 40, "{pages:?}");
    for page in &pages {
        let page = page.strip_prefix(&docs).expect("below docs");
        assert!(
            listed.contains(page.to_str().expect("a name")),
            "{} is not in the nav of mkdocs.yml",
            page.display()
        );
    }
}

/// The site has every file in `docs`, but shows no list of a directory's files.
#[test]
fn every_link_leads_somewhere_on_the_site() {
    let contents = fs::read_to_string(root().join("mkdocs.yml")).expect("mkdocs.yml");
    assert!(
        !contents.contains("exclude_docs:"),
        "pages link to all of docs"
    );
    let docs = root().join("docs").canonicalize().expect("docs");
    let mut all = Vec::new();
    documents(&docs, &mut all);
    for document in &all {
        let text = fs::read_to_string(document).expect("a document");
        for link in links(&text) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || link.contains("://") {
                continue;
            }
            let target = document.parent().expect("a directory").join(file);
            let target = target.canonicalize().unwrap_or_default();
            assert!(
                target.starts_with(&docs) && target.is_file(),
                "{}: {link}",
                document.display()
            );
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut all = beside.map(|name| root().join(name)).to_vec();
    documents(&root().join("docs"), &mut all);
    let mut broken = Vec::new();
    for document in &all {
        let text = fs::read_to_string(document).expect("a document");
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().expect("a directory").join(file),
            };
            let found = match fs::read_to_string(&target) {
                Ok(text) => anchor.is_empty() || anchors(&text).contains(anchor),
                Err(_) => target.exists() && anchor.is_empty(),
            };
            if !found {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Splits a quoted message at its placeholders: `…`, and words in capitals, such as `PATH`.
fn fixed_parts(message: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in message.replace('…', " … ").split_whitespace() {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase());
        if word == "…" || name == "N" || is_name {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(if part.is_empty() { "" } else { " " });
            part.push_str(word);
        }
    }
    parts
}

/// A source file without comments and docstrings, with single spaces.
fn without_comments(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let is_python = path.extension().is_some_and(|extension| extension == "py");
    let (comment, text) = match is_python {
        true => ("#", text.split("\"\"\"").step_by(2).collect::<String>()),
        // Long messages are split into several lines of source.
        false => ("//", text.replace("\\\n", " ")),
    };
    let lines = text.lines();
    let code = lines.filter(|line| !line.trim_start().starts_with(comment));
    let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

/// Returns true if a message in `sources` contains these parts in this order. The placeholders
/// between them are short.
fn contains_in_order(sources: &str, parts: &[String]) -> bool {
    const LONGEST_PLACEHOLDER: usize = 60;
    let Some((first, others)) = parts.split_first() else {
        return true;
    };
    sources.match_indices(first.as_str()).any(|(at, _)| {
        let mut end = at + first.len();
        others.iter().all(|part| {
            let rest = &sources[end..];
            let found = rest.find(part.as_str());
            let found = found.filter(|gap| *gap <= LONGEST_PLACEHOLDER);
            end += found.map_or(0, |gap| gap + part.len());
            found.is_some()
        })
    })
}

/// The tables of reasons quote what `preheat start -v` prints.
#[test]
fn every_reason_for_a_plain_start_is_a_message() {
    let mut sources = Vec::new();
    files(&root().join("crates/start/src"), &mut sources);
    sources.push(root().join("crates/launch/src/program.rs"));
    let sources: Vec<String> = sources.iter().map(|path| without_comments(path)).collect();
    let sources = sources.join("\n");
    let text = fs::read_to_string(root().join("docs/start.md")).expect("the guide");
    let (_, section) = text
        .split_once("## Why was this start plain?")
        .expect("the section");
    let (section, _) = section.split_once("\n### ").expect("its end");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let parts = |message: &str| -> Vec<String> {
        fixed_parts(message)
            .iter()
            .map(|part| part.trim_matches([',', ':', ';', ' ']).to_owned())
            .filter(|part| part.len() > 6)
            .collect()
    };
    let messages: Vec<Vec<String>> = quoted.map(parts).collect();
    assert!(messages.concat().len() > 30, "{messages:?}");
    let unknown: Vec<_> = messages
        .iter()
        .filter(|parts| !contains_in_order(&sources, parts))
        .collect();
    assert!(unknown.is_empty(), "no message contains {unknown:#?}");
}

/// The tables of docs/warm-starts.md name modules by their files, below `module`.
#[test]
fn every_module_of_warm_starts_exists() {
    let mut sources = Vec::new();
    files(&root().join("crates/start/src"), &mut sources);
    let stems: HashSet<&str> = (sources.iter())
        .filter_map(|source| source.file_stem()?.to_str())
        .collect();
    let text = fs::read_to_string(root().join("docs/warm-starts.md")).expect("the guide");
    let mut modules = Vec::new();
    // The column of the modules, in a table that has one.
    let mut column = None;
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            column = None;
        } else if let Some(at) = cells.iter().position(|cell| *cell == "module") {
            column = Some(at);
        } else if let Some(cell) = column.and_then(|at| cells.get(at)) {
            modules.extend(cell.split('`').skip(1).step_by(2));
        }
    }
    assert!(modules.len() > 50, "{modules:?}");
    modules.retain(|module| !stems.contains(module));
    assert!(modules.is_empty(), "{modules:#?}");
}

/// All files of this directory and those below it, except build results.
fn files(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).expect("a directory").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Documents name a source file by its path, or by the end of its path, and a directory by its path.
#[test]
fn every_source_that_is_named_exists() {
    let mut sources = Vec::new();
    for directory in ["crates", "fuzz", "tests"] {
        files(&root().join(directory), &mut sources);
    }
    let mut all = vec![root().join("CONTRIBUTING.md")];
    documents(&root().join("docs"), &mut all);
    let mut missing = Vec::new();
    for document in &all {
        let text = fs::read_to_string(document).expect("a document");
        for name in text.split('`').skip(1).step_by(2) {
            let roots = ["crates/", "python/", "examples/", "packaging/"];
            let is_path = roots.iter().any(|root| name.starts_with(root))
                && !name.contains(char::is_whitespace)
                && !name.contains('*');
            let exists = match name.ends_with(".rs") {
                true => sources.iter().any(|source| source.ends_with(name)),
                false => !is_path || root().join(name).exists(),
            };
            if !exists {
                missing.push(format!("{}: {name}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
