//! The clock of all recordings.

/// Nanoseconds of `CLOCK_MONOTONIC`. Async-signal-safe.
pub(crate) fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC`: the time that the machine was suspended.
pub(crate) fn boot_offset() -> u64 {
    read(libc::CLOCK_BOOTTIME).saturating_sub(now())
}

/// The CPU time of this thread.
pub(crate) fn own_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: clock_gettime writes one timespec, and `time` is one.
    unsafe { libc::clock_gettime(clock, &mut time) };
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
