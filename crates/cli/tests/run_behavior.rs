//! Effects of `preheat run` that the command and its caller can observe.

use std::fs;
use std::process::{Command, Stdio};

mod support;
use support::{Directory, preheat, require, run, signal, wait_for};

#[test]
fn output_and_exit_code_are_the_commands_own() {
    let directory = Directory::new();
    let said = run(preheat().current_dir(directory.path()).args([
        "run",
        "--starts",
        "1",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 3",
    ]));
    assert_eq!(said.code, Some(3));
    assert_eq!(said.out, "out\n");
    assert!(said.err.starts_with("err\n"), "{}", said.err);
    assert!(directory.join("preheat-sh/recording.json").exists());
    assert!(directory.join("preheat-sh/report.html").exists());
}

#[test]
fn a_signal_is_128_and_its_number() {
    let directory = Directory::new();
    let said = run(preheat().current_dir(directory.path()).args([
        "run",
        "--starts",
        "1",
        "--",
        "sh",
        "-c",
        "kill -9 $$",
    ]));
    assert_eq!(said.code, Some(137));
    assert!(directory.join("preheat-sh/recording.json").exists());
}

#[test]
fn missing_and_non_executable_commands_have_exit_codes() {
    let directory = Directory::new();
    let said =
        run(preheat()
            .current_dir(directory.path())
            .args(["run", "--", "no-such-program-here"]));
    assert_eq!(said.code, Some(127), "{}", said.err);
    assert!(said.err.contains("no-such-program-here"), "{}", said.err);
    fs::write(directory.join("text"), "words").unwrap();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["run", "--", "./text"]));
    assert_eq!(said.code, Some(126), "{}", said.err);
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left behind");
}

#[test]
fn a_terminated_command_is_still_reported() {
    let directory = Directory::new();
    let mut child = preheat()
        .current_dir(directory.path())
        .args([
            "run",
            "--starts",
            "1",
            "--",
            "sh",
            "-c",
            "touch there; while :; do :; done",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_for(&directory.join("there"), &mut child);
    assert!(signal("-TERM", &child));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(143));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("time to first") || err.contains("to exit"),
        "{err}"
    );
}

#[test]
fn a_recording_is_shown_again_and_exported() {
    let directory = Directory::new();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["run", "--starts", "2", "-o", "kept", "--", "true"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let said = run(preheat().current_dir(directory.path()).args([
        "report",
        "kept",
        "--json",
        "a.json",
        "--csv",
        "a.csv",
        "--html",
        "a.html",
        "--perfetto",
        "a.pftrace",
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        said.out,
        "wrote a.json\nwrote a.html\nwrote a.csv\nwrote a.pftrace\n"
    );
    let shown = || {
        run(preheat()
            .current_dir(directory.path())
            .args(["report", "kept"]))
    };
    let before = shown().out;
    for file in ["a.json", "a.csv", "a.html", "a.pftrace"] {
        let length = fs::metadata(directory.join(file)).map_or(0, |file| file.len());
        assert!(length > 0, "{file} is empty");
    }
    // Moved elsewhere it is the same recording.
    fs::rename(directory.join("kept"), directory.join("moved")).unwrap();
    let again = run(preheat()
        .current_dir(directory.path())
        .args(["report", "moved"]));
    assert_eq!(again.out, before);
}

#[test]
fn bad_flags_and_bad_recordings_are_sentences() {
    let directory = Directory::new();
    for (arguments, words) in [
        (vec!["run"], "COMMAND"),
        (
            vec!["run", "--iterations", "lines:(", "--", "true"],
            "regular expression",
        ),
        (vec!["run", "--iterations", "often", "--", "true"], "nvtx"),
        (
            vec!["run", "--temperature", "warm", "--", "true"],
            "process, disk, caches",
        ),
        (
            vec!["run", "--json", "-", "--", "true"],
            "belongs to the command",
        ),
        (vec!["report", "nowhere"], "nowhere"),
    ] {
        let said = run(preheat().current_dir(directory.path()).args(&arguments));
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.err);
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    }
    fs::create_dir(directory.join("empty")).unwrap();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["report", "empty"]));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("recording.json"), "{}", said.err);
    fs::write(
        directory.join("empty/recording.json"),
        "{\"schema\": \"preheat.recording/9\"}",
    )
    .unwrap();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["report", "empty"]));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("newer"), "{}", said.err);
}

#[test]
fn an_allocator_of_the_program_is_not_used_before_its_main() {
    if require("gcc", Command::new("gcc").arg("--version").output().ok()).is_none() {
        return;
    }
    let directory = Directory::new();
    // As in GCL: memory can only be allocated once `main` has prepared it.
    let source = "
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
static int ready;
static void check(void) { if (!ready) _exit(99); }
void *malloc(size_t n) { check(); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { check(); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { check(); return __libc_realloc(p, n); }
void free(void *p) { check(); __libc_free(p); }
int main(void) { ready = 1; puts(\"ready\"); return 0; }
";
    fs::write(directory.join("program.c"), source).expect("it is written");
    let compiled = Command::new("gcc")
        .current_dir(directory.path())
        .args(["-o", "program", "program.c"])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let program = directory.join("program");
    let plain = Command::new(&program).status();
    assert!(plain.is_ok_and(|status| status.success()));
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["run", "--starts", "1", "--output", "recording", "--"])
        .arg(&program));
    assert_eq!(said.code, Some(0), "{}", said.err);
}
