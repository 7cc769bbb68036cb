//! The processor's counter in the kernel's place: half the price of a reading.
//!
//! A thread reads both clocks together about once a millisecond, an *anchor*, and counts
//! on from there by itself. How long a tick is comes from two anchors that lie far apart. So a
//! time is never further from `CLOCK_MONOTONIC` than one millisecond can drift at a rate that
//! is known to some millionths, which is less than what a reading of either clock takes;
//! and no thread sees it go back. The counter is used only where the kernel uses it for its
//! own clock, and left alone when the two disagree.

use super::clock::monotonic;
use super::system::File;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, compiler_fence};

/// How long a thread counts on by itself, in nanoseconds.
const SPAN: u64 = 1_000_000;
/// What has to lie between two anchors that tell how long a tick is.
const LEAST_BASE: u64 = 4 * SPAN;
/// Both clocks are read within so many ticks, or something came in between.
const AT_ONCE: u64 = 1500;
/// Two opinions about a tick differ by less than one in so many.
const AGREE: u64 = 1000;

/// From where a thread counts.
struct Anchor {
    /// For so many ticks it counts by itself; 0 where it has nothing to count from.
    valid: Cell<u64>,
    ticks: Cell<u64>,
    time: Cell<u64>,
    /// Nanoseconds of a tick, in units of 2⁻³².
    tick: Cell<u64>,
}

thread_local! {
    static ANCHOR: Anchor = const {
        Anchor {
            valid: Cell::new(0),
            ticks: Cell::new(0),
            time: Cell::new(0),
            tick: Cell::new(0),
        }
    };
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline]
pub(super) fn now() -> u64 {
    ANCHOR.with(|anchor| {
        let past = counter().wrapping_sub(anchor.ticks.get());
        if past < anchor.valid.get() {
            anchor.time.get() + scaled(past, anchor.tick.get())
        } else {
            anchor.renew()
        }
    })
}

/// At most [`SPAN`] in ticks, so that the product has room.
#[inline]
fn scaled(ticks: u64, tick: u64) -> u64 {
    ticks.wrapping_mul(tick) >> 32
}

#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has it, and the kernel lets programs read it: its
    // own clock does so in this process.
    unsafe { std::arch::x86_64::_rdtsc() }
}

impl Anchor {
    #[cold]
    #[inline(never)]
    fn renew(&self) -> u64 {
        let before = counter();
        let time = monotonic();
        let within = counter().wrapping_sub(before);
        // Nothing that this thread was told is later.
        let time = match self.valid.get() {
            0 => time,
            valid => time.max(self.time.get() + scaled(valid, self.tick.get())),
        };
        if within < AT_ONCE {
            let ticks = before.wrapping_add(within / 2);
            if let Some(tick) = RATE.tick(ticks, time) {
                self.set(ticks, time, tick);
            }
        }
        time
    }

    /// A signal's handler that comes in between finds nothing to count from.
    fn set(&self, ticks: u64, time: u64, tick: u64) {
        self.valid.set(0);
        compiler_fence(Ordering::SeqCst);
        self.ticks.set(ticks);
        self.time.set(time);
        self.tick.set(tick);
        compiler_fence(Ordering::SeqCst);
        self.valid.set((SPAN << 32) / tick);
    }
}

/// How long a tick is, for all threads.
struct Rate {
    /// Who has set it may use the rest.
    taken: AtomicBool,
    /// The first anchor, from which it is reckoned.
    ticks: AtomicU64,
    time: AtomicU64,
    /// As it was reckoned last; 0 while it is not known.
    tick: AtomicU64,
    trust: AtomicU8,
}

const UNKNOWN: u8 = 0;
const TRUSTED: u8 = 1;
const REFUSED: u8 = 2;

static RATE: Rate = Rate {
    taken: AtomicBool::new(false),
    ticks: AtomicU64::new(0),
    time: AtomicU64::new(0),
    tick: AtomicU64::new(0),
    trust: AtomicU8::new(UNKNOWN),
};

/// Asks whether the kernel goes by the counter. Without that it is not used.
pub(super) fn prepare() {
    let path = b"/sys/devices/system/clocksource/clocksource0/current_clocksource\0";
    let mut name = [0; 8];
    let length = File::open(path, libc::O_RDONLY).map_or(0, |file| file.read(&mut name));
    let trust = match name.get(..length) {
        Some(b"tsc\n") => TRUSTED,
        _ => REFUSED,
    };
    RATE.trust.store(trust, Ordering::Relaxed);
}

/// In a forked child: another thread may have been at it.
pub(super) fn forked() {
    RATE.taken.store(false, Ordering::Relaxed);
}

impl Rate {
    /// Nanoseconds of a tick, told at an anchor; none while they are not known.
    fn tick(&self, ticks: u64, time: u64) -> Option<u64> {
        if self.trust.load(Ordering::Relaxed) != TRUSTED || self.taken.swap(true, Ordering::Acquire)
        {
            return None;
        }
        let base = self.time.load(Ordering::Relaxed);
        let known = self.tick.load(Ordering::Relaxed);
        let passed = time.saturating_sub(base);
        let counted = ticks.wrapping_sub(self.ticks.load(Ordering::Relaxed));
        let found = match base {
            0 => Found::Nothing,
            _ if passed < LEAST_BASE => Found::Later,
            _ => reckon(passed, counted, known),
        };
        let tick = match found {
            Found::Tick(tick) => tick,
            Found::Later => known,
            Found::Nothing => {
                self.ticks.store(ticks, Ordering::Relaxed);
                self.time.store(time, Ordering::Relaxed);
                0
            }
        };
        self.tick.store(tick, Ordering::Relaxed);
        self.taken.store(false, Ordering::Release);
        (tick != 0).then_some(tick)
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    /// Nanoseconds of a tick, in units of 2⁻³².
    Tick(u64),
    /// It is too early to say.
    Later,
    /// The clocks have not gone together since the first anchor, as where the machine
    /// slept: it is forgotten.
    Nothing,
}

/// How long a tick is if so many nanoseconds passed while so many were counted.
fn reckon(passed: u64, counted: u64, known: u64) -> Found {
    let tick = (u128::from(passed) << 32) / u128::from(counted.max(1));
    match u64::try_from(tick) {
        // Between 100 MHz and 100 GHz.
        Ok(tick) if (tick >> 32) < 10 && tick > 1 << 25 => {
            if known == 0 || tick.abs_diff(known) < known / AGREE {
                Found::Tick(tick)
            } else {
                Found::Nothing
            }
        }
        _ => Found::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_what_two_anchors_say() {
        // 2.5 GHz.
        let tick = (4 << 32) / 10;
        assert_eq!(reckon(4_000_000, 10_000_000, 0), Found::Tick(tick));
        assert_eq!(
            reckon(4_000_000, 10_000_000, tick + tick / 2000),
            Found::Tick(tick)
        );
        // The machine slept for a while, and the counter did not.
        assert_eq!(reckon(4_000_000, 11_000_000, tick), Found::Nothing);
        assert_eq!(reckon(4_000_000, 0, 0), Found::Nothing);
        assert_eq!(reckon(u64::MAX, 1, 0), Found::Nothing);
        assert_eq!(reckon(1, u64::MAX, 0), Found::Nothing);
    }

    /// Both clocks are read in turn: what the thread counts lies between the kernel's times
    /// around it, as far as the tick is known.
    #[test]
    fn it_goes_with_the_kernels_clock_and_never_back() {
        prepare();
        if RATE.trust.load(Ordering::Relaxed) != TRUSTED {
            return;
        }
        let began = monotonic();
        let (mut last, mut counted, mut off) = (0, 0u64, Vec::new());
        while monotonic() < began + 60 * SPAN {
            let before = monotonic();
            let time = now();
            let after = monotonic();
            assert!(time >= last);
            last = time;
            counted += u64::from(ANCHOR.with(|anchor| anchor.valid.get() > 0));
            off.push(before.saturating_sub(time).max(time.saturating_sub(after)));
        }
        assert!(counted > 0, "the counter was never used");
        off.sort_unstable();
        let usual = off[off.len() * 99 / 100];
        assert!(usual < 1000, "{usual} ns off");
    }
}
