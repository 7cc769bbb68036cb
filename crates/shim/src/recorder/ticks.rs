//! Uses the processor's counter as the clock: half the cost of a reading by the kernel.
//!
//! A thread reads both clocks together about once a millisecond, an *anchor*, and
//! extrapolates from there with the counter. The length of a tick comes from two anchors
//! that are far apart. A time therefore deviates from `CLOCK_MONOTONIC` by at most some
//! tenths of a microsecond (while the kernel adjusts its clock, by up to 0.5 µs more), and the
//! times of two threads may differ by as much. On one thread time never goes back, except relative to times read in its signal
//! handlers. The counter is used only if the kernel uses it for its own clock; if the two
//! diverge, for example after a suspend, the kernel's clock is read until the tick is known
//! again.
//!
//! A signal handler may interrupt at any point, and read the time too. An anchor has a
//! version for that: odd while it is being written, and a new one afterwards.

use super::clock::monotonic;
use super::system::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

/// The maximum time of extrapolation, in nanoseconds.
const SPAN: u64 = 1_000_000;
/// The minimum distance of two anchors that determine the tick.
const MIN_BASE: u64 = 4 * SPAN;
/// Both clocks are read within this many ticks, or something interrupted.
const AT_ONCE: u64 = 600;
/// Two estimates of a tick differ by less than one part in this many.
const AGREE_WITHIN: u64 = 1000;

/// The base of a thread's extrapolation. Only the thread itself and its signal handlers use
/// it; its fields are atomic so that the compiler keeps their order for those.
struct Anchor {
    version: AtomicU64,
    /// Valid for this many ticks; 0 without an anchor.
    valid: AtomicU64,
    ticks: AtomicU64,
    time: AtomicU64,
    /// Nanoseconds per tick, in units of 2⁻³².
    tick: AtomicU64,
    /// The latest time that was returned.
    last: AtomicU64,
}

thread_local! {
    static ANCHOR: Anchor = const {
        Anchor {
            version: AtomicU64::new(0),
            valid: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            time: AtomicU64::new(0),
            tick: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    };
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline]
pub(super) fn now() -> u64 {
    ANCHOR.with(|anchor| {
        let version = anchor.version.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let (ticks, valid) = (
            anchor.ticks.load(Ordering::Relaxed),
            anchor.valid.load(Ordering::Relaxed),
        );
        let (time, tick) = (
            anchor.time.load(Ordering::Relaxed),
            anchor.tick.load(Ordering::Relaxed),
        );
        let past = counter().wrapping_sub(ticks);
        compiler_fence(Ordering::SeqCst);
        if past < valid && version & 1 == 0 && version == anchor.version.load(Ordering::Relaxed) {
            anchor.advance(time + scaled(past, tick))
        } else {
            anchor.renew()
        }
    })
}

/// At most [`SPAN`] in ticks, so that the product does not overflow.
#[inline]
fn scaled(ticks: u64, tick: u64) -> u64 {
    ticks.wrapping_mul(tick) >> 32
}

#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has it, and the kernel lets programs read it: its own
    // clock does so in this process.
    unsafe { std::arch::x86_64::_rdtsc() }
}

impl Anchor {
    /// Returns the time, or the latest one returned if that is later.
    #[inline]
    fn advance(&self, time: u64) -> u64 {
        let time = time.max(self.last.load(Ordering::Relaxed));
        self.last.store(time, Ordering::Relaxed);
        time
    }

    #[cold]
    #[inline(never)]
    fn renew(&self) -> u64 {
        let before = counter();
        let time = monotonic();
        let within = counter().wrapping_sub(before);
        if within < AT_ONCE {
            let ticks = before.wrapping_add(within / 2);
            if let Some(tick) = RATE.tick(ticks, time) {
                self.set(ticks, time, tick);
            }
        }
        self.advance(time)
    }

    /// Nothing extrapolates from a half-written anchor, and one that a signal handler wrote
    /// meanwhile is overwritten completely.
    fn set(&self, ticks: u64, time: u64, tick: u64) {
        let version = self.version.load(Ordering::Relaxed);
        if version & 1 == 1 {
            // In a signal handler that interrupted this function.
            return;
        }
        self.version.store(version + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.ticks.store(ticks, Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        self.tick.store(tick, Ordering::Relaxed);
        self.valid.store((SPAN << 32) / tick, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.version.store(version + 2, Ordering::Relaxed);
    }
}

/// The length of a tick, for all threads.
struct Rate {
    /// A lock: the thread that sets it may use the other fields.
    locked: AtomicBool,
    /// The first anchor, the base of the estimate.
    ticks: AtomicU64,
    time: AtomicU64,
    /// The latest estimate; 0 if unknown.
    tick: AtomicU64,
    /// True if the kernel uses the counter as its clock.
    trusted: AtomicBool,
}

static RATE: Rate = Rate {
    locked: AtomicBool::new(false),
    ticks: AtomicU64::new(0),
    time: AtomicU64::new(0),
    tick: AtomicU64::new(0),
    trusted: AtomicBool::new(false),
};

/// Checks whether the kernel uses the counter as its clock; otherwise it is not used here.
pub(super) fn prepare() {
    let path = b"/sys/devices/system/clocksource/clocksource0/current_clocksource\0";
    let mut name = [0; 8];
    let length = File::open(path, libc::O_RDONLY).map_or(0, |file| file.read(&mut name));
    let trusted = name.get(..length) == Some(b"tsc\n");
    RATE.trusted.store(trusted, Ordering::Relaxed);
}

/// In a forked child: another thread may have held the lock.
pub(super) fn forked() {
    RATE.locked.store(false, Ordering::Relaxed);
}

impl Rate {
    /// Nanoseconds per tick, updated at an anchor; `None` while unknown.
    fn tick(&self, ticks: u64, time: u64) -> Option<u64> {
        if !self.trusted.load(Ordering::Relaxed) || self.locked.swap(true, Ordering::Acquire) {
            return None;
        }
        let base = self.time.load(Ordering::Relaxed);
        let known = self.tick.load(Ordering::Relaxed);
        let passed = time.saturating_sub(base);
        let counted = ticks.wrapping_sub(self.ticks.load(Ordering::Relaxed));
        let found = match base {
            0 => Estimate::Nothing,
            _ if passed < MIN_BASE => Estimate::Later,
            _ => estimate(passed, counted, known),
        };
        let tick = match found {
            Estimate::Tick(tick) => tick,
            Estimate::Later => known,
            Estimate::Nothing => {
                self.ticks.store(ticks, Ordering::Relaxed);
                self.time.store(time, Ordering::Relaxed);
                0
            }
        };
        self.tick.store(tick, Ordering::Relaxed);
        self.locked.store(false, Ordering::Release);
        (tick != 0).then_some(tick)
    }
}

#[derive(Debug, PartialEq)]
enum Estimate {
    /// Nanoseconds per tick, in units of 2⁻³².
    Tick(u64),
    /// Too early: not enough time has passed.
    Later,
    /// The clocks have diverged since the first anchor, for example during a suspend: it is
    /// discarded.
    Nothing,
}

/// The length of a tick, from the nanoseconds that passed and the ticks that were counted.
fn estimate(passed: u64, counted: u64, known: u64) -> Estimate {
    let tick = (u128::from(passed) << 32) / u128::from(counted.max(1));
    match u64::try_from(tick) {
        // Between 100 MHz and 100 GHz.
        Ok(tick) if (tick >> 32) < 10 && tick > 1 << 25 => {
            if known == 0 || tick.abs_diff(known) < known / AGREE_WITHIN {
                Estimate::Tick(tick)
            } else {
                Estimate::Nothing
            }
        }
        _ => Estimate::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_estimated_from_two_anchors() {
        // 2.5 GHz.
        let tick = (4 << 32) / 10;
        assert_eq!(estimate(4_000_000, 10_000_000, 0), Estimate::Tick(tick));
        assert_eq!(
            estimate(4_000_000, 10_000_000, tick + tick / 2000),
            Estimate::Tick(tick)
        );
        // The machine was suspended for a while, and the counter was not.
        assert_eq!(estimate(4_000_000, 11_000_000, tick), Estimate::Nothing);
        assert_eq!(estimate(4_000_000, 0, 0), Estimate::Nothing);
        assert_eq!(estimate(u64::MAX, 1, 0), Estimate::Nothing);
        assert_eq!(estimate(1, u64::MAX, 0), Estimate::Nothing);
    }

    /// The tolerated deviation: that of anchors, and of adjustments of the kernel's clock.
    const OFF: u64 = 20_000;

    /// Returns whether the counter is usable on this machine.
    fn is_used() -> bool {
        prepare();
        RATE.trusted.load(Ordering::Relaxed)
    }

    /// Reads both clocks alternately for a while: the thread's time must lie between the
    /// kernel's times around it. Returns how often the counter was used.
    fn compare() -> u64 {
        let began = monotonic();
        let (mut last, mut counted) = (0, 0);
        while monotonic() < began + 60 * SPAN {
            let before = monotonic();
            let time = now();
            let after = monotonic();
            assert!(time >= last, "{} ns back", last - time);
            assert!(
                time + OFF > before && time < after + OFF,
                "{} ns after {} ns",
                time as i64 - before as i64,
                after - before
            );
            last = time;
            counted += u64::from(ANCHOR.with(|anchor| anchor.valid.load(Ordering::Relaxed) > 0));
        }
        counted
    }

    #[test]
    fn it_follows_the_kernels_clock_and_never_goes_back() {
        if is_used() {
            assert!(compare() > 0, "the counter was never used");
        }
    }

    #[test]
    fn two_threads_agree_on_the_time() {
        if !is_used() {
            return;
        }
        let seen = AtomicU64::new(0);
        let pass_on = || {
            let began = monotonic();
            while monotonic() < began + 60 * SPAN {
                let before = seen.load(Ordering::SeqCst);
                let time = now();
                assert!(time + OFF > before, "{} ns back", before - time);
                seen.fetch_max(time, Ordering::SeqCst);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(pass_on);
            scope.spawn(pass_on);
        });
    }

    #[test]
    fn signal_handlers_can_read_it() {
        extern "C" fn handler(_: libc::c_int) {
            now();
        }
        if !is_used() {
            return;
        }
        // SAFETY: the structure is valid; the handler allocates nothing and waits for no
        // lock.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut());
        }
        let done = AtomicBool::new(false);
        // SAFETY: no memory is involved.
        let thread = unsafe { libc::pthread_self() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // SAFETY: the thread waits for this one before it ends.
                    unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
                }
            });
            let counted = std::panic::catch_unwind(compare);
            done.store(true, Ordering::Relaxed);
            assert!(counted.expect("the clocks agree") > 0);
        });
    }
}
