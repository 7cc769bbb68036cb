//! The causes of regions that the program times in CPU time.

use super::super::Cause;
use super::super::iterations::StartData;
use super::super::path::CAUSES;
use super::regions::Execution;

/// The CPU time that its thread used in an execution of a region: the difference between the
/// samples at its two clock readings. `None` if either sample is missing.
pub(super) fn cpu_of_thread(start: &StartData, one: &Execution) -> Option<u64> {
    /// A sample belongs to a clock reading if it follows within the larger of 1/`LATER_BY` of
    /// the region's duration and `LATER_BY_NS`.
    const LATER_BY: u64 = 100;
    const LATER_BY_NS: u64 = 20_000;
    let process = start.trace.processes.get(one.process)?;
    let samples = &process.threads.get(one.thread)?.samples;
    let late = (one.end.saturating_sub(one.begin) / LATER_BY).max(LATER_BY_NS);
    let at = |time: u64| {
        let next = samples.get(samples.partition_point(|sample| sample.time < time))?;
        (next.time - time <= late).then_some(next.cpu)
    };
    at(one.end)?.checked_sub(at(one.begin)?)
}

/// The causes of a region that the program times in CPU time, from those of its wall-clock
/// time.
///
/// A thread that is off the CPU uses no CPU time. It is idle first, then waits for the device:
/// CUDA waits on the CPU unless the program asks it not to. Calls that block, such as loading a
/// kernel, share what is left. CPU time beyond that of the thread is that of other threads.
///
/// `of_thread` is the CPU time of the thread that reads the clock; if it is not known, the
/// thread has used all of the time that the clock counts.
pub(super) fn in_cpu_time(
    mut causes: [f64; CAUSES],
    timed: f64,
    of_thread: Option<f64>,
) -> [f64; CAUSES] {
    let wall: f64 = causes.iter().sum();
    let on_cpu = of_thread.unwrap_or(timed).min(timed).min(wall);
    let mut off_cpu = wall - on_cpu;
    for cause in [Cause::Idle, Cause::WaitingForDevice] {
        let seconds = &mut causes[cause.index()];
        let removed = off_cpu.min(*seconds);
        *seconds -= removed;
        off_cpu -= removed;
    }
    let left: f64 = causes.iter().sum();
    if left > 0.0 {
        causes = causes.map(|seconds| seconds * (on_cpu / left).min(1.0));
    }
    causes[Cause::OwnCpu.index()] += timed - on_cpu;
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_off_the_cpu_is_not_part_of_cpu_time() {
        let of = |parts: &[(Cause, f64)]| {
            let mut causes = [0.0; CAUSES];
            for (cause, seconds) in parts {
                causes[cause.index()] = *seconds;
            }
            causes
        };
        let (own, idle, waiting) = (Cause::OwnCpu, Cause::Idle, Cause::WaitingForDevice);
        let wall = of(&[(own, 2.0), (idle, 10.0), (waiting, 50.0)]);
        for (timed, of_thread, expected) in [
            // The thread waits for the device on the CPU, or off it.
            (52.0, None, [2.0, 0.0, 50.0]),
            (22.0, Some(22.0), [2.0, 0.0, 20.0]),
            (2.0, None, [2.0, 0.0, 0.0]),
            // Other threads compute meanwhile.
            (32.0, Some(2.0), [32.0, 0.0, 0.0]),
            (162.0, None, [102.0, 10.0, 50.0]),
            (162.0, Some(52.0), [112.0, 0.0, 50.0]),
            // A call that blocks.
            (1.0, None, [1.0, 0.0, 0.0]),
        ] {
            let found = in_cpu_time(wall, timed, of_thread);
            let expected = of(&[
                (own, expected[0]),
                (idle, expected[1]),
                (waiting, expected[2]),
            ]);
            assert_eq!(found, expected, "{timed} {of_thread:?}");
        }
        let loading = of(&[(Cause::KernelLoading, 30.0), (own, 10.0)]);
        let expected = of(&[(Cause::KernelLoading, 15.0), (own, 5.0)]);
        assert_eq!(in_cpu_time(loading, 20.0, None), expected);
        assert_eq!(in_cpu_time([0.0; CAUSES], 3.0, None), of(&[(own, 3.0)]));
    }
}
