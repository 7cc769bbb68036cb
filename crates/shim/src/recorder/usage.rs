//! The resource usage of a thread.

use super::clock::read;
use preheat_wire::{Kind, Usage};

/// The resource usage of this thread at one point in time.
pub struct UsageMark {
    cpu: u64,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    major_faults: i64,
    minor_faults: i64,
    blocks_read: i64,
    waits: i64,
    preemptions: i64,
}

/// The resource usage of this thread until now. Two system calls: only for rare operations.
pub fn usage() -> UsageMark {
    UsageMark {
        counts: counts(),
        cpu: cpu(),
    }
}

/// Records the CPU time of this thread. A sample from outside may lack some milliseconds.
pub fn record_cpu() {
    if super::is_confined() {
        return;
    }
    super::instant(Kind::Thread, 0, 0, cpu(), None, b"");
}

fn cpu() -> u64 {
    if super::is_confined() {
        return 0;
    }
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn counts() -> Counts {
    if super::is_confined() {
        return Counts::default();
    }
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one rusage.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut used) };
    Counts {
        major_faults: used.ru_majflt,
        minor_faults: used.ru_minflt,
        blocks_read: used.ru_inblock,
        waits: used.ru_nvcsw,
        preemptions: used.ru_nivcsw,
    }
}

impl UsageMark {
    /// The usage of this thread since then. To be called on the same thread.
    pub fn since(&self) -> Usage {
        let cpu = cpu();
        let now = counts();
        let less = |now: i64, then: i64| u32::try_from(now.saturating_sub(then)).unwrap_or(0);
        Usage {
            cpu: cpu.saturating_sub(self.cpu),
            major_faults: less(now.major_faults, self.counts.major_faults),
            minor_faults: less(now.minor_faults, self.counts.minor_faults),
            blocks_read: less(now.blocks_read, self.counts.blocks_read),
            waits: less(now.waits, self.counts.waits),
            preemptions: less(now.preemptions, self.counts.preemptions),
            reserved: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::now;
    use super::*;

    #[test]
    fn time_advances_and_work_is_measured() {
        let (then, mark) = (now(), usage());
        let pages = vec![1u8; 64 * 4096];
        let sum: u64 = pages.iter().map(|&byte| u64::from(byte)).sum();
        let used = mark.since();
        assert!(sum > 0 && now() > then);
        assert!(used.cpu > 0);
    }
}
