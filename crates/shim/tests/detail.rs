//! A program that repeats itself is recorded in detail at first, then in windows. What is
//! counted here are records: nothing depends on how long anything takes.

mod libcuda;
mod support;

use libcuda::{Fake, calls};
use preheat_wire::Kind;
use std::collections::HashMap;
use support::{Found, Process, shim};

/// The process and its forked child, with what is asked for as an iteration.
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
    // The driver is called as without a recorder, recorded or not.
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
    let named = |found: &&Found| texts.get(&found.record.value).is_some_and(|t| t == name);
    let found = process.of(Kind::Range);
    let mut found: Vec<(u64, u64)> = (found.into_iter().filter(named))
        .map(|range| (range.record.begin, range.record.end))
        .collect();
    found.sort_unstable();
    found
}

/// How many calls of a function each step has.
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

/// Runs of equal values: how many, of what.
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
fn after_the_first_iterations_there_are_windows_and_what_is_new_opens_one() {
    let Some((process, child)) = recorded(&["400", "110", "240"], "auto") else {
        return;
    };
    // Five launches in detail, two of them on another thread. The one that comes for the
    // first time is always recorded, and the rest of that iteration; and so is what
    // follows the loading of code.
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
    // In the iterations of something new, what came before it is not there.
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
    // What waits for the device says when iterations end, and what is rare is told always.
    for function in ["cuMemcpyDtoHAsync", "cuStreamSynchronize"] {
        assert_eq!(
            runs(&in_steps(&process, function)),
            [(400, 1)],
            "{function}"
        );
    }
    assert_eq!(calls(&process, "cuModuleLoadData").len(), 1);
    assert_eq!(ranges(&process, "layer").len(), 1200);

    // The file says where: an iteration lies on one side of every border, but for those in
    // which something new came.
    let mut sparse: Vec<(u64, u64)> = (process.of(Kind::Sparse).iter())
        .map(|found| (found.record.begin, found.record.end))
        .collect();
    sparse.sort_unstable();
    assert_eq!(sparse.len(), 6);
    assert_eq!(sparse[5].1, 0, "it was not in detail again");
    sparse[5].1 = u64::MAX;
    let steps = ranges(&process, "step");
    let whole = |step: &&(u64, u64)| {
        let apart = |stretch: &(u64, u64)| step.1 <= stretch.0 || stretch.1 <= step.0;
        sparse.iter().all(apart)
    };
    assert_eq!(steps.iter().filter(whole).count(), 64 + 5 * 8);
    let within = |step: &&(u64, u64)| {
        let around = |stretch: &(u64, u64)| stretch.0 <= step.0 && step.1 <= stretch.1;
        sparse.iter().any(around)
    };
    assert_eq!(steps.iter().filter(within).count(), 400 - 64 - 40 - 2);

    // A child begins anew.
    assert_eq!(child.header.parent, process.header.pid);
    assert_eq!(in_steps(&child, "cuLaunchKernel"), [3, 3, 3]);
    assert!(child.of(Kind::Sparse).is_empty());
}

#[test]
fn what_only_all_detail_can_tell_has_all_of_it() {
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
fn an_iteration_is_what_was_asked_for_or_the_outermost_range() {
    // Steps lie in epochs, and there are not enough of those.
    let Some((process, _)) = recorded(&["100", "-1", "-1", "3"], "auto") else {
        return;
    };
    assert_eq!(runs(&in_steps(&process, "cuLaunchKernel")), [(300, 5)]);
    // Who says which ranges are the iterations gets windows of those.
    let (process, _) = recorded(&["100", "-1", "-1", "3"], "nvtx:step").unwrap();
    let launches = runs(&in_steps(&process, "cuLaunchKernel"));
    assert_eq!(launches[..4], [(64, 5), (24, 0), (8, 5), (56, 0)]);
    // Three layers are one step.
    let (process, _) = recorded(&["100"], "nvtx:layer").unwrap();
    let launches = in_steps(&process, "cuLaunchKernel");
    assert!(launches[..21].iter().all(|count| *count == 5));
    assert!(launches[22..29].iter().all(|count| *count == 0));
}
