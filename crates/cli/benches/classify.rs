//! The time and memory of `preheat classify` for a whole experiment: 586 files of ten starts of
//! 3000 iterations, with the real program.
//!
//! `cargo bench -p preheat --bench classify -- 100` uses a hundred files. They are flat, cold
//! at the first iteration, warm up, slow down, never settle or have outliers, and alternate
//! between CSV, JSON and bzip2. Parsing is also measured alone, on a separate thread: the
//! rest of the time is statistics.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use preheat_host::Scratch;
use preheat_model::stats::Rng;
use preheat_times::{Settings, read};

#[path = "../../analyze/tests/series/mod.rs"]
mod series;

const STARTS: usize = 10;
const ITERATIONS: usize = 3000;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let count: usize = numbers.next_back().unwrap_or(586);
    let scratch = Scratch::new("bench").expect("a directory for the files");
    let files: Vec<PathBuf> = (0..count).map(|at| write(scratch.path(), at)).collect();
    let bytes: u64 = files
        .iter()
        .filter_map(|f| fs::metadata(f).ok())
        .map(|m| m.len())
        .sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{count} files of {STARTS} x {ITERATIONS} iterations, {:.0} MB, {cores} cores",
        bytes as f64 / 1e6
    );

    let begin = Instant::now();
    for file in &files {
        let file = fs::File::open(file).expect("it was written");
        read(file, &Settings::default(), &mut |_, _| {}).expect("it can be read");
    }
    println!(
        "reading alone, on one thread: {:.1} s",
        begin.elapsed().as_secs_f64()
    );

    let pages = [
        ("the terminal alone", &[][..]),
        ("with a page", &["--html"]),
    ];
    for (what, flags) in pages {
        let (begin, before) = (Instant::now(), Children::now());
        let mut command = Command::new(env!("CARGO_BIN_EXE_preheat"));
        command.arg("classify").args(&files).stdout(Stdio::piped());
        for flag in flags {
            command.arg(flag).arg(scratch.path().join("page.html"));
        }
        let output = command.output().expect("the program runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (passed, now) = (begin.elapsed().as_secs_f64(), Children::now());
        // The second is what matters where the machine has other things to do as well.
        println!(
            "{what}: {passed:.1} s passed, {:.1} s on the processor, peak resident {:.0} MB",
            now.processor - before.processor,
            now.peak / 1e6
        );
        println!("  {}", text.lines().next().unwrap_or_default());
    }
}

/// A file of one benchmark.
fn write(directory: &Path, at: usize) -> PathBuf {
    let mut rng = Rng::new(at as u64);
    let starts: Vec<Vec<f64>> = (0..STARTS).map(|_| start(at, &mut rng)).collect();
    let json = || {
        let start = |times: &Vec<f64>| {
            let times: Vec<String> = times.iter().map(|t| format!("{t:.9}")).collect();
            format!("[{}]", times.join(", "))
        };
        format!(
            "[{}]",
            starts.iter().map(start).collect::<Vec<_>>().join(",\n")
        )
    };
    let path = directory.join(format!("{at}"));
    let bytes = match at % 3 {
        0 => {
            let mut text = "process_exec_idx, bench_name".to_owned();
            (0..ITERATIONS).for_each(|i| write!(text, ", {i}").expect("it is memory"));
            for (number, start) in starts.iter().enumerate() {
                write!(text, "\n{number}, benchmark {at}").expect("it is memory");
                start
                    .iter()
                    .for_each(|t| write!(text, ", {t:.9}").expect("it is memory"));
            }
            text.into_bytes()
        }
        1 => json().into_bytes(),
        _ => {
            let text = format!(
                "{{\"wallclock_times\": {{\"benchmark {at}\": {}}}}}",
                json()
            );
            let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            packed.write_all(text.as_bytes()).expect("it is memory");
            packed.finish().expect("it is memory")
        }
    };
    fs::write(&path, bytes).expect("the file is written");
    path
}

fn start(at: usize, rng: &mut Rng) -> Vec<f64> {
    match at % 6 {
        0 => series::slow_prefix(rng, ITERATIONS, 0, 1.0, 0.01),
        1 => series::slow_prefix(rng, ITERATIONS, 1, 2000.0, 0.01),
        2 => series::slow_prefix(rng, ITERATIONS, 200, 3.0, 0.01),
        3 => series::slow_prefix(rng, ITERATIONS, 700, 0.7, 0.01),
        4 => {
            let levels = (0..ITERATIONS).map(|i| 0.01 * (2.0 * i as f64 / ITERATIONS as f64).exp());
            series::noisy(rng, levels, 0.01)
        }
        _ => series::spiked(rng, ITERATIONS, 0.01, 0.02),
    }
}

/// The resources used by child processes.
struct Children {
    /// Seconds on the processor, all together.
    processor: f64,
    /// The largest resident size of any, in bytes.
    peak: f64,
}

impl Children {
    fn now() -> Children {
        // SAFETY: an all-zero rusage is a valid one: it has only numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: getrusage writes one rusage, which `usage` is.
        unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        Children {
            processor: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peak: usage.ru_maxrss as f64 * 1024.0,
        }
    }
}
