//! Measures how fast a recording is read, and how much memory that takes.
//!
//! `cargo bench -p preheat-trace -- 10` reads ten million events. A separate process writes
//! them, so that only reading is measured.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, process};

use preheat_wire::{Allocation, Copied, Event, Shape};

#[path = "../tests/support/mod.rs"]
mod support;

use support::writer::{ProcessFile, allocation_slot, copied_slot};
use support::{EXEC, manifest, save, start};

/// The number of rounds; the fastest counts.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let mut numbers = arguments
        .iter()
        .skip(1)
        .filter_map(|argument| argument.parse::<f64>().ok());
    let events = (numbers.next_back().unwrap_or(10.0) * 1e6) as u64;
    if let Ok(directory) = env::var("PREHEAT_BENCH_WRITE") {
        return write(Path::new(&directory), events);
    }
    let directory = support::directory("bench-read");
    let written = process::Command::new(env::current_exe().expect("this program has a path"))
        .arg((events as f64 / 1e6).to_string())
        .env("PREHEAT_BENCH_WRITE", &directory)
        .status()
        .expect("it can be run again");
    assert!(written.success());
    let bytes = fs::metadata(file(&directory)).map_or(0, |file| file.len());
    println!("{events} events in a file of {:.0} MB", bytes as f64 / 1e6);
    let (mut fastest, mut least) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let (begin, worked) = (Instant::now(), processor_time());
        let recording = preheat_trace::read(&directory).expect("it can be read");
        fastest = fastest.min(begin.elapsed().as_secs_f64());
        least = least.min(processor_time() - worked);
        let threads = recording.starts.iter().flat_map(|start| &start.processes);
        let spans = threads
            .flat_map(|process| &process.threads)
            .map(|thread| thread.spans.len());
        assert_eq!(spans.sum::<usize>() as u64, events);
    }
    // The second is the time on an otherwise idle machine.
    for (what, seconds) in [("passed", fastest), ("on the processor", least)] {
        let rate = events as f64 / seconds / 1e6;
        println!(
            "read in {:.0} ms {what}: {rate:.1} million records a second",
            seconds * 1e3
        );
    }
    println!("peak resident: {:.0} MB", peak_resident() / 1e6);
    let _ = fs::remove_dir_all(&directory);
}

fn file(directory: &Path) -> PathBuf {
    directory.join("start-1/100-0.process")
}

/// A training loop on two threads: mostly launches and plain calls, now and then an
/// allocation, a copy or a free.
fn write(directory: &Path, events: u64) {
    let mut file_of = ProcessFile::new(100, EXEC + 10);
    file_of
        .on(100, "python")
        .symbol(1, Shape::Launch, "cuLaunchKernel", "libcuda.so.1")
        .symbol(2, Shape::Plain, "cuEventRecord", "libcuda.so.1")
        .symbol(3, Shape::Allocate, "cuMemAlloc", "libcuda.so.1")
        .symbol(4, Shape::Free, "cuMemFree", "libcuda.so.1")
        .symbol(5, Shape::Copy, "cuMemcpyHtoDAsync", "libcuda.so.1")
        .event(Event::Main, EXEC + 20, "");
    for event in 0..events {
        let begin = EXEC + 100 + event * 1000;
        let end = begin + 700;
        let (thread, name) = if event % 5 < 2 {
            (101, "pt_autograd_0")
        } else {
            (100, "python")
        };
        if event % 8 == 0 {
            file_of.on(thread, name);
        }
        match event % 200 {
            0 => {
                let slot = allocation_slot(&Allocation {
                    pointer: event,
                    ..Allocation::default()
                });
                file_of.call(3, begin, end, 0, 4096, &[slot]);
            }
            1 => {
                file_of.call(4, begin, end, 0, event, &[]);
            }
            2 => {
                file_of.call(5, begin, end, 0, 4096, &[copied_slot(&Copied::default())]);
            }
            other if other % 3 == 0 => {
                file_of.call(2, begin, end, 0, 0, &[]);
            }
            other => {
                file_of.call(1, begin, end, 0, 0x5500_0000_0000 + other * 64, &[]);
            }
        }
    }
    file_of.save(&file(directory));
    save(
        directory,
        &manifest(vec![start("start-1", events * 1000 + 1000)]),
    );
}

/// The CPU time of this thread in seconds.
fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next();
    nanoseconds
        .and_then(|number| number.parse().ok())
        .unwrap_or(f64::NAN)
        / 1e9
}

/// The peak memory of this process in bytes.
fn peak_resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) * 1024.0
}
