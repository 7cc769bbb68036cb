//! Separates waiting for processors that the program itself keeps busy.
//!
//! A thread that waits for a processor may be waiting for other programs, or for other
//! threads and processes of the same program. With eight threads on two cores, most threads
//! wait most of the time although the machine is otherwise idle. While the program uses all
//! processors, all of its waiting is for itself; while it uses some of them, that share is.

use preheat_model::run::trace::{StartTrace, ThreadSample};

/// The length of the windows for which the load is computed, in nanoseconds.
const WINDOW: u64 = 20_000_000;
/// A program with at least this share of the processors counts as using all of them. The
/// rest is system work, and work that sampling misses.
const ALL: f64 = 0.85;
/// A program with less than this share counts as using none of them.
const NONE: f64 = 0.1;
/// The number of windows to keep; after them, the program counts as using no processors.
const MAX_WINDOWS: usize = 1 << 20;

/// Splits the time that the threads of a start waited for one of the machine's `cores`
/// processors into waiting for the program itself and waiting for others.
pub(crate) fn find_own_load(start: &mut StartTrace, cores: usize) {
    let any = start.processes.iter().flat_map(|process| &process.threads);
    let waited = |sample: &ThreadSample| sample.waited > 0;
    if cores == 0
        || !any
            .into_iter()
            .any(|thread| thread.samples.last().is_some_and(waited))
    {
        return;
    }
    let mut used = Vec::new();
    for thread in start.processes.iter().flat_map(|process| &process.threads) {
        add_used(&thread.samples, &mut used);
    }
    for process in &mut start.processes {
        for thread in &mut process.threads {
            let shares = shares(&used, &thread.samples, cores);
            split(&mut thread.samples, &shares);
        }
    }
}

/// Adds the CPU time of a thread in each window.
fn add_used(samples: &[ThreadSample], used: &mut Vec<f64>) {
    for pair in samples.windows(2) {
        let (from, to) = (pair[0].time, pair[1].time);
        let cpu = pair[1].cpu.saturating_sub(pair[0].cpu) as f64;
        windows(from, to, |window, part| {
            if used.len() <= window {
                used.resize(window + 1, 0.0);
            }
            used[window] += cpu * part;
        });
    }
}

/// The share of the processors that the rest of the program uses while a thread waits for
/// one, by window. A thread does not wait for itself.
fn shares(used: &[f64], samples: &[ThreadSample], cores: usize) -> Vec<f64> {
    let mut own = Vec::new();
    add_used(samples, &mut own);
    let all = cores as f64 * WINDOW as f64;
    let share = |(used, own): (&f64, &f64)| match (used - own) / (all - own).max(1.0) {
        share if share >= ALL => 1.0,
        share if share < NONE => 0.0,
        share => share,
    };
    used.iter().zip(&own).map(share).collect()
}

/// Calls `each` with every window that the interval overlaps, and the share of the interval
/// that lies in it.
fn windows(from: u64, to: u64, mut each: impl FnMut(usize, f64)) {
    let length = to.saturating_sub(from);
    let mut now = from;
    while now < to {
        let window = now / WINDOW;
        let end = ((window + 1) * WINDOW).min(to);
        match usize::try_from(window) {
            Ok(window) if window < MAX_WINDOWS => {
                each(window, (end - now) as f64 / length as f64);
            }
            _ => return,
        }
        now = end;
    }
}

/// Splits the waiting time of one thread.
fn split(samples: &mut [ThreadSample], shares: &[f64]) {
    let mut own = 0;
    let mut before = ThreadSample::default();
    for sample in samples {
        let now = *sample;
        let waited = now.waited.saturating_sub(before.waited);
        let mut part = 0.0;
        windows(before.time, now.time, |window, of| {
            part += of * shares.get(window).copied().unwrap_or(0.0);
        });
        own += (waited as f64 * part.min(1.0)) as u64;
        sample.waited_for_own = own.min(now.waited);
        sample.waited = now.waited - sample.waited_for_own;
        before = now;
    }
}

// Refines the launcher's samples of a thread with the CPU times that the thread itself has
// read.
//
// The kernel updates the CPU time of a running thread only with its timer: a sample from
// outside may lack some milliseconds, so that a thread that computes seems idle. The thread
// itself reads the exact time, where the program reads a clock and at the ends of
// iterations.

/// Adds exact CPU times to the samples of a thread, all ordered by time. Samples between two
/// exact times are limited to values that are possible between them.
pub(crate) fn refine(samples: &mut Vec<ThreadSample>, exact: Vec<ThreadSample>) {
    if exact.is_empty() {
        return;
    }
    for sample in samples.iter_mut() {
        limit(sample, &exact);
    }
    let found = exact.into_iter().map(|mut own| {
        own.waited = waited(samples, &own);
        own
    });
    let found: Vec<ThreadSample> = found.collect();
    samples.extend(found);
    samples.sort_by_key(|sample| sample.time);
}

/// Limits the CPU time of a sample to what is possible between the exact times around it.
fn limit(sample: &mut ThreadSample, exact: &[ThreadSample]) {
    let after = exact.partition_point(|own| own.time <= sample.time);
    if let Some(own) = after.checked_sub(1).and_then(|before| exact.get(before)) {
        let most = own.cpu.saturating_add(sample.time - own.time);
        sample.cpu = sample.cpu.max(own.cpu).min(most);
    }
    if let Some(own) = exact.get(after) {
        let least = own.cpu.saturating_sub(own.time - sample.time);
        sample.cpu = sample.cpu.min(own.cpu).max(least);
    }
}

/// The time that a thread had waited for a processor by an exact CPU time. Only the launcher
/// reads it: the share of the time off the processor is constant between its samples.
fn waited(samples: &[ThreadSample], own: &ThreadSample) -> u64 {
    let at = samples.partition_point(|sample| sample.time <= own.time);
    let before = at.checked_sub(1).and_then(|before| samples.get(before));
    let before = before.copied().unwrap_or_default();
    let Some(after) = samples.get(at) else {
        return before.waited;
    };
    let off = |later: &ThreadSample| {
        let time = later.time.saturating_sub(before.time);
        time.saturating_sub(later.cpu.saturating_sub(before.cpu))
    };
    let reported = after.waited.saturating_sub(before.waited);
    let share = off(own) as f64 / off(after).max(1) as f64;
    before.waited + (reported as f64 * share.min(1.0)) as u64
}

#[cfg(test)]
mod tests {
    use preheat_model::run::trace::{Process, Thread};

    use super::*;

    /// A start with threads that each get a share of a processor and wait for the rest.
    fn start(threads: usize, cpu: f64) -> StartTrace {
        let sample = |at: u64| ThreadSample {
            time: at * 5_000_000,
            cpu: (at as f64 * 5e6 * cpu) as u64,
            waited: (at as f64 * 5e6 * (1.0 - cpu)) as u64,
            waited_for_own: 0,
        };
        let thread = Thread {
            samples: (0..100).map(sample).collect(),
            ..Thread::default()
        };
        StartTrace {
            processes: vec![Process {
                threads: vec![thread; threads],
                ..Process::default()
            }],
            ..StartTrace::default()
        }
    }

    fn waited(start: &StartTrace) -> (u64, u64) {
        let last = start.processes[0].threads[0].samples[99];
        (last.waited_for_own, last.waited)
    }

    #[test]
    fn a_program_that_has_all_processors_waits_for_itself() {
        // Eight threads on two cores.
        let mut own = start(8, 0.25);
        let all = waited(&own).1;
        find_own_load(&mut own, 2);
        let (for_own, for_others) = waited(&own);
        assert!(for_own as f64 >= 0.99 * all as f64, "{for_own} of {all}");
        assert_eq!(for_own + for_others, all);
    }

    #[test]
    fn one_thread_on_a_busy_machine_waits_for_others() {
        // A quarter of one of eight cores.
        let mut alone = start(1, 0.25);
        find_own_load(&mut alone, 8);
        assert_eq!(waited(&alone).0, 0);
        // Half of one of two cores: it does not wait for itself.
        let mut alone = start(1, 0.5);
        find_own_load(&mut alone, 2);
        assert_eq!(waited(&alone).0, 0);
        // One core of two, without the quarter that the thread has.
        let mut half = start(4, 0.25);
        find_own_load(&mut half, 2);
        let (own, others) = waited(&half);
        let share = own as f64 / (own + others) as f64;
        assert!((share - 0.75 / 1.75).abs() < 0.02, "{own} and {others}");
    }

    fn sample((time, cpu, waited): (u64, u64, u64)) -> ThreadSample {
        ThreadSample {
            time,
            cpu,
            waited,
            ..ThreadSample::default()
        }
    }

    fn refined(samples: &[(u64, u64, u64)], exact: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        let mut samples: Vec<_> = samples.iter().copied().map(sample).collect();
        let exact = exact.iter().map(|&(time, cpu)| sample((time, cpu, 0)));
        refine(&mut samples, exact.collect());
        let values = samples
            .iter()
            .map(|sample| (sample.time, sample.cpu, sample.waited));
        values.collect()
    }

    #[test]
    fn a_stale_sample_is_corrected() {
        // The thread computes all the time; the samples at 10 and 15 are stale.
        let found = refined(&[(10, 4, 0), (15, 4, 0), (20, 20, 0)], &[(8, 8), (17, 17)]);
        assert_eq!(
            found,
            [
                (8, 8, 0),
                (10, 10, 0),
                (15, 15, 0),
                (17, 17, 0),
                (20, 20, 0)
            ]
        );
        // It sleeps between them: the samples stay.
        let found = refined(&[(10, 8, 0), (15, 8, 0)], &[(8, 8), (17, 8)]);
        assert_eq!(found, [(8, 8, 0), (10, 8, 0), (15, 8, 0), (17, 8, 0)]);
    }

    #[test]
    fn waiting_is_divided_by_the_time_off_the_processor() {
        // 20 off the processor until 40, all of it waiting; 5 of them until 15.
        let found = refined(&[(0, 0, 0), (40, 20, 20)], &[(15, 10)]);
        assert_eq!(found, [(0, 0, 0), (15, 10, 5), (40, 20, 20)]);
    }

    #[test]
    fn nothing_changes_without_exact_times() {
        let samples = [(10, 4, 1), (15, 4, 2)];
        assert_eq!(refined(&samples, &[]), samples);
        assert_eq!(refined(&[], &[(5, 3)]), [(5, 3, 0)]);
    }
}
