//! Starts as cold as asked, and what the launcher saw of them from outside.

mod support;

use std::fs::File;

use preheat_analyze::run::Temperature;
use preheat_wire::Kind;
use support::{Place, Running, samples, text};

#[test]
fn files_are_evicted_before_a_disk_cold_start() {
    let place = Place::new();
    let path = place.path().join("data");
    std::fs::write(&path, vec![7; 1 << 20]).expect("a file");
    let file = File::open(&path).expect("it opens");
    file.sync_all().expect("it is on disk");
    let path = path.to_str().expect("text");
    let words = ["starts=1", "temperature=disk", &format!("files={path}")];
    place.output(&words, &["cat", path]);
    let manifest = place.manifest();
    // The first learns what is read: with one start asked for, there are two.
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
    let place = Place::new();
    let script = "ls -A $TRITON_CACHE_DIR; touch $TRITON_CACHE_DIR/kernel; echo $TRITON_CACHE_DIR";
    let words = ["starts=2", "temperature=caches", "all-output"];
    let output = place.output(&words, &["sh", "-c", script]);
    let shown = text(&output.stdout);
    let directories: Vec<&str> = shown.lines().collect();
    assert_eq!(
        directories.len(),
        2,
        "no kernel of the start before: {shown}"
    );
    assert!(directories[0].starts_with(place.recording().to_str().expect("text")));
    assert!(!std::path::Path::new(directories[0]).exists());
    let temperatures = place
        .manifest()
        .starts
        .iter()
        .map(|s| s.temperature)
        .collect::<Vec<_>>();
    assert_eq!(temperatures, [Temperature::Caches; 2]);
}

#[test]
fn temperatures_take_turns() {
    let place = Place::new();
    let words = ["starts=2", "temperature=caches", "temperature=process"];
    place.output(&words, &["true"]);
    let starts = place.manifest().starts;
    assert_eq!(starts.len(), 4);
    assert_eq!(starts[0].temperature, Temperature::Process);
    for round in starts.chunks(2) {
        assert_ne!(round[0].temperature, round[1].temperature);
    }
}

/// Works until it has used a tenth of a second of processor time.
const WORKS: &str =
    "#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 10); return 0; }";

#[test]
fn processor_time_is_seen_from_outside() {
    let place = Place::new();
    let program = place.c("works", &[], WORKS);
    place.output(&["starts=1"], &[&program]);
    let start = place.manifest().starts[0].clone();
    let all = samples::read(&place.recording().join("start-1/launcher.process"));
    let own = |kind| {
        all.iter()
            .filter(move |sample| sample.kind == kind && sample.process == start.pid)
    };
    let cpu = own(Kind::Thread)
        .next_back()
        .expect("it was looked at")
        .value;
    assert!(cpu >= 95_000_000, "{cpu} ns of at least 100 ms");
    assert!(own(Kind::Process).any(|sample| sample.value > 0));
}

#[test]
fn children_are_looked_at_too() {
    let place = Place::new();
    let program = place.c("works", &[], WORKS);
    // The child is not the shell's last command, for which it would not fork.
    place.output(&["starts=1"], &["sh", "-c", &format!("{program}; true")]);
    let start = place.manifest().starts[0].clone();
    let all = samples::read(&place.recording().join("start-1/launcher.process"));
    let mut child = all
        .iter()
        .filter(|sample| sample.kind == Kind::Thread && sample.process != start.pid);
    assert!(child.next_back().expect("it was looked at").value > 0);
}

#[test]
fn a_launcher_that_is_killed_leaves_a_file_that_can_be_read() {
    let place = Place::new();
    let script = "echo $$; while :; do :; done";
    let mut running = Running::new(place.launch(&["starts=1"], &["sh", "-c", script]));
    let command = running.line().parse().expect("a process");
    let path = place.recording().join("start-1/launcher.process");
    while samples::read(&path).len() < 20 {
        std::thread::yield_now();
    }
    running.signal(libc::SIGKILL);
    support::kill(command, libc::SIGKILL);
    running.end();
    assert!(samples::read(&path).len() >= 20);
}
