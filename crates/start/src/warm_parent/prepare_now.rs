//! Creates a warm parent and waits until it is ready (`preheat start --prepare`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::make::ParentRequest;
use super::sandbox::is_shared_with;
use super::state::{Parent, parents};
use crate::identity::name;
use crate::reason::Reason;

/// Creates a parent that matches this start, and waits until it is ready; an error is the
/// reason why there is none. Calls `log` with progress messages.
pub(crate) fn prepare_now(
    parent_request: &ParentRequest<'_>,
    limit: Duration,
    log: &dyn Fn(&str),
) -> Result<Parent, Reason> {
    if !parent_request.learned().exists() {
        return Err(Reason::Unlearned);
    }
    // An explicit request tries again.
    let _ = fs::remove_file(parent_request.refusal());
    let failed = |why: io::Error| Reason::CannotCreate(why.into());
    let mut lines = Lines {
        from: parent_request.make_watched().map_err(failed)?,
        until: Instant::now() + limit,
        rest: Vec::new(),
    };
    while let Some(line) = lines.next().map_err(failed)? {
        log(&line);
    }
    let there = parents(
        &parent_request.directories.run,
        &name(&parent_request.identity.whole),
    );
    let mut why_not = None;
    for parent in there {
        if parent.identity != parent_request.identity.whole {
            continue;
        }
        let suits = parent_request
            .is_suited_by(&parent)
            .and_then(|()| is_shared_with(parent.process))
            .and_then(|()| parent.is_right_for(parent_request.invocation));
        match suits {
            Ok(()) => return Ok(parent),
            Err(why) => why_not = Some(why),
        }
    }
    if lines.until <= Instant::now() {
        return Err(Reason::NotReady(limit.as_secs_f64()));
    }
    let refusal = fs::read(parent_request.refusal()).unwrap_or_default();
    let stored = Reason::from_stored(&refusal);
    Err(stored.or(why_not).unwrap_or(Reason::FailedToStart))
}

/// Reads lines until a deadline.
struct Lines {
    from: File,
    until: Instant,
    rest: Vec<u8>,
}

impl Lines {
    /// The next line; `None` at the end or after the deadline.
    fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            let left = self.until.saturating_duration_since(Instant::now());
            let mut poll = libc::pollfd {
                fd: self.from.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // Rounded up, so that the deadline has passed when poll times out.
            let milliseconds = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
            // SAFETY: poll reads and writes one valid struct.
            let ready = unsafe { libc::poll(&mut poll, 1, milliseconds) };
            if ready == 0 || left.is_zero() {
                return Ok(None);
            }
            let mut bytes = [0; 512];
            if ready > 0 {
                match self.from.read(&mut bytes)? {
                    0 => return Ok(None),
                    length => self.rest.extend_from_slice(&bytes[..length]),
                }
            }
        }
    }
}
