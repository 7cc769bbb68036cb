//! The greeting of a waiting child, and the word by which a client shows that it may inspect it.
//!
//! The word is in a pipe of the child. The kernel lets a process open it (`/proc/PID/fd`) only
//! if that process may inspect the child, and the child serves nobody who does not know it: the
//! counterpart is `python/guard.py`.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::fs::OpenOptionsExt;

use crate::reason::Reason;

/// More bytes than a word has.
const MAX_WORD_BYTES: u64 = 64;

/// The first line that a child sends.
pub(super) struct Greeting {
    /// The process ID of the child.
    pub child: libc::pid_t,
    /// The number of starts that its parent has served.
    pub served: usize,
    /// The descriptor of the pipe, in the child.
    pipe: RawFd,
}

impl Greeting {
    /// Parses `hello CHILD SERVED PIPE`.
    pub(super) fn parse(line: &str) -> Option<Greeting> {
        let mut numbers = line.strip_prefix("hello ")?.split(' ');
        let greeting = Greeting {
            child: numbers.next()?.parse().ok()?,
            served: numbers.next()?.parse().ok()?,
            pipe: numbers.next()?.parse().ok()?,
        };
        numbers.next().is_none().then_some(greeting)
    }

    /// The word of this connection.
    pub(super) fn word(&self) -> Result<Vec<u8>, Reason> {
        self.read_word()
            .map_err(|why| Reason::Unreadable("a pipe", why.into()))
    }

    fn read_word(&self) -> io::Result<Vec<u8>> {
        let mut word = Vec::new();
        // Whatever it is, opening and reading it must not block.
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(format!("/proc/{}/fd/{}", self.child, self.pipe))?
            .take(MAX_WORD_BYTES)
            .read_to_end(&mut word)?;
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_greeting_has_three_numbers() {
        let greeting = Greeting::parse("hello 7 2 9").expect("it is valid");
        assert_eq!((greeting.child, greeting.served, greeting.pipe), (7, 2, 9));
        for line in [
            "",
            "hello",
            "hello 7",
            "hello 7 2",
            "hello 7 2 9 1",
            "hello 7 -2 9",
            "hello 7 2 x",
            "no hello 7 2 9",
        ] {
            assert!(Greeting::parse(line).is_none(), "{line}");
        }
    }

    #[test]
    fn the_word_is_read_from_the_pipe() {
        let (ours, mut theirs) = io::pipe().expect("it is created");
        theirs.write_all(b"word").expect("it has room");
        drop(theirs);
        let of = |pipe| Greeting {
            child: std::process::id() as libc::pid_t,
            served: 0,
            pipe,
        };
        let word = of(ours.as_raw_fd()).word();
        assert_eq!(word.expect("this process may inspect itself"), b"word");
        let null = File::open("/dev/null").expect("it exists");
        assert!(
            of(null.as_raw_fd())
                .word()
                .is_ok_and(|word| word.is_empty())
        );
        assert!(of(-1).word().is_err());
    }
}
