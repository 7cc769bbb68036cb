//! Starts at the requested temperature, and the launcher's samples of them.

mod support;
#[path = "../../../tests/waiting.rs"]
mod waiting;

use std::fs::File;

use preheat_model::run::Temperature;
use preheat_wire::Kind;
use support::{Running, Scratch, samples, text};

#[test]
fn files_are_evicted_before_a_disk_cold_start() {
    let scratch = Scratch::new();
    let path = scratch.path().join("data");
    std::fs::write(&path, vec![7; 1 << 20]).expect("a file");
    let file = File::open(&path).expect("it opens");
    file.sync_all().expect("it is on disk");
    let path = path.to_str().expect("text");
    let words = ["starts=1", "temperature=disk", &format!("files={path}")];
    scratch.output(&words, &["cat", path]);
    let manifest = scratch.manifest();
    // The first start shows which files are read: if one start is requested, two are made.
    let [first, second] = &manifest.starts[..] else {
        panic!("two starts: {:?}", manifest.starts);
    };
    assert_eq!(
        (first.temperature, first.evicted),
        (Temperature::Disk, None)
    );
    let evicted = second.evicted.expect("it was evicted");
    assert_eq!((evicted.files, evicted.cached), (1, 1 << 20));
    assert!(evicted.left < evicted.cached, "{evicted:?}");
}

#[test]
fn caches_start_empty_and_are_gone_afterwards() {
    let scratch = Scratch::new();
    let script = "ls -A $TRITON_CACHE_DIR; touch $TRITON_CACHE_DIR/kernel; echo $TRITON_CACHE_DIR";
    let words = ["starts=2", "temperature=caches", "all-output"];
    let output = scratch.output(&words, &["sh", "-c", script]);
    let shown = text(&output.stdout);
    let directories: Vec<&str> = shown.lines().collect();
    assert_eq!(
        directories.len(),
        2,
        "no kernel of the start before: {shown}"
    );
    assert!(directories[0].starts_with(scratch.recording().to_str().expect("text")));
    assert!(!std::path::Path::new(directories[0]).exists());
    let temperatures = scratch
        .manifest()
        .starts
        .iter()
        .map(|s| s.temperature)
        .collect::<Vec<_>>();
    assert_eq!(temperatures, [Temperature::Caches; 2]);
}

#[test]
fn temperatures_are_interleaved() {
    let scratch = Scratch::new();
    let words = ["starts=2", "temperature=caches", "temperature=process"];
    scratch.output(&words, &["true"]);
    let starts = scratch.manifest().starts;
    assert_eq!(starts.len(), 4);
    assert_eq!(starts[0].temperature, Temperature::Process);
    for round in starts.chunks(2) {
        assert_ne!(round[0].temperature, round[1].temperature);
    }
}

/// Runs until it has used a tenth of a second of CPU time.
const WORKS: &str =
    "#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 10); return 0; }";

#[test]
fn cpu_time_is_sampled() {
    let scratch = Scratch::new();
    let program = scratch.c("works", &[], WORKS);
    scratch.output(&["starts=1"], &[&program]);
    let start = scratch.manifest().starts[0].clone();
    let all = samples::read(&scratch.recording().join("start-1/launcher.process"));
    let own = |kind| {
        all.iter()
            .filter(move |sample| sample.kind == kind && sample.process == start.pid)
    };
    let cpu = own(Kind::Thread).next_back().expect("it was sampled").value;
    assert!(cpu >= 95_000_000, "{cpu} ns of at least 100 ms");
    assert!(own(Kind::Process).any(|sample| sample.value > 0));
}

#[test]
fn children_are_sampled_too() {
    let scratch = Scratch::new();
    let program = scratch.c("works", &[], WORKS);
    // The child is not the shell's last command, for which the shell would not fork.
    scratch.output(&["starts=1"], &["sh", "-c", &format!("{program}; true")]);
    let start = scratch.manifest().starts[0].clone();
    let all = samples::read(&scratch.recording().join("start-1/launcher.process"));
    let mut child = all
        .iter()
        .filter(|sample| sample.kind == Kind::Thread && sample.process != start.pid);
    assert!(child.next_back().expect("it was sampled").value > 0);
}

#[test]
fn a_killed_launcher_leaves_a_readable_file() {
    let scratch = Scratch::new();
    let script = "echo $$; while :; do :; done";
    let mut running = Running::new(scratch.launch(&["starts=1"], &["sh", "-c", script]));
    let command = running.line().parse().expect("a process");
    let path = scratch.recording().join("start-1/launcher.process");
    let directory = path.parent().expect("a directory of the recording");
    waiting::until("there are samples", &[directory], || {
        samples::read(&path).len() >= 20
    });
    running.signal(libc::SIGKILL);
    support::kill(command, libc::SIGKILL);
    running.end();
    assert!(samples::read(&path).len() >= 20);
}
