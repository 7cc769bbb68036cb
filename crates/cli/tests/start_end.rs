//! The end of a program that was started warm: shorter, and with the same finalizers, files,
//! output and exit code.

use std::collections::BTreeMap;
use std::fs;

mod support;
#[path = "start/warm.rs"]
mod warm;
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

#[test]
fn whatever_happens_at_the_end_happens_in_a_warm_start_too() {
    let Some(warm) = Warm::new() else { return };
    fs::write(warm.directory.join("end.py"), include_str!("start/end.py")).expect("written");
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
    let code = "import gc, json, numpy; print(gc.get_freeze_count(), len(gc.get_objects()) > 5000)";
    warm.warm_up(&[python, "-c", code], &as_is);
    assert_eq!(shown(&[python, "-c", code]), "0 True\n");
}
