//! The clock of all records.

/// Reads one of the kernel's clocks.
pub(super) fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the C library writes one timespec.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// Nanoseconds of `CLOCK_MONOTONIC`, from the kernel.
pub(super) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    return super::ticks::now();
    #[cfg(not(target_arch = "x86_64"))]
    return monotonic();
}

/// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC`.
pub(super) fn boot_offset() -> u64 {
    read(libc::CLOCK_BOOTTIME).saturating_sub(monotonic())
}
