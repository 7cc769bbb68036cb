//! A warm parent is made before a program is started, from a recording of it.
//!
//! Without the usual harness: a parent is made by a fork of this process, which must have
//! one thread.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Duration;

mod support;
#[path = "start/warm.rs"]
mod warm;
use preheat_start::{Imports, Preparation, prepare};
use support::preheat;
use warm::{Observed, Warm};

fn main() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "cases.py", "code", "3"];
    let recording = warm.directory.join("recording");
    let recorded = preheat()
        .current_dir(warm.directory.path())
        .args(["run", "--starts", "1", "-o"])
        .arg(&recording)
        .arg("--")
        .args(program)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert_eq!(recorded.status.code(), Some(3), "{said}");
    let recording = preheat_trace::read(&recording).expect("it can be read");
    let (names, files) = preheat_trace::imports(&recording.starts);
    assert!(names.iter().any(|name| name == "numpy"), "{names:?}");

    // As the command line would be, where the tests' programs are.
    std::env::set_current_dir(warm.directory.path()).expect("it exists");
    for (name, value) in warm.surroundings() {
        // SAFETY: this process has one thread.
        unsafe {
            match value {
                Some(value) => std::env::set_var(name, value),
                None => std::env::remove_var(name),
            }
        }
    }
    let command: Vec<OsString> = program.iter().map(OsString::from).collect();
    let imports = Imports { names, files };
    let none = Imports::default();
    let bending = Imports {
        names: vec!["gevent".into(), "numpy".into()],
        files: Vec::new(),
    };
    let lines = RefCell::new(Vec::new());
    let log = |line: &str| lines.borrow_mut().push(line.to_owned());
    let preparation = |imports, seconds| Preparation {
        command: &command,
        imports,
        idle: Duration::from_secs(60),
        limit: Duration::from_secs(seconds),
        standby: None,
        log: &log,
    };
    let why = prepare(&preparation(None, 60)).expect_err("nothing is known of it");
    assert!(
        why.to_string()
            .contains("unknown until it has been started once"),
        "{why}"
    );
    let why = prepare(&preparation(Some(&none), 60)).expect_err("nothing at all");
    assert!(why.to_string().contains("no imports"), "{why}");
    prepare(&preparation(Some(&imports), 60)).expect("it is prepared");
    let said = lines.take();
    assert!(
        said.iter()
            .any(|line| line.starts_with("testing the import of")),
        "{said:?}"
    );
    assert!(
        said.iter().any(|line| line.starts_with("importing ")),
        "{said:?}"
    );
    // The very first start is warm, and has all of it.
    let first = warm.started(&program).output().expect("it starts");
    let first = Observed::of(first).warm(&program);
    assert_eq!(first.status.code(), Some(3));
    let ahead = [python, "cases.py", "facts"];
    warm.same(&ahead, &warm::as_is);
    // If it already runs, nothing is done.
    let parent = warm.parent();
    prepare(&preparation(None, 60)).expect("it is prepared");
    assert_eq!(warm.parent(), parent);
    assert!(lines.take().is_empty());

    // A time that is over, and a program for which there can be none.
    let all = warm
        .preheat(&["--stop", "all"])
        .output()
        .expect("it starts");
    assert!(all.status.success());
    let why = prepare(&preparation(None, 0)).expect_err("the time is over");
    assert!(why.to_string().contains("still being created"), "{why}");
    warm.settle();
    warm.preheat(&["--stop", "all"])
        .output()
        .expect("it starts");
    let why = prepare(&preparation(Some(&bending), 60)).expect_err("it cannot be");
    assert!(why.to_string().contains("gevent"), "{why}");
    println!("a_parent_is_made_from_a_recording ... ok");
}
