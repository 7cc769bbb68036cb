//! The processor's counter in the kernel's place: half the price of a reading.
//!
//! A thread reads both clocks together about once a millisecond, an *anchor*, and counts
//! on from there by itself. How long a tick is comes from two anchors that lie far apart. So
//! a time is some tenths of a microsecond off `CLOCK_MONOTONIC` at most (more only while the
//! kernel's clock is being set right, by 500 millionths of a millisecond at most), and
//! times of two threads may differ by as much; no thread sees it go back, but for what its
//! handlers were told. The counter is used only where the kernel uses it for its own clock;
//! where the two have not gone together, as when the machine slept, the kernel's is read
//! until the tick is known again.
//!
//! A signal's handler may come at any place, and read the time too. An anchor has a version
//! for that: odd while it is being written, another one after that.

use super::clock::monotonic;
use super::system::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

/// How long a thread counts on by itself, in nanoseconds.
const SPAN: u64 = 1_000_000;
/// What has to lie between two anchors that tell how long a tick is.
const LEAST_BASE: u64 = 4 * SPAN;
/// Both clocks are read within so many ticks, or something came in between.
const AT_ONCE: u64 = 600;
/// Two opinions about a tick differ by less than one in so many.
const AGREE: u64 = 1000;

/// From where a thread counts. Only the thread itself and its handlers use it; atomic are its
/// parts so that the compiler keeps their order for those.
struct Anchor {
    version: AtomicU64,
    /// For so many ticks it counts by itself; 0 where it has nothing to count from.
    valid: AtomicU64,
    ticks: AtomicU64,
    time: AtomicU64,
    /// Nanoseconds of a tick, in units of 2⁻³².
    tick: AtomicU64,
    /// The latest time that was told.
    told: AtomicU64,
}

thread_local! {
    static ANCHOR: Anchor = const {
        Anchor {
            version: AtomicU64::new(0),
            valid: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            time: AtomicU64::new(0),
            tick: AtomicU64::new(0),
            told: AtomicU64::new(0),
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
            anchor.tell(time + scaled(past, tick))
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
    /// Not before what was told before.
    #[inline]
    fn tell(&self, time: u64) -> u64 {
        let time = time.max(self.told.load(Ordering::Relaxed));
        self.told.store(time, Ordering::Relaxed);
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
        self.tell(time)
    }

    /// Nobody counts from what is half written, and what a handler wrote meanwhile is
    /// written over as a whole.
    fn set(&self, ticks: u64, time: u64, tick: u64) {
        let version = self.version.load(Ordering::Relaxed);
        if version & 1 == 1 {
            // A handler, in the middle of this.
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

/// How long a tick is, for all threads.
struct Rate {
    /// Who has set it may use the rest.
    taken: AtomicBool,
    /// The first anchor, from which it is reckoned.
    ticks: AtomicU64,
    time: AtomicU64,
    /// As it was reckoned last; 0 while it is not known.
    tick: AtomicU64,
    /// Whether the kernel goes by the counter.
    trusted: AtomicBool,
}

static RATE: Rate = Rate {
    taken: AtomicBool::new(false),
    ticks: AtomicU64::new(0),
    time: AtomicU64::new(0),
    tick: AtomicU64::new(0),
    trusted: AtomicBool::new(false),
};

/// Asks whether the kernel goes by the counter. Without that it is not used.
pub(super) fn prepare() {
    let path = b"/sys/devices/system/clocksource/clocksource0/current_clocksource\0";
    let mut name = [0; 8];
    let length = File::open(path, libc::O_RDONLY).map_or(0, |file| file.read(&mut name));
    let trusted = name.get(..length) == Some(b"tsc\n");
    RATE.trusted.store(trusted, Ordering::Relaxed);
}

/// In a forked child: another thread may have been at it.
pub(super) fn forked() {
    RATE.taken.store(false, Ordering::Relaxed);
}

impl Rate {
    /// Nanoseconds of a tick, told at an anchor; none while they are not known.
    fn tick(&self, ticks: u64, time: u64) -> Option<u64> {
        if !self.trusted.load(Ordering::Relaxed) || self.taken.swap(true, Ordering::Acquire) {
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

    /// How far a time may be off: anchors are, and the kernel's clock may be set meanwhile.
    const OFF: u64 = 20_000;

    /// Whether there is a counter to be tested here.
    fn is_used() -> bool {
        prepare();
        RATE.trusted.load(Ordering::Relaxed)
    }

    /// Reads both clocks in turn for a while: what the thread counts lies between the
    /// kernel's times around it. Says how often it counted by itself.
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
    fn it_goes_with_the_kernels_clock_and_never_back() {
        if is_used() {
            assert!(compare() > 0, "the counter was never used");
        }
    }

    #[test]
    fn two_threads_have_one_time() {
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
    fn handlers_of_signals_read_it_too() {
        extern "C" fn handler(_: libc::c_int) {
            now();
        }
        if !is_used() {
            return;
        }
        // SAFETY: the structure is valid; the handler allocates nothing and takes no lock
        // that it could wait for.
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
