//! Whole recordings: valid ones, and unusable ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use preheat_model::run::trace::StartTrace;
use preheat_trace::{files, read};
use preheat_wire::{Event, Shape};

mod support;

use support::writer::ProcessFile;
use support::{EXEC, directory, manifest, save, start};

fn at(time: u64) -> u64 {
    EXEC + time
}

/// A recording of one start with these files.
fn recording(test: &str, duration: u64, files: &[(&str, &ProcessFile)]) -> PathBuf {
    let path = directory(test);
    for (name, file) in files {
        file.save(&path.join("start-1").join(name));
    }
    fs::create_dir_all(path.join("start-1")).expect("the directory can be created");
    save(&path, &manifest(vec![start("start-1", duration)]));
    path
}

fn only_start(path: &Path) -> StartTrace {
    let mut recording = read(path).expect("it can be read");
    recording.starts.pop().expect("it has a start")
}

fn error_of(path: &Path) -> String {
    read(path).expect_err("it cannot be read").to_string()
}

#[test]
fn launcher_samples_are_assigned_to_processes_and_threads() {
    let mut first = ProcessFile::new(100, at(10));
    first
        .made(1, 0)
        .on(100, "sh")
        .event(Event::Main, at(12), "");
    // The same process, after an exec.
    let mut second = ProcessFile::new(100, at(50));
    second
        .made(1, 0)
        .on(100, "python")
        .symbol(1, Shape::Plain, "f", "l");
    second.call(1, at(60), 0, 0, 0, &[]);
    let mut child = ProcessFile::new(200, at(70_000_000));
    child
        .parent(100)
        .made(6, 0)
        .on(200, "worker")
        .event(Event::Exit, at(80_000_000), "");
    let mut launcher = ProcessFile::new(99, EXEC);
    launcher
        .on(99, "preheat")
        .process_sample(at(5), 100, 1000, 1, 0)
        .process_sample(at(20), 100, 2000, 2, 1)
        .process_sample(at(55), 100, 3000, 3, 2)
        .thread_sample(at(56), 100, 100, 7, 8)
        .thread_sample(at(57), 100, 105, 9, 1)
        .thread_sample(at(58), 100, 105, 10, 1)
        .process_sample(at(90_000_000), 200, 1, 1, 1)
        .process_sample(at(90_000_000), 300, 1, 1, 1)
        .thread_sample(at(90_000_001), 300, 300, 4_000_000, 1_000_000)
        .thread_sample(at(95_000_000), 300, 300, 8_000_000, 1_000_000)
        .line(at(500), 2)
        .line(at(400), 1);
    let path = recording(
        "launcher",
        100_000_000,
        &[
            ("100-1.process", &second),
            ("100-0.process", &first),
            ("200-0.process", &child),
            ("launcher.process", &launcher),
        ],
    );
    let start = only_start(&path);
    assert_eq!(start.problems, [""; 0]);
    assert_eq!((start.end, start.pid), (100_000_000, 100));
    assert_eq!(start.lines, [400, 500]);
    let [shell, python, worker, silent] = start.processes.as_slice() else {
        panic!("four processes: {:?}", start.processes);
    };
    let times = |samples: &[preheat_model::run::trace::ProcessSample]| {
        samples.iter().map(|sample| sample.time).collect::<Vec<_>>()
    };
    assert_eq!((shell.made, shell.began, shell.ended), (0, 10, 20));
    assert_eq!(times(&shell.samples), [5, 20]);
    assert_eq!(
        (python.made, python.began, python.ended),
        (20, 50, 100_000_000)
    );
    assert_eq!(times(&python.samples), [55]);
    assert_eq!(python.threads[0].spans[0].end, 100_000_000);
    let threads: Vec<(u32, usize)> = python
        .threads
        .iter()
        .map(|thread| (thread.id, thread.samples.len()))
        .collect();
    assert_eq!(threads, [(100, 1), (105, 2)]);
    assert_eq!(
        (
            python.threads[1].samples[1].cpu,
            python.threads[1].samples[1].waited
        ),
        (10, 1)
    );
    // 60 ms on a clock whose exec is at 1 ms; it exited before its last sample.
    assert_eq!((worker.made, worker.ended), (59_000_000, 80_000_000));
    // A process without a file is listed as a child, with its usage.
    assert_eq!((silent.pid, silent.parent), (300, 100));
    assert_eq!((silent.made, silent.ended), (85_000_001, 95_000_000));
    assert_eq!(silent.program, "a child process");
    assert_eq!(silent.threads[0].samples[1].cpu, 8_000_000);
    assert_eq!(times(&silent.samples), [90_000_000]);
}

#[test]
fn the_path_may_be_the_manifest() {
    let file = ProcessFile::new(100, at(10));
    let path = recording("by-manifest", 100, &[("100-0.process", &file)]);
    let recording = read(&path.join("recording.json")).expect("it can be read");
    assert_eq!(recording.starts[0].processes.len(), 1);
    let problems = &recording.starts[0].problems;
    assert!(
        problems[0].starts_with("start-1/launcher.process is missing"),
        "{problems:?}"
    );
}

#[test]
fn unusable_recordings_have_clear_errors() {
    let path = directory("refused");
    assert!(error_of(&path.join("nothing")).starts_with("cannot read "));
    assert!(error_of(&path).contains("is not a recording: it has no recording.json"));
    fs::create_dir(path.join("start-1")).expect("the directory can be created");
    assert!(error_of(&path).contains("its recording.json is missing"));
    let head = path.join("recording.json");
    let written = |text: &str| {
        fs::write(&head, text).expect("the file can be written");
        error_of(&path)
    };
    assert!(written("{\n  \"schema\": oh").contains("line 2 column"));
    assert!(written("[]").contains("is not marked as a \"preheat.recording/1\" document"));
    assert!(written("{\"schema\": \"preheat.lab/1\"}").contains("\"preheat.lab/1\" document"));
    assert!(written("{\"schema\": \"preheat.recording/1\"}").contains("missing field"));
    let newer = written("{\"schema\": \"preheat.recording/2\", \"future\": []}");
    assert!(
        newer.ends_with(
            "was recorded by a newer preheat (layout 2); this version reads layout 1, so \
             update preheat"
        ),
        "{newer}"
    );
    fs::remove_file(&head).expect("it was written");
    fs::create_dir(&head).expect("the directory can be created");
    assert!(error_of(&path).contains("is not a plain file"));
}

#[test]
fn newer_process_files_are_errors_unless_others_are_readable() {
    let sound = ProcessFile::new(100, at(10));
    let mut newer = ProcessFile::new(100, at(10));
    newer.put(8, &2u16.to_le_bytes());
    let path = recording("newer", 100, &[("100-0.process", &newer)]);
    let sentence = error_of(&path);
    assert!(
        sentence.contains("start-1/100-0.process was recorded by a newer"),
        "{sentence}"
    );
    let path = recording(
        "newer",
        100,
        &[("100-0.process", &newer), ("100-1.process", &sound)],
    );
    let start = only_start(&path);
    assert_eq!(start.processes.len(), 1);
    assert!(start.problems[0].starts_with("start-1/100-0.process was recorded by a newer"));
}

#[test]
fn nothing_outside_the_recording_is_read() {
    let file = ProcessFile::new(100, at(10));
    let outside = recording("outside", 100, &[("100-0.process", &file)]);
    let path = directory("inside");
    symlink(outside.join("start-1"), path.join("start-2")).expect("it can be linked");
    fs::create_dir(path.join("start-3")).expect("the directory can be created");
    symlink(
        outside.join("start-1/100-0.process"),
        path.join("start-3/100-0.process"),
    )
    .expect("it can be linked");
    let absolute = outside.join("start-1").display().to_string();
    let names = [
        "../outside/start-1",
        &absolute,
        "start-2",
        "start-3",
        "",
        "start-4",
    ];
    let starts = names.iter().map(|name| start(name, 100)).collect();
    save(&path, &manifest(starts));
    let recording = read(&path).expect("it can be read");
    let expected = [
        "outside the recording",
        "outside the recording",
        "start-2 is a symbolic link",
        "start-3/100-0.process is a symbolic link",
        "a start without a directory",
        "start-4 cannot be read",
    ];
    for (start, expected) in recording.starts.iter().zip(expected) {
        assert!(start.processes.is_empty());
        assert!(start.problems[0].contains(expected), "{:?}", start.problems);
    }
}

#[test]
fn a_start_without_files_is_a_problem() {
    let path = recording("empty", 100, &[]);
    let start = only_start(&path);
    assert!(start.problems[0].contains("no readable process file of the command"));
    let mut unrecorded = support::start("start-9", 100);
    unrecorded.unrecorded = Some("It is linked statically.".to_owned());
    save(&path, &manifest(vec![unrecorded]));
    assert_eq!(only_start(&path).problems, [""; 0]);
}

#[test]
fn a_directory_is_read_once() {
    let file = ProcessFile::new(100, at(10));
    let path = recording("twice", 100, &[("100-0.process", &file)]);
    save(
        &path,
        &manifest(vec![start("start-1", 100), start("start-1", 100)]),
    );
    let recording = read(&path).expect("it can be read");
    assert_eq!(recording.starts[0].processes.len(), 1);
    assert!(recording.starts[1].problems[0].contains("listed twice"));
}

#[test]
fn the_files_of_a_start_are_found() {
    let mut first = ProcessFile::new(100, at(10));
    first
        .on(100, "python")
        .event(Event::Program, at(1), "/usr/bin/python3")
        .event(Event::Library, at(1), "/lib/libc.so.6")
        .event(Event::Note, at(1), "/not/a/file")
        .event(Event::File, at(1), "/a.py");
    let mut second = ProcessFile::new(101, at(10));
    second
        .on(101, "python")
        .event(Event::File, at(1), "/b.py")
        .event(Event::File, at(1), "/a.py");
    let path = recording(
        "files",
        100,
        &[("100-0.process", &first), ("101-0.process", &second)],
    );
    fs::write(path.join("start-1/102-0.process"), "garbage").expect("the file can be written");
    let expected = ["/usr/bin/python3", "/lib/libc.so.6", "/a.py", "/b.py"].map(PathBuf::from);
    assert_eq!(files(&path), expected);
    assert_eq!(files(&path.join("start-1")), expected);
    assert_eq!(
        files(&path.join("start-1/101-0.process")),
        ["/b.py", "/a.py"].map(PathBuf::from)
    );
    assert_eq!(files(&path.join("nothing")), [""; 0].map(PathBuf::from));
}
