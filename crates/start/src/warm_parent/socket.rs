//! A connection to a warm parent, with a deadline, and the greeting of a waiting child, with the
//! token by which a client shows that it may inspect the child.
//!
//! The token is in a pipe of the child. The kernel lets a process open it (`/proc/PID/fd`) only
//! if that process may inspect the child, and the child serves nobody who does not know it: the
//! counterpart is `python/guard.py`.

use std::fs::OpenOptions;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};

use crate::reason::Reason;

/// The longest line that is accepted.
const MAX_LINE_BYTES: usize = 1 << 16;

/// The most descriptors that the kernel sends at once.
pub(super) const MAX_SENT: usize = 253;

/// A connection to a parent, or to its child or supervisor.
pub(crate) struct Connection {
    stream: UnixStream,
    until: Instant,
    /// Bytes that were read after a line.
    rest: Vec<u8>,
}

impl Connection {
    /// Connects to a socket of the same user. Sending and reading lines time out at `until`.
    pub(crate) fn open(path: &Path, until: Instant) -> io::Result<Connection> {
        // The standard library's connect would block while the backlog is full.
        let stream = connect(path)?;
        let (user, _) = peer(&stream)?;
        if user != preheat_host::user() {
            return Err(io::Error::other("it belongs to another user"));
        }
        Ok(Connection {
            stream,
            until,
            rest: Vec::new(),
        })
    }

    /// Sends a request and descriptors.
    pub(crate) fn send(&mut self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut sent = loop {
            match send_with(self.stream.as_fd(), bytes, descriptors) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::OUT)?,
                other => break other?,
            }
        };
        while sent < bytes.len() {
            match self.stream.write(&bytes[sent..]) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::OUT)?,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                other => sent += other?,
            }
        }
        Ok(())
    }

    /// The next line, without its line break.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(line) = self.next_line() {
                return Ok(line);
            }
            if !self.fill()? {
                self.wait(PollFlags::IN)?;
            }
        }
    }

    /// A line that has already been read.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        let end = self.rest.iter().position(|&byte| byte == b'\n')?;
        let line = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.rest.drain(..=end);
        Some(line)
    }

    /// Reads available bytes; returns false if there are none. The end is an error.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 512];
        if self.rest.len() > MAX_LINE_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.rest.extend_from_slice(&bytes[..length]);
                Ok(true)
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(why) => Err(why),
        }
    }

    fn wait(&self, events: PollFlags) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&self.stream, events)], left.as_ref()) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

impl Connection {
    /// The stream itself.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// The user and the process at the other end.
pub(crate) fn peer(stream: &UnixStream) -> io::Result<(libc::uid_t, libc::pid_t)> {
    // Not by rustix, in which a process ID is never 0: it is 0 for a process in another
    // namespace.
    // SAFETY: a zeroed ucred is a valid value, and getsockopt writes at most one.
    unsafe {
        let mut who: libc::ucred = std::mem::zeroed();
        let mut size = size_of::<libc::ucred>() as libc::socklen_t;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let to = (&raw mut who).cast();
        match libc::getsockopt(stream.as_raw_fd(), level, name, to, &mut size) {
            0 => Ok((who.uid, who.pid)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Sends as much as fits into the buffer, with the descriptors attached to the first byte.
fn send_with(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_SENT))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let rights = SendAncillaryMessage::ScmRights(descriptors);
    if !descriptors.is_empty() && !control.push(rights) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parts = [IoSlice::new(bytes)];
    let sent = rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
    Ok(sent)
}

/// More bytes than a token has.
const MAX_TOKEN_BYTES: u64 = 64;

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

    /// The token of this connection.
    pub(super) fn token(&self) -> Result<Vec<u8>, Reason> {
        self.read_token()
            .map_err(|why| Reason::Unreadable("the token", why.into()))
    }

    fn read_token(&self) -> io::Result<Vec<u8>> {
        let mut token = Vec::new();
        // Whatever it is, opening and reading it must not block.
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(format!("/proc/{}/fd/{}", self.child, self.pipe))?
            .take(MAX_TOKEN_BYTES)
            .read_to_end(&mut token)?;
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn reading_a_line_times_out() {
        let scratch = Scratch::new("socket").expect("a directory for the test");
        let path = scratch.path().join("socket");
        let listener = UnixListener::bind(&path).expect("it listens");
        let mut connection = Connection::open(&path, Instant::now()).expect("it connects");
        connection
            .send(b"word", &[io::stdin().as_fd()])
            .expect("the buffer is empty");
        let why = connection.line().expect_err("there is no answer");
        assert_eq!(why.kind(), io::ErrorKind::TimedOut);
        let (mut other, _) = listener.accept().expect("a connection is pending");
        other
            .write_all(b"one\ntwo\n")
            .expect("the client is connected");
        let mut connection = Connection {
            until: Instant::now() + Duration::from_secs(60),
            ..connection
        };
        assert_eq!(connection.line().expect("the first"), "one");
        assert_eq!(connection.next_line().as_deref(), Some("two"));
        drop(other);
        assert!(connection.line().is_err());
        std::fs::remove_file(&path).expect("it goes");
        assert!(Connection::open(&path, Instant::now()).is_err());
    }

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
    fn the_token_is_read_from_the_pipe() {
        let (ours, mut theirs) = io::pipe().expect("it is created");
        theirs.write_all(b"token").expect("it has room");
        drop(theirs);
        let of = |pipe| Greeting {
            child: std::process::id() as libc::pid_t,
            served: 0,
            pipe,
        };
        let token = of(ours.as_raw_fd()).token();
        assert_eq!(token.expect("this process may inspect itself"), b"token");
        let null = File::open("/dev/null").expect("it exists");
        assert!(
            of(null.as_raw_fd())
                .token()
                .is_ok_and(|token| token.is_empty())
        );
        assert!(of(-1).token().is_err());
    }
}
