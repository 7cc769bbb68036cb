//! The request for a start: everything that a process inherits and that a child of the warm
//! parent can take over. rustix reads neither interval timers nor masks and actions of signals.

use std::collections::HashSet;
use std::ffi::{CStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;

use preheat_launch::inherited;
use rustix::fs::Mode;
use rustix::process::{WaitId, WaitIdOptions, umask, waitid};

use super::socket::MAX_SENT;
use crate::invocation::Invocation;
use crate::reason::Reason;

unsafe extern "C" {
    static environ: *const *const libc::c_char;
}

/// The most descriptors that can be sent at once, less one for the directory.
const MAX_DESCRIPTORS: usize = MAX_SENT - 1;

/// The most variables: a child sets each one separately, which takes linear time.
const MAX_VARIABLES: usize = 4096;

/// Names and values.
type Variables = Vec<(Vec<u8>, Vec<u8>)>;

/// The inherited state of this process.
pub(crate) struct Inherited {
    /// Names and values, in order.
    pub environment: Variables,
    /// Descriptors that stay open across `exec`, without standard streams that were closed.
    pub descriptors: Vec<RawFd>,
    /// The current directory.
    pub directory: OwnedFd,
    blocked: Vec<libc::c_int>,
    ignored: Vec<libc::c_int>,
    umask: libc::mode_t,
    group: libc::pid_t,
}

impl Inherited {
    /// Captures the state of this process. Nothing may have been opened or changed before.
    pub(crate) fn capture() -> Result<Inherited, Reason> {
        if let Some(why) = crate::background::obstacle() {
            return Err(why);
        }
        if has_children() {
            return Err(Reason::HasChildren);
        }
        super::sandbox::is_certain()?;
        // The working directory may be unreadable.
        let directory = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
            .open(".")
            .map_err(|why| Reason::WorkingDirectory(why.into()))?;
        let descriptors = descriptors().map_err(|why| Reason::Proc(why.into()))?;
        if descriptors.len() > MAX_DESCRIPTORS {
            return Err(Reason::ManyDescriptors(descriptors.len()));
        }
        let environment = environment()?;
        if environment.len() > MAX_VARIABLES {
            return Err(Reason::ManyVariables(environment.len()));
        }
        if has_timer() {
            return Err(Reason::IntervalTimer);
        }
        if let Some(fd) = descriptors.iter().find(|&&fd| has_lock(fd)) {
            return Err(Reason::HoldsLock(*fd));
        }
        if environment.iter().any(|(name, _)| name == b"NOTIFY_SOCKET") {
            return Err(Reason::ServiceManager);
        }
        let (blocked, ignored) = signals();
        // Restored at once; no other thread could create files in between.
        let mask = umask(Mode::from_raw_mode(0o077));
        umask(mask);
        // Not by rustix, in which a process ID is never 0: it is 0 for a group of another
        // namespace.
        // SAFETY: getpgrp takes nothing and cannot fail.
        let group = unsafe { libc::getpgrp() };
        Ok(Inherited {
            environment,
            descriptors,
            directory: directory.into(),
            blocked,
            ignored,
            umask: mask.as_raw_mode(),
            group,
        })
    }

    /// The request for a start, in the format that the child reads. `token` is the one of this
    /// connection; `learning` is the value of the variable that makes the child record its use
    /// of GPUs.
    pub(crate) fn request(
        &self,
        invocation: &Invocation,
        terminal: bool,
        token: &[u8],
        learning: Option<OsString>,
    ) -> Vec<u8> {
        let mut fields = Fields::new(b"start");
        fields.put(token);
        // Processes can share a group only within a session. Otherwise the program leads a
        // group (-1), or is the only member of one (0).
        let leads = self.group.unsigned_abs() == std::process::id();
        let group = match (terminal, leads) {
            (true, _) => self.group,
            (false, true) => -1,
            (false, false) => 0,
        };
        fields.numbers([
            i64::from(group),
            i64::from(self.umask),
            invocation.leading as i64,
        ]);
        fields.numbers(self.blocked.iter().map(|&number| i64::from(number)));
        fields.numbers(self.ignored.iter().map(|&number| i64::from(number)));
        fields.numbers(self.descriptors.iter().map(|&number| i64::from(number)));
        fields.texts(invocation.words.iter().map(|word| word.as_bytes().to_vec()));
        let learning = learning.map(|value| {
            let name = crate::standby::VARIABLE.as_bytes().to_vec();
            (name, value.into_encoded_bytes())
        });
        let entries = self.environment.iter().chain(&learning);
        let entries: Vec<_> = entries
            .map(|(name, value)| [&name[..], b"=", value].concat())
            .collect();
        fields.texts(entries.into_iter());
        fields.finish()
    }

    /// Returns true if all standard streams are open.
    pub(crate) fn has_streams(&self) -> bool {
        (0..3).all(|fd| self.descriptors.contains(&fd))
    }

    /// The descriptors to send with the request: the working directory, then the others.
    pub(crate) fn sent(&self) -> Vec<BorrowedFd<'_>> {
        // SAFETY: this process inherited them, and closes none before the program runs.
        let inherited = self
            .descriptors
            .iter()
            .map(|&fd| unsafe { BorrowedFd::borrow_raw(fd) });
        std::iter::once(self.directory.as_fd())
            .chain(inherited)
            .collect()
    }
}

/// A request without arguments, such as `served`.
pub(crate) fn word(word: &[u8]) -> Vec<u8> {
    Fields::new(word).finish()
}

/// Fields terminated by NULs, preceded by their total length.
pub(super) struct Fields(Vec<u8>);

impl Fields {
    /// A request of this name.
    pub(super) fn new(name: &[u8]) -> Fields {
        let mut fields = Fields(vec![0; 4]);
        fields.put(name);
        fields
    }

    pub(super) fn put(&mut self, field: &[u8]) {
        self.0.extend_from_slice(field);
        self.0.push(0);
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = i64>) {
        let texts: Vec<String> = numbers
            .into_iter()
            .map(|number| number.to_string())
            .collect();
        self.put(texts.join(" ").as_bytes());
    }

    pub(super) fn texts(&mut self, texts: impl ExactSizeIterator<Item = Vec<u8>>) {
        self.put(texts.len().to_string().as_bytes());
        for text in texts {
            self.put(&text);
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// The whole environment; fails if it has entries that Python would not see unchanged.
pub(crate) fn environment() -> Result<Variables, Reason> {
    let mut found = Variables::new();
    let mut known = HashSet::new();
    // SAFETY: environ is null or an array of strings that ends with a null; nothing
    // changes the environment in this process, which has one thread.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            let entry = CStr::from_ptr(*at).to_bytes();
            let split = entry.iter().position(|&byte| byte == b'=').unwrap_or(0);
            let name = &entry[..split];
            if name.is_empty() || !known.insert(name) {
                return Err(Reason::StrangeEnvironment);
            }
            found.push((name.to_vec(), entry[split + 1..].to_vec()));
            at = at.add(1);
        }
    }
    Ok(found)
}

/// Descriptors that `exec` would leave open.
fn descriptors() -> io::Result<Vec<RawFd>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let name: OsString = entry?.file_name();
        let Some(fd) = name.to_str().and_then(|name| name.parse::<RawFd>().ok()) else {
            continue;
        };
        // SAFETY: fcntl takes numbers only; a descriptor that is not open is an error.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        let is_ours = fd <= 2 && inherited::is_closed(fd);
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 && !is_ours {
            found.push(fd);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns true if an interval timer is running, which another process cannot take over.
fn has_timer() -> bool {
    let kinds = [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF];
    kinds.into_iter().any(|kind| {
        // SAFETY: a zeroed timer is a valid value, and getitimer writes one.
        let left = unsafe {
            let mut timer: libc::itimerval = std::mem::zeroed();
            libc::getitimer(kind, &mut timer);
            timer.it_value
        };
        left.tv_sec != 0 || left.tv_usec != 0
    })
}

/// Returns true if this process has children, which the program would inherit.
fn has_children() -> bool {
    let any = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
    // Exited children can still be waited for.
    waitid(
        WaitId::All,
        any | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT,
    )
    .is_ok()
}

/// Returns true if this process holds a POSIX lock (`fcntl`, `lockf`) or a lease on an open
/// file. `flock` locks are passed on with the descriptor.
fn has_lock(fd: RawFd) -> bool {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
    let mut locks = info.lines().filter_map(|line| line.strip_prefix("lock:"));
    locks.any(|lock| lock.contains("POSIX") || lock.contains("LEASE") || lock.contains("DELEG"))
}

/// Signals that are blocked, and signals that are ignored.
fn signals() -> (Vec<libc::c_int>, Vec<libc::c_int>) {
    let (mut blocked, mut ignored) = (Vec::new(), Vec::new());
    // SAFETY: a zeroed set and a zeroed action are valid values; each function reads or
    // writes one of them. An invalid signal number is an error.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        for number in 1..65 {
            if libc::sigismember(&mask, number) == 1 {
                blocked.push(number);
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            let known = libc::sigaction(number, std::ptr::null(), &mut action) == 0;
            let is_ignored = match number {
                libc::SIGPIPE => inherited::ignores_broken_pipes(),
                _ => known && action.sa_sigaction == libc::SIG_IGN,
            };
            if is_ignored {
                ignored.push(number);
            }
        }
    }
    (blocked, ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_begins_with_its_length() {
        let bytes = word(b"served");
        assert_eq!(bytes, b"\x07\0\0\0served\0");
    }

    #[test]
    fn the_environment_and_the_streams_are_captured() {
        let Ok(inherited) = Inherited::capture() else {
            return; // The tests run in a process that cannot be handed over.
        };
        assert_eq!(inherited.environment.len(), std::env::vars_os().count());
        assert!(inherited.descriptors.contains(&1));
        assert_eq!(inherited.sent().len(), inherited.descriptors.len() + 1);
    }
}
