//! `preheat start` with kept bytecode: the program sees its own settings, entries follow the
//! source, bundles carry them, and a recording shows that nothing is compiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use preheat_model::run::{Cause, RunReport};

mod support;
use support::{Directory, Said, preheat, python, run};

const PROGRAM: &str = "
import sys, os, package
ours = sorted(name for name in os.environ if name.startswith(('PREHEAT_S', 'PREHEAT_B')))
print(package.VALUE, sys.dont_write_bytecode, sys.pycache_prefix, ours, package.__cached__)
print([path for path in sys.path if 'preheat-test' not in path])
import broken
";

fn program() -> Directory {
    let directory = Directory::new();
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).unwrap();
    fs::create_dir(directory.join("package")).unwrap();
    write("program.py", PROGRAM);
    write("package/__init__.py", "from package.inner import VALUE\n");
    write("package/inner.py", "VALUE = 'first'\n");
    write("broken.py", "def f(:\n");
    directory
}

/// The program in `directory`, started plainly or with `preheat start`.
fn started(mut command: Command, directory: &Directory, python: &Path) -> Said {
    let command = command
        .arg(python)
        .arg("program.py")
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .env("XDG_RUNTIME_DIR", directory.path())
        .env("PREHEAT_CACHES", directory.join("kept"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    run(command)
}

fn kept() -> Command {
    let mut command = preheat();
    command.args(["start", "--only", "kept-bytecode", "--strictly", "--"]);
    command
}

fn plain() -> Command {
    let mut command = preheat();
    command.args(["start", "--only", "none", "--"]);
    command
}

/// The entry of a file of the program.
fn entry(directory: &Directory, name: &str) -> PathBuf {
    let below = directory.join("kept/pythonpycacheprefix");
    let source = fs::canonicalize(directory.join(name)).unwrap();
    let parent = source.parent().unwrap().strip_prefix("/").unwrap();
    let stem = format!("{}.cpython", source.file_stem().unwrap().to_str().unwrap());
    let mut entries = fs::read_dir(below.join(parent)).unwrap();
    let found = entries.find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.starts_with(&stem) && name.ends_with(".pyc")).then_some(path.clone())
    });
    found.expect("its bytecode is kept")
}

#[test]
fn a_program_sees_its_own_settings_and_its_newest_source() {
    let Some(python) = python() else { return };
    let directory = program();
    fs::create_dir(directory.join("kept")).unwrap();
    let expected = started(plain(), &directory, &python);
    assert!(
        expected.out.starts_with("first True None []"),
        "{}",
        expected.out
    );
    assert!(expected.err.contains("SyntaxError"), "{}", expected.err);
    for _ in 0..2 {
        let said = started(kept(), &directory, &python);
        assert_eq!(said.err, expected.err);
        assert_eq!(said.out, expected.out);
        assert_eq!(said.code, expected.code);
    }
    assert!(!directory.join("package/__pycache__").exists());
    let inner = entry(&directory, "package/inner.py");
    let bytes = fs::read(&inner).unwrap();
    assert_eq!(bytes[4..8], [3, 0, 0, 0], "an entry is a checked-hash .pyc");
    // Another source of the same size and time, as in an image.
    let source = directory.join("package/inner.py");
    let time = fs::metadata(&source).unwrap().modified().unwrap();
    fs::write(&source, "VALUE = 'other'\n").unwrap();
    fs::File::options()
        .write(true)
        .open(&source)
        .and_then(|file| file.set_modified(time))
        .unwrap();
    let said = started(kept(), &directory, &python);
    assert!(said.out.starts_with("other"), "{}", said.out);
    // A damaged entry is as good as none.
    fs::write(&inner, &bytes[..20]).unwrap();
    let said = started(kept(), &directory, &python);
    assert!(said.out.starts_with("other"), "{}", said.out);
}

#[test]
fn a_bundle_carries_bytecode_and_nothing_is_compiled_then() {
    let Some(python) = python() else { return };
    let directory = program();
    fs::write(directory.join("broken.py"), "").unwrap();
    fs::create_dir(directory.join("kept")).unwrap();
    assert_eq!(started(kept(), &directory, &python).code, Some(0));
    let kept_in = directory.join("kept");
    let bundle = directory.join("kept.tar");
    let caches = |what: &str| {
        let mut command = preheat();
        let command = command.args(["start", what]).arg(&bundle);
        run(command.arg("--caches").arg(&kept_in))
    };
    let packed = caches("--pack");
    assert_eq!(packed.code, Some(0), "{}", packed.err);
    assert!(packed.out.contains("of Python from"), "{}", packed.out);
    fs::remove_dir_all(&kept_in).unwrap();
    let unpacked = caches("--unpack");
    assert_eq!(unpacked.code, Some(0), "{}", unpacked.err);
    entry(&directory, "package/inner.py");
    let mut command = preheat();
    command.args(["run", "--starts", "2", "--json", "run.json", "--"]);
    command.arg(env!("CARGO_BIN_EXE_preheat"));
    command.args(["start", "--only", "kept-bytecode", "--strictly", "--"]);
    let said = started(command, &directory, &python);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("run.json")).unwrap();
    let report: RunReport = serde_json::from_str(&text).unwrap();
    let mut causes = report.causes.iter();
    let compiled = causes.find(|cause| cause.cause == Cause::BytecodeCompilation);
    let of_program = compiled.is_some_and(|cause| {
        let mut items = cause.items.iter();
        items.any(|item| ["package", "broken"].contains(&item.name.as_str()))
    });
    assert!(!of_program, "{:?}", report.causes);
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let Some(python) = python() else { return };
    let directory = program();
    let kept_in = directory.join("kept");
    fs::create_dir(&kept_in).unwrap();
    fs::set_permissions(&kept_in, fs::Permissions::from_mode(0o777)).unwrap();
    let said = started(kept(), &directory, &python);
    assert_eq!(said.code, Some(125), "{}", said.err);
    assert!(
        said.err.contains("another user could change it"),
        "{}",
        said.err
    );
}
