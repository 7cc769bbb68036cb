//! Decides from the sender of a signal whether it has already reached the command.
//!
//! A signal does not show whether it was sent to a process or to its group. Signals from
//! within our group are therefore forwarded as well: a duplicate is better than a lost
//! signal. All of this runs in a handler, where only async-signal-safe functions may be
//! called and nothing may be allocated. Those of libc promise that, and rustix does not.

use std::sync::atomic::{AtomicU64, Ordering};

use preheat_host::clock;

/// Two equal signals from one sender within this time, in nanoseconds, count as one:
/// `timeout` sends the first to us and the second to the group.
const SAME_SIGNAL_WITHIN_NS: u64 = 10_000_000;

/// The maximum number of generations between a process and the command.
const MAX_GENERATIONS: usize = 64;

/// Returns whether the command, or a process that it started, sent this to the group that
/// it shares with us, so that the command has received it.
pub fn is_from_command(sender: libc::pid_t, child: libc::pid_t) -> bool {
    if child <= 0 || sender <= 0 {
        // A sender in another container has no pid here, and 0 would mean ourselves.
        return false;
    }
    // SAFETY: both get only numbers, and are async-signal-safe.
    let in_group = unsafe { libc::getpgid(sender) == libc::getpgrp() };
    sender == child || (in_group && descends(sender, child))
}

/// Returns whether this is the second of two signals that count as one: it was sent to the
/// group, and has reached the command.
pub fn is_repeated(signal: libc::c_int, sender: libc::pid_t) -> bool {
    static LAST: Last = Last::new();
    // SAFETY: both get only numbers, and are async-signal-safe.
    if sender <= 0 || unsafe { libc::getpgid(sender) != libc::getpgrp() } {
        return false; // A sender elsewhere has no reason to signal our group.
    }
    LAST.repeats(signal, sender, clock::now())
}

/// The last signal from within our group.
struct Last {
    /// The sender and the signal; 0 if there is none.
    what: AtomicU64,
    time: AtomicU64,
}

impl Last {
    const fn new() -> Last {
        Last {
            what: AtomicU64::new(0),
            time: AtomicU64::new(0),
        }
    }

    /// Returns whether this one repeats the last. A third one counts as new.
    fn repeats(&self, signal: libc::c_int, sender: libc::pid_t, now: u64) -> bool {
        let what = u64::from(sender.unsigned_abs()) << 32 | u64::from(signal.unsigned_abs());
        let is_near = now.saturating_sub(self.time.load(Ordering::Relaxed)) < SAME_SIGNAL_WITHIN_NS;
        let repeats = is_near && self.what.load(Ordering::Relaxed) == what;
        self.what
            .store(if repeats { 0 } else { what }, Ordering::Relaxed);
        self.time.store(now, Ordering::Relaxed);
        repeats
    }
}

fn descends(mut process: libc::pid_t, from: libc::pid_t) -> bool {
    for _ in 0..MAX_GENERATIONS {
        match parent(process) {
            Some(parent) if parent == from => return true,
            Some(parent) if parent > 1 => process = parent,
            _ => return false,
        }
    }
    false
}

/// The parent of a process, from `/proc`.
fn parent(process: libc::pid_t) -> Option<libc::pid_t> {
    let mut path = [0u8; 32];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        path[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let mut digits = [0u8; 10];
    let (mut first, mut rest) = (digits.len(), process.unsigned_abs());
    while rest > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    put(b"/proc/");
    put(&digits[first..]);
    put(b"/stat");
    let mut text = [0u8; 256];
    // SAFETY: the path ends with a NUL, read writes at most as many bytes as the buffer
    // has, and the descriptor is ours. All three are async-signal-safe.
    let length = unsafe {
        let fd = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let length = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        usize::try_from(length).ok()?
    };
    // The name, in parentheses, may contain any bytes; the state and the parent follow.
    let text = text.get(..length)?;
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let mut fields = text[name_end..].split(|&byte| byte == b' ').skip(2);
    std::str::from_utf8(fields.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ourselves() -> (libc::pid_t, libc::pid_t) {
        // SAFETY: both have no arguments and cannot fail.
        unsafe { (libc::getpid(), libc::getppid()) }
    }

    #[test]
    fn the_command_and_its_descendants_are_recognized() {
        let (us, parent_of_us) = ourselves();
        assert_eq!(parent(us), Some(parent_of_us));
        assert!(is_from_command(us, us));
        assert!(descends(us, parent_of_us));
        assert!(!descends(parent_of_us, us));
        assert!(!is_from_command(parent_of_us, us));
        assert_eq!(parent(libc::pid_t::MAX), None);
    }

    #[test]
    fn a_sender_in_another_container_is_not_ours() {
        let (us, _) = ourselves();
        assert!(!is_from_command(0, us));
        assert!(!is_repeated(libc::SIGINT, 0) && !is_repeated(libc::SIGINT, 0));
    }

    #[test]
    fn two_within_the_window_count_as_one() {
        let last = Last::new();
        let (int, term) = (libc::SIGINT, libc::SIGTERM);
        assert!(!last.repeats(int, 7, 1));
        assert!(last.repeats(int, 7, 2));
        assert!(!last.repeats(int, 7, 3), "a third");
        assert!(!last.repeats(term, 7, 4), "another signal");
        assert!(!last.repeats(term, 8, 5), "another sender");
        assert!(!last.repeats(term, 8, 5 + SAME_SIGNAL_WITHIN_NS), "later");
    }
}
