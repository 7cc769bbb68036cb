//! The clocks of all recordings.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`. Async-signal-safe.
pub fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC`: the time that the machine was suspended.
pub fn boot_offset() -> u64 {
    read(ClockId::Boottime).saturating_sub(now())
}

/// The CPU time of this thread.
pub fn own_cpu() -> u64 {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_monotonic() {
        let before = now();
        assert!(before > 0 && now() >= before);
    }
}
