//! Measures the cost of beginning and ending one hot record in nanoseconds, compared with
//! an empty loop and two clock readings in the same run.

use preheat_shim::recorder::{self, now};
use preheat_wire::Kind;
use std::hint::black_box;

const CALLS: u64 = 1_000_000;
const ROUNDS: usize = 15;

/// The minimum of the rounds, in nanoseconds per call.
fn least(mut work: impl FnMut(u64)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = now();
        for number in 0..CALLS {
            work(black_box(number));
        }
        best = best.min((now() - begin) as f64 / CALLS as f64);
    }
    best
}

fn main() {
    let directory = std::env::temp_dir().join(format!("preheat-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the recording");
    let path = directory.to_string_lossy().into_owned();
    let empty = least(|number| {
        black_box(number);
    });
    let clock = least(|_| {
        black_box(now());
        black_box(now());
    });
    let call = |number| {
        let open = recorder::begin(Kind::Call, 1, number, 0, b"", true);
        open.end(0, None);
    };
    let off = least(call);
    assert!(
        recorder::start(path.as_bytes(), 4 << 30),
        "the recorder starts"
    );
    let on = least(call);
    println!("empty loop          {empty:6.1} ns");
    println!("two clock readings  {:6.1} ns", clock - empty);
    println!("recorder off        {:6.1} ns added", off - empty);
    println!("recorded call       {:6.1} ns added", on - empty);
    let _ = std::fs::remove_dir_all(&directory);
}
