//! The recorder alone. Each test records in a forked child, because a process has one
//! recording.

mod support;

use preheat_shim::recorder::{self, Open};
use preheat_wire::{Event, Kind, State, Usage};
use std::path::Path;
use support::{Scratch, read};

/// Runs `work` in a forked child that records, and returns its exit status.
fn in_child(directory: &Path, limit: u64, work: impl FnOnce()) -> i32 {
    let path = directory.to_str().unwrap().as_bytes().to_vec();
    forked(|| {
        recorder::start(&path, limit);
        work();
    })
}

fn forked(work: impl FnOnce()) -> i32 {
    // SAFETY: the C library prepares its allocator in the child; the child exits with _exit
    // and does nothing else of the parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        work();
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    wait(child)
}

fn wait(child: i32) -> i32 {
    let mut status = -1;
    // SAFETY: waits for a child of ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    status
}

fn hot(symbol: u16) -> Open {
    recorder::begin(Kind::Call, symbol, 7, 0, b"", true)
}

#[test]
fn a_record_is_read_back_unchanged() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 1 << 20, || {
        let open = recorder::begin(Kind::Load, 0, 0, 1, b"/lib/a.so", false);
        let inner = hot(3);
        inner.end(-5, Some(9));
        inner.end(1, Some(1));
        let usage = Usage {
            cpu: 42,
            ..Usage::default()
        };
        open.put(0, &usage);
        open.put(7, &usage);
        open.end(1, None);
        let _never_ended = hot(4);
        assert_eq!(recorder::text(b"a name"), recorder::text(b"a name"));
        recorder::instant(
            Kind::Event,
            Event::Note as u16,
            0,
            1,
            Some([1; 32]),
            b"said",
        );
    });
    assert_eq!(status, 0);
    let files = read(&directory);
    assert_eq!(files.len(), 1);
    let process = &files[0];
    assert_eq!(process.header.state, State::Recording as u32);
    assert!(process.header.started_ticks > 0 && process.header.ticks_per_second > 0);
    let load = process.of(Kind::Load)[0];
    assert_eq!(load.text(1), "/lib/a.so");
    assert_eq!(load.slots[..8], 42u64.to_le_bytes());
    assert_eq!(load.record.status, 1);
    let calls = process.of(Kind::Call);
    assert_eq!((calls[0].record.status, calls[0].record.value), (-5, 9));
    assert!(calls[0].record.begin >= load.record.begin);
    assert!(calls[0].record.end <= load.record.end);
    assert!(calls[1].is_open());
    let texts = process.of(Kind::Text);
    assert_eq!((texts.len(), texts[0].text(0)), (1, "a name".to_owned()));
    let note = process.events(Event::Note)[0];
    assert_eq!(
        (note.slots[..32].to_vec(), note.text(1)),
        (vec![1; 32], "said".to_owned())
    );
    assert!(
        process.events(Event::Program)[0]
            .text(0)
            .contains("recorder")
    );
}

#[test]
fn sixty_four_threads_record_at_once() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 64 << 20, || {
        std::thread::scope(|scope| {
            for thread in 0..64u64 {
                scope.spawn(move || {
                    let name = format!("thread {}", thread % 8);
                    for number in 0..2000 {
                        let open = hot(1);
                        recorder::text(name.as_bytes());
                        open.end(0, Some(thread * 10_000 + number));
                    }
                });
            }
        });
    });
    assert_eq!(status, 0);
    let process = &read(&directory)[0];
    let calls = process.of(Kind::Call);
    assert_eq!(calls.len(), 64 * 2000);
    let mut values: Vec<_> = calls.iter().map(|call| call.record.value).collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 64 * 2000);
    assert_eq!(process.of(Kind::Text).len(), 8);
    assert!(
        calls
            .iter()
            .all(|call| call.record.end >= call.record.begin)
    );
}

#[test]
fn very_many_short_threads_use_little_space() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 1 << 20, || {
        for _ in 0..1000 {
            std::thread::spawn(|| hot(1).end(0, None)).join().unwrap();
        }
    });
    assert_eq!(status, 0);
    let process = &read(&directory)[0];
    assert_eq!(process.of(Kind::Call).len(), 1000);
    assert_eq!(process.header.dropped, 0);
    assert!(process.bytes < 256 * 1024, "{}", process.bytes);
}

#[test]
fn a_forked_child_has_a_separate_file() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 1 << 20, || {
        let open = recorder::begin(Kind::Load, 0, 0, 1, b"begun by the parent", false);
        let number = recorder::text(b"a name");
        // SAFETY: this child has one thread; its child exits with _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // The record belongs to the parent, whose file the child must not touch.
            open.end(0, None);
            hot(2).end(0, None);
            let again = recorder::text(b"a name");
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(again != number)) };
        }
        let status = wait(child);
        hot(1).end(0, Some(status as u64));
    });
    assert_eq!(status, 0);
    let files = read(&directory);
    assert_eq!(files.len(), 2);
    let (parent, child): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|file| !file.of(Kind::Load).is_empty());
    assert!(parent[0].of(Kind::Load)[0].is_open());
    assert_eq!(parent[0].of(Kind::Call)[0].record.symbol, 1);
    assert_eq!(parent[0].of(Kind::Call)[0].record.value, 0);
    assert_eq!(child[0].of(Kind::Call)[0].record.symbol, 2);
    assert_eq!(child[0].of(Kind::Text)[0].text(0), "a name");
    assert_eq!(child[0].header.parent, parent[0].header.pid);
}

#[test]
fn a_full_file_counts_hot_calls_and_keeps_the_rest() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 512 * 1024, || {
        for _ in 0..100_000 {
            hot(5).end(0, None);
        }
        recorder::instant(Kind::Event, Event::Note as u16, 0, 0, None, b"still");
        hot(5).end(0, None);
    });
    assert_eq!(status, 0);
    let process = &read(&directory)[0];
    assert!(process.bytes <= 512 * 1024);
    assert_eq!(process.header.state, State::Full as u32);
    assert!(process.header.full_at > process.header.began);
    assert!(process.header.dropped > 80_000);
    let recorded = process.of(Kind::Call).len() as u64;
    assert_eq!(recorded + process.totals[5].calls, 100_001);
    assert!(process.totals[5].nanoseconds > 0);
    assert_eq!(process.texts(Event::Note), ["still"]);
    let last = process.of(Kind::Call).last().unwrap().record.begin;
    assert!(process.events(Event::Note)[0].record.begin > last);
}

#[test]
fn a_completely_full_file_only_counts() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 128 * 1024, || {
        for _ in 0..20_000 {
            recorder::instant(Kind::Event, Event::Note as u16, 0, 0, None, b"again");
        }
    });
    assert_eq!(status, 0);
    let process = &read(&directory)[0];
    assert!(process.bytes <= 128 * 1024);
    let kept = process.events(Event::Note).len() as u64;
    assert!(kept > 1000 && kept + process.header.dropped <= 20_000);
    assert!(kept + process.header.dropped > 20_000 - 257);
}

#[test]
fn a_file_size_limit_does_not_kill_the_program() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let status = in_child(&directory, 16 << 20, || {
        let limit = libc::rlimit {
            rlim_cur: 100_000,
            rlim_max: 100_000,
        };
        // SAFETY: a limit only for this child.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
        for _ in 0..100_000 {
            hot(1).end(0, None);
        }
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(recorder::active())) };
    });
    assert_eq!(status, 0);
    let process = &read(&directory)[0];
    assert_eq!(process.header.state, State::NoSpace as u32);
    assert!(process.of(Kind::Call).len() > 1000);
}

#[test]
fn a_full_disk_only_ends_the_recording() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    // A private mount of a small file system; needs root, or user namespaces.
    let status = forked(|| {
        let name = std::ffi::CString::new(directory.to_str().unwrap()).unwrap();
        // SAFETY: mounts of this child; all strings end with a NUL.
        let mounted = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    std::ptr::null(),
                    c"/".as_ptr(),
                    std::ptr::null(),
                    libc::MS_REC | libc::MS_PRIVATE,
                    std::ptr::null(),
                ) == 0
                && libc::mount(
                    c"tmpfs".as_ptr(),
                    name.as_ptr(),
                    c"tmpfs".as_ptr(),
                    0,
                    c"size=256k".as_ptr().cast(),
                ) == 0
        };
        if !mounted {
            // SAFETY: ends the child.
            unsafe { libc::_exit(77) };
        }
        let inner = in_child(&directory, 16 << 20, || {
            for _ in 0..100_000 {
                hot(1).end(0, None);
            }
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(recorder::active())) };
        });
        let ok = inner == 0
            && read(&directory)[0].header.state == State::NoSpace as u32
            && read(&directory)[0].of(Kind::Call).len() > 1000;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!ok)) };
    });
    match libc::WEXITSTATUS(status) {
        77 => println!("skipped: mounting is not allowed here"),
        other => assert_eq!(other, 0),
    }
}

#[test]
fn without_a_directory_nothing_is_recorded() {
    let scratch = Scratch::new();
    let nowhere = scratch.join("nowhere");
    let status = in_child(&nowhere, 1 << 20, || {
        hot(1).end(0, None);
        assert_eq!(recorder::text(b"name"), 0);
        assert!(!hot(1).is_recording());
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(recorder::active())) };
    });
    assert_eq!(status, 0);
    assert!(!nowhere.exists());
}

#[test]
fn a_signal_handler_may_interrupt_the_recorder() {
    let scratch = Scratch::new();
    let directory = scratch.recording();
    extern "C" fn handler(_: i32) {
        hot(2).end(0, None);
    }
    let status = in_child(&directory, 64 << 20, || {
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: 50,
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        // SAFETY: a handler that only records, and a timer of this child.
        unsafe {
            libc::signal(libc::SIGALRM, handler as *const () as usize);
            libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
        }
        for _ in 0..300_000 {
            hot(1).end(0, None);
        }
    });
    assert_eq!(status, 0);
    let process = &read(&directory)[0];
    let calls = process.of(Kind::Call);
    assert_eq!(
        calls.iter().filter(|call| call.record.symbol == 1).count(),
        300_000
    );
    let mut last = 0;
    for call in &calls {
        assert!(call.record.begin >= last && call.record.end >= call.record.begin);
        last = call.record.begin;
    }
}
