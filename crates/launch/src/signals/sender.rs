//! Who sent a signal: whether it has reached the command already, without our help.
//!
//! A signal does not tell whether it was meant for a process or for its group. So what
//! comes from within our group is passed on as well: a signal too many is better than
//! one that is lost. All of this runs in a handler, where only what is
//! async-signal-safe may be called and nothing is allocated.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// Two of a kind from one sender that are so close, in nanoseconds, are one: first to us
/// and then to the group, as `timeout` does it.
const AT_ONCE: u64 = 10_000_000;

/// The generations that are looked at between a process and the command.
const DEEPEST: usize = 64;

/// Whether the command, or a process that it started, has sent this: to the group that
/// it shares with us, so that the command has it.
pub fn is_from_command(sender: libc::pid_t, child: libc::pid_t) -> bool {
    if child <= 0 || sender <= 0 {
        // A sender in another container has no number here, and 0 would mean ourselves.
        return false;
    }
    // SAFETY: both take numbers only.
    let in_group = unsafe { libc::getpgid(sender) == libc::getpgrp() };
    sender == child || (in_group && descends(sender, child))
}

/// The second of two signals that are one: it went to the group, and so has reached the
/// command.
pub fn is_repeated(signal: libc::c_int, sender: libc::pid_t) -> bool {
    static LAST: Last = Last::new();
    // SAFETY: both take numbers only.
    if sender <= 0 || unsafe { libc::getpgid(sender) != libc::getpgrp() } {
        return false; // Who is elsewhere has no reason to mean our group.
    }
    LAST.repeats(signal, sender, clock::now())
}

/// The last signal from within our group.
struct Last {
    /// Who sent it, and which it was; 0 if there is none.
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

    /// Whether this one is the same once more. A third one is another.
    fn repeats(&self, signal: libc::c_int, sender: libc::pid_t, now: u64) -> bool {
        let what = u64::from(sender.unsigned_abs()) << 32 | u64::from(signal.unsigned_abs());
        let is_near = now.saturating_sub(self.time.load(Ordering::Relaxed)) < AT_ONCE;
        let repeats = is_near && self.what.load(Ordering::Relaxed) == what;
        self.what
            .store(if repeats { 0 } else { what }, Ordering::Relaxed);
        self.time.store(now, Ordering::Relaxed);
        repeats
    }
}

fn descends(mut process: libc::pid_t, from: libc::pid_t) -> bool {
    for _ in 0..DEEPEST {
        match parent(process) {
            Some(parent) if parent == from => return true,
            Some(parent) if parent > 1 => process = parent,
            _ => return false,
        }
    }
    false
}

/// The parent of a process, as the kernel tells.
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
    // SAFETY: the path ends with a NUL, read writes at most as many bytes as there are,
    // and the descriptor is ours. All three are async-signal-safe.
    let length = unsafe {
        let fd = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let length = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        usize::try_from(length).ok()?
    };
    // The name, in brackets, may have any bytes in it; then come the state and the parent.
    let text = text.get(..length)?;
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let mut fields = text[name_end..].split(|&byte| byte == b' ').skip(2);
    std::str::from_utf8(fields.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ourselves() -> (libc::pid_t, libc::pid_t) {
        // SAFETY: both take nothing and cannot fail.
        unsafe { (libc::getpid(), libc::getppid()) }
    }

    #[test]
    fn the_command_and_what_it_started_are_known() {
        let (us, parent_of_us) = ourselves();
        assert_eq!(parent(us), Some(parent_of_us));
        assert!(is_from_command(us, us));
        assert!(descends(us, parent_of_us));
        assert!(!descends(parent_of_us, us));
        assert!(!is_from_command(parent_of_us, us));
        assert_eq!(parent(libc::pid_t::MAX), None);
    }

    #[test]
    fn a_sender_in_another_container_is_nobody_of_ours() {
        let (us, _) = ourselves();
        assert!(!is_from_command(0, us));
        assert!(!is_repeated(libc::SIGINT, 0) && !is_repeated(libc::SIGINT, 0));
    }

    #[test]
    fn two_at_once_are_one_and_others_are_not() {
        let last = Last::new();
        let (int, term) = (libc::SIGINT, libc::SIGTERM);
        assert!(!last.repeats(int, 7, 1));
        assert!(last.repeats(int, 7, 2));
        assert!(!last.repeats(int, 7, 3), "a third");
        assert!(!last.repeats(term, 7, 4), "another signal");
        assert!(!last.repeats(term, 8, 5), "another sender");
        assert!(!last.repeats(term, 8, 5 + AT_ONCE), "later");
    }
}
