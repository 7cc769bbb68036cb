//! The end of a program that was started warm: shorter, and with the same finalizers, files,
//! output and exit code.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Observed, Warm, as_is};

/// Files that a program has left, which then go.
fn left(warm: &Warm) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(warm.directory.path())
        .expect("it can be read")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("left") || name.starts_with("data.db") {
            let bytes = fs::read(entry.path()).expect("it can be read");
            fs::remove_file(entry.path()).expect("it goes");
            // A database has the time in it; which of its files there are is what matters.
            found.insert(
                name.clone(),
                if name.starts_with("data") {
                    Vec::new()
                } else {
                    bytes
                },
            );
        }
    }
    found
}

/// Compiles a library that acts when it is unloaded.
fn make_library(warm: &Warm) {
    let source = "#include <unistd.h>\n\
        __attribute__((destructor)) static void end(void) { write(1, \"unloaded\\n\", 9); }";
    fs::write(warm.directory.join("acts.c"), source).expect("written");
    let compiled = Command::new("gcc")
        // The name is that of a library of the system.
        .args(["-shared", "-fPIC", "-o", "libutil.so", "acts.c"])
        .current_dir(warm.directory.path())
        .status()
        .expect("a C compiler starts");
    assert!(compiled.success());
}

/// An exit function that a `.pth` file registers is called last, and sees all modules.
#[test]
fn a_function_that_was_registered_before_preheat() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    let program = "import json, ctypes\nsetattr(json, 'mine', 5)\n";
    fs::write(warm.directory.join("program.py"), program).expect("written");
    fs::write(packages.join("zz.pth"), "import registers\n").expect("written");
    let words = ["venv/bin/python", "program.py"];
    for (head, register) in [
        ("def last():", "atexit.register(last)"),
        // Arguments are not known, so this one cannot be registered again.
        ("def last(*_):", "atexit.register(last, 1)"),
    ] {
        let body = "    import json\n    print('state', getattr(json, 'mine', None))";
        let module = format!("import atexit\n{head}\n{body}\n{register}\n");
        fs::write(packages.join("registers.py"), module).expect("written");
        let _ = warm.preheat(&["--stop", "all"]).output();
        warm.warm_up(&words, &as_is);
        assert_eq!(warm.same(&words, &as_is).out, "state 5\n", "{register}");
    }
}

/// Two things that a `.pth` file may do before preheat begins, and that do not matter to the end of
/// the program: an import of importlib, which renames the module of the weak reference callbacks of the
/// import system, and the registration of an exit function.
#[test]
fn a_pth_file_leaves_the_end_short() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    fs::write(packages.join("zz.pth"), "import registers\n").expect("written");
    // By a name that is not in this file: else nothing would be exempt.
    let program = "import gc, json, ctypes, decimal\n\
        print(getattr(gc, '_'.join(['get', 'freeze', 'count']))() > 0)\n\
        handler = ctypes.cast(ctypes.CDLL(None).puts, ctypes.c_void_p)\n\
        ctypes.CDLL(None)['__cxa_' + 'atexit'](handler, b'called by the C library', None)\n";
    fs::write(warm.directory.join("program.py"), program).expect("written");
    let words = ["venv/bin/python", "program.py"];
    for (module, out) in [
        ("import importlib.util\n", ""),
        (
            "import atexit\n@atexit.register\ndef last():\n    print('last')\n",
            "last\n",
        ),
    ] {
        fs::write(packages.join("registers.py"), module).expect("written");
        let _ = warm.preheat(&["--stop", "all"]).output();
        warm.warm_up(&words, &as_is);
        let started = warm.started(&words).output().expect("it starts");
        let started = Observed::of(started).warm(&words);
        // Exit functions of native code are skipped.
        assert_eq!(started.out, format!("True\n{out}"), "{module}");
    }
}

/// A line that is added after the last import may show the objects of the parent.
#[test]
fn a_changed_program_that_looks_at_all_objects() {
    let Some(warm) = Warm::new() else { return };
    let program = "import gc, json, decimal\nprint(1)\n";
    fs::write(warm.directory.join("program.py"), program).expect("written");
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "program.py"];
    warm.warm_up(&words, &as_is);
    let changed = format!("{program}print(len(gc.get_objects()) > 2000)\n");
    fs::write(warm.directory.join("program.py"), changed).expect("written");
    let started = warm.started(&words).output().expect("it starts");
    assert_eq!(Observed::of(started).out, "1\nTrue\n");
}

/// Executes a file of the warm parent, and then a test of it.
fn check(of: &str, test: &str) {
    let Some(warm) = Warm::new() else { return };
    let output = Command::new(&warm.python)
        .args(["-c", &format!("{of}\n{test}")])
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
}

/// A generator acts when it is closed exactly if `generators.py` predicts that it may.
#[test]
fn closing_a_generator_is_predicted() {
    check(
        include_str!("../../start/src/python/generators.py"),
        include_str!("start/generators.py"),
    );
}

#[test]
fn native_libraries_and_shared_memory_are_recognized() {
    check(
        include_str!("../../start/src/python/native.py"),
        include_str!("start/native.py"),
    );
}

#[test]
fn whatever_happens_at_the_end_happens_in_a_warm_start_too() {
    let Some(warm) = Warm::new() else { return };
    let gcc = Command::new("gcc").arg("--version").output();
    if require("gcc", gcc.ok()).is_none() {
        return;
    }
    fs::write(warm.directory.join("end.py"), include_str!("start/end.py")).expect("written");
    make_library(&warm);
    let python = warm.python.to_str().expect("its path is text");
    warm.warm_up(&[python, "end.py", "nothing"], &as_is);
    for case in [
        "nothing",
        "in_main",
        "stored_in_library",
        "cycle",
        "file_in_library",
        "generator_in_library",
        "weak",
        "database",
        "threads",
        "forks",
        "fails_in_finalizer",
        "broken_output",
        "in_memory",
        "empty_slots",
        "own_stream",
        "daemon",
        "native_library",
        "native_buffer",
    ] {
        let program = [python, "end.py", case];
        let plain = Observed::of(warm.plain(&program).output().expect("it starts"));
        let files = left(&warm);
        let started = warm.started(&program).output().expect("it starts");
        let started = Observed::of(started).warm(&program);
        assert_eq!(plain.out, started.out, "{case}");
        assert_eq!(plain.err, started.err, "{case}");
        assert_eq!(plain.status, started.status, "{case}");
        assert_eq!(files, left(&warm), "{case}");
    }
    // The parent's objects are exempt from garbage collection, unless the program's files
    // mention a function that would show it.
    let shown = |program: &[&str]| {
        let started = warm.started(program).output().expect("it starts");
        Observed::of(started).warm(program).out
    };
    assert_eq!(shown(&[python, "end.py", "exempt"]), "True\n");
    // Exit functions of native code are skipped, unless a library is unknown.
    assert_eq!(shown(&[python, "end.py", "native_handler"]), "");
    assert_eq!(shown(&[python, "end.py", "closed_socket"]), "");
    let called = "called by the C library\n";
    assert_eq!(shown(&[python, "end.py", "open_socket"]), called);
    let code = "import gc, json, numpy; print(gc.get_freeze_count(), len(gc.get_objects()) > 5000)";
    warm.warm_up(&[python, "-c", code], &as_is);
    assert_eq!(shown(&[python, "-c", code]), "0 True\n");
}
