//! Refines the launcher's samples of a thread with the CPU times that the thread itself has
//! read.
//!
//! The kernel updates the CPU time of a running thread only with its timer: a sample from
//! outside may lack some milliseconds, so that a thread that computes seems idle. The thread
//! itself reads the exact time, where the program reads a clock and at the ends of
//! iterations.

use preheat_model::run::trace::ThreadSample;

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
    use super::*;

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
