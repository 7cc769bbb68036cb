//! A program that repeats itself is recorded in detail at first, then in windows. These
//! tests count records: nothing depends on durations.

mod libcuda;
mod support;

use libcuda::{Fake, calls};
use preheat_wire::Kind;
use std::collections::HashMap;
use support::{Entry, Process, shim};

/// The process and its forked child, with this definition of an iteration.
fn recorded(arguments: &[&str], iterations: &str) -> Option<(Process, Process)> {
    let fake = Fake::new()?;
    let source = include_str!("libcuda/repeats.c");
    let program = fake.build("repeats", source, &["-ldl", "-pthread"], &["libcuda.so.1"]);
    let plain = fake.command(&program, arguments).output().unwrap();
    let plain_log = fake.log();
    let variables = [
        ("NVTX_INJECTION64_PATH", shim().to_str().unwrap()),
        ("PREHEAT_ITERATIONS", iterations),
    ];
    let (done, mut processes) = fake.recorded(&program, arguments, &variables);
    // The driver gets the same calls as without a recorder, recorded or not.
    assert_eq!(String::from_utf8_lossy(&done.stdout), "0 0\n");
    assert_eq!(done.stdout, plain.stdout);
    assert_eq!(fake.log(), plain_log);
    processes.sort_by_key(|process| std::cmp::Reverse(process.records.len()));
    let child = processes.pop().unwrap();
    Some((processes.pop().unwrap(), child))
}

/// The ranges of a name, in order.
fn ranges(process: &Process, name: &str) -> Vec<(u64, u64)> {
    let texts: HashMap<u64, String> = (process.of(Kind::Text).iter())
        .map(|text| (text.record.value, text.text(0)))
        .collect();
    let named = |found: &&Entry| texts.get(&found.record.value).is_some_and(|t| t == name);
    let found = process.of(Kind::Range);
    let mut found: Vec<(u64, u64)> = (found.into_iter().filter(named))
        .map(|range| (range.record.begin, range.record.end))
        .collect();
    found.sort_unstable();
    found
}

/// The number of calls of a function in each step.
fn in_steps(process: &Process, function: &str) -> Vec<usize> {
    let begins: Vec<u64> = (calls(process, function).iter())
        .map(|call| call.record.begin)
        .collect();
    let within = |(begin, end): &(u64, u64)| {
        let inside = begins.iter().filter(|time| (*begin..*end).contains(time));
        inside.count()
    };
    ranges(process, "step").iter().map(within).collect()
}

/// Run-length encoding: count and value.
fn runs(values: &[usize]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for value in values {
        match found.last_mut() {
            Some((count, last)) if last == value => *count += 1,
            _ => found.push((1, *value)),
        }
    }
    found
}

#[test]
fn windows_follow_the_first_iterations_and_new_events_open_one() {
    let Some((process, child)) = recorded(&["400", "110", "240"], "auto") else {
        return;
    };
    // Five launches in detail, two of them on another thread. The first launch of a kernel
    // is always recorded, together with the rest of its iteration and a window; so is a
    // window after code is loaded.
    let expected = [
        (64, 5),
        (24, 0),
        (8, 5),
        (14, 0),
        // It comes first in its iteration.
        (1, 6),
        (8, 5),
        (56, 0),
        (8, 5),
        (57, 0),
        (9, 5),
        (120, 0),
        (8, 5),
        (23, 0),
    ];
    assert_eq!(runs(&in_steps(&process, "cuLaunchKernel")), expected);
    // In these two iterations, calls before the new event are missing.
    let copies = [
        (64, 1),
        (24, 0),
        (8, 1),
        (15, 0),
        (8, 1),
        (56, 0),
        (8, 1),
        (58, 0),
        (8, 1),
        (120, 0),
        (8, 1),
        (23, 0),
    ];
    assert_eq!(runs(&in_steps(&process, "cuMemcpyHtoDAsync")), copies);
    // Calls that wait for the device, and rare calls, are always recorded.
    for function in ["cuMemcpyDtoHAsync", "cuStreamSynchronize"] {
        assert_eq!(
            runs(&in_steps(&process, function)),
            [(400, 1)],
            "{function}"
        );
    }
    assert_eq!(calls(&process, "cuModuleLoadData").len(), 1);
    assert_eq!(ranges(&process, "layer").len(), 1200);

    // The file shows the intervals: no iteration crosses a border, except for those with a
    // new event.
    let mut sparse: Vec<(u64, u64)> = (process.of(Kind::Sparse).iter())
        .map(|found| (found.record.begin, found.record.end))
        .collect();
    sparse.sort_unstable();
    assert_eq!(sparse.len(), 6);
    assert_eq!(sparse[5].1, 0, "it was not in detail again");
    sparse[5].1 = u64::MAX;
    let steps = ranges(&process, "step");
    let whole = |step: &&(u64, u64)| {
        let is_outside = |interval: &(u64, u64)| step.1 <= interval.0 || interval.1 <= step.0;
        sparse.iter().all(is_outside)
    };
    assert_eq!(steps.iter().filter(whole).count(), 64 + 5 * 8);
    let within = |step: &&(u64, u64)| {
        let around = |interval: &(u64, u64)| interval.0 <= step.0 && step.1 <= interval.1;
        sparse.iter().any(around)
    };
    assert_eq!(steps.iter().filter(within).count(), 400 - 64 - 40 - 2);

    // A child starts over.
    assert_eq!(child.header.parent, process.header.pid);
    assert_eq!(in_steps(&child, "cuLaunchKernel"), [3, 3, 3]);
    assert!(child.of(Kind::Sparse).is_empty());
}

#[test]
fn detection_from_calls_needs_all_detail() {
    for asked in ["kernels", "lines:loss", "python"] {
        let Some((process, _)) = recorded(&["200"], asked) else {
            return;
        };
        let launches = in_steps(&process, "cuLaunchKernel");
        assert_eq!(runs(&launches), [(200, 5)], "{asked}");
        assert!(process.of(Kind::Sparse).is_empty(), "{asked}");
    }
}

#[test]
fn an_iteration_is_the_requested_or_the_outermost_range() {
    // Steps are inside epochs, of which there are too few.
    let Some((process, _)) = recorded(&["100", "-1", "-1", "3"], "auto") else {
        return;
    };
    assert_eq!(runs(&in_steps(&process, "cuLaunchKernel")), [(300, 5)]);
    // With an explicit range name, the windows follow those ranges.
    let (process, _) = recorded(&["100", "-1", "-1", "3"], "nvtx:step").unwrap();
    let launches = runs(&in_steps(&process, "cuLaunchKernel"));
    assert_eq!(launches[..4], [(64, 5), (24, 0), (8, 5), (56, 0)]);
    // Three layers are one step.
    let (process, _) = recorded(&["100"], "nvtx:layer").unwrap();
    let launches = in_steps(&process, "cuLaunchKernel");
    assert!(launches[..21].iter().all(|count| *count == 5));
    assert!(launches[22..29].iter().all(|count| *count == 0));
}
