//! The command gets preheat's standard streams, and each start gets the same input as the
//! first.

mod support;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use preheat_wire::Kind;
use support::terminal::Terminal;
use support::{Running, Scratch, samples, text};

#[test]
fn every_start_reads_a_file_from_the_same_offset() {
    let scratch = Scratch::new();
    let path = scratch.path().join("input");
    std::fs::write(&path, "skipped\none\ntwo\n").expect("a file");
    let mut file = File::open(&path).expect("it opens");
    file.seek(SeekFrom::Start(8)).expect("the file is seekable");
    let mut launch = scratch.launch(&["starts=3", "all-output"], &["cat"]);
    let output = launch.stdin(file).output().expect("it runs");
    assert_eq!(text(&output.stdout), "one\ntwo\n".repeat(3));
}

#[test]
fn a_pipe_is_read_once() {
    for (words, made, shown) in [(&[][..], 1, "ended"), (&["starts=2"][..], 2, "empty one")] {
        let scratch = Scratch::new();
        let mut launch = scratch.launch(words, &["cat"]);
        let mut child = launch
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(b"once\n").expect("it is read");
        drop(input);
        let output = child.wait_with_output().expect("an end");
        assert_eq!(text(&output.stdout), "once\n");
        let manifest = scratch.manifest();
        assert_eq!(manifest.starts.len(), made);
        let said = format!(
            "{} {}",
            manifest.notes.join(" "),
            manifest
                .settings
                .ended_early
                .map_or(String::new(), |why| format!("ended: {why}"))
        );
        assert!(said.contains(shown) && said.contains("pipe"), "{said}");
    }
}

#[test]
fn only_the_output_of_the_first_start_is_shown() {
    let scratch = Scratch::new();
    let script = "echo out; echo err >&2";
    let output = scratch.output(&["starts=3"], &["sh", "-c", script]);
    assert_eq!(text(&output.stdout), "out\n");
    assert_eq!(text(&output.stderr), "err\n");
    assert_eq!(scratch.manifest().starts.len(), 3);
}

#[test]
fn a_command_without_a_reader_gets_sigpipe() {
    for words in [&["starts=1"][..], &["starts=1", "lines=^y"][..]] {
        let scratch = Scratch::new();
        let mut running = Running::new(scratch.launch(words, &["yes"]));
        assert_eq!(running.line(), "y");
        let Running { mut child, lines } = running;
        drop(lines);
        let status = child.wait().expect("an end");
        assert_eq!(status.code(), Some(128 + libc::SIGPIPE), "{words:?}");
    }
}

#[test]
fn closed_streams_stay_closed_in_the_command() {
    // The script writes its open streams to a file.
    let script = "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd >>\"$0\"; done; :";
    for stream in 0..3 {
        let scratch = Scratch::new();
        let said = scratch.path().join("said");
        let command = ["sh", "-c", script, said.to_str().expect("text")];
        let mut launch = scratch.launch(&["starts=1"], &command);
        // SAFETY: close gets only a number and is async-signal-safe.
        unsafe {
            launch.pre_exec(move || {
                libc::close(stream);
                Ok(())
            });
        }
        assert!(launch.status().expect("it runs").success());
        let expected: String = (0..3)
            .filter(|open| *open != stream)
            .map(|open| format!("{open}\n"))
            .collect();
        assert_eq!(std::fs::read_to_string(&said).expect("text"), expected);
    }
}

#[test]
fn lines_of_standard_error_begin_and_end_iterations_too() {
    let scratch = Scratch::new();
    let script = "echo load >&2; echo go; echo 'step 1' >&2; echo go >&2; echo 'step 2'";
    let words = ["starts=1", "lines=^go=>^step"];
    let output = scratch.output(&words, &["sh", "-c", script]);
    assert_eq!(text(&output.stdout), "go\nstep 2\n");
    assert_eq!(text(&output.stderr), "load\nstep 1\ngo\n");
    let lines = samples::read(&scratch.recording().join("start-1/launcher.process"));
    let count = |kind| lines.iter().filter(|sample| sample.kind == kind).count();
    assert_eq!((count(Kind::LineBegin), count(Kind::Line)), (2, 2));
}

#[test]
fn output_and_errors_that_go_to_one_file_keep_their_order() {
    let scratch = Scratch::new();
    let path = scratch.path().join("both");
    let file = File::create(&path).expect("a file");
    let script = "i=0; while [ $i -lt 50 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let mut launch = scratch.launch(&["starts=1", "lines=^err"], &["sh", "-c", script]);
    let errors = file.try_clone().expect("another descriptor");
    let status = launch.stdout(file).stderr(errors).status();
    assert!(status.expect("it runs").success());
    let expected: String = (0..50).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(std::fs::read_to_string(&path).expect("text"), expected);
}

#[test]
fn lines_are_forwarded_unchanged_and_recorded() {
    let scratch = Scratch::new();
    let script = r"printf 'step 1\nother\n\377\000 step\r\nstep 2'; echo err >&2";
    let words = ["starts=2", r"lines=^step \d"];
    let output = scratch.output(&words, &["sh", "-c", script]);
    assert_eq!(output.stdout, b"step 1\nother\n\xff\0 step\r\nstep 2");
    // Standard error is also shown only for the first start.
    assert_eq!(text(&output.stderr), "err\n");
    for start in &scratch.manifest().starts {
        let directory = scratch.recording().join(&start.directory);
        let mut lines = samples::read(&directory.join("launcher.process"));
        lines.retain(|sample| sample.kind == Kind::Line);
        let numbers: Vec<u64> = lines.iter().map(|line| line.value).collect();
        assert_eq!(numbers, [0, 1]);
        assert!(lines.iter().all(|line| line.time >= start.exec));
    }
}

#[test]
fn lines_go_through_a_terminal_of_the_same_size() {
    let scratch = Scratch::new();
    // The real terminal also signals the command, possibly too early, so preheat signals it
    // again.
    let resized =
        "exec 3>&1; trap '[ \"$(stty size <&3)\" = \"20 40\" ] && echo resized && exit 0' WINCH";
    let resized = format!("{resized}; echo ready; while :; do :; done");
    let script = format!("test -t 1 && echo step; stty size <&1; {resized}");
    let mut launch = scratch.launch(&["starts=1", "lines=^step"], &["sh", "-c", &script]);
    launch.env("TERM", "dumb");
    let mut terminal = Terminal::new(launch);
    terminal.expect("step\r\n33 77\r\nready\r\n");
    terminal.resize(20, 40);
    terminal.expect("resized\r\n");
    assert_eq!(terminal.end().1, Some(0));
    let lines = samples::read(&scratch.recording().join("start-1/launcher.process"));
    let lines = lines.iter().filter(|sample| sample.kind == Kind::Line);
    assert_eq!(lines.count(), 1);
}

#[test]
fn processes_left_running_are_not_waited_for() {
    let scratch = Scratch::new();
    let script = "yes >/dev/null 2>&1 & echo $!; exec true";
    let output = scratch.output(&["starts=1", "lines=[0-9]"], &["sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0));
    let left = text(&output.stdout).trim().parse().expect("a process");
    support::kill(left, libc::SIGKILL);
}
