//! Creates a warm parent before a program is started, from its known imports, which may come
//! from a recording, and waits until it is ready (`preheat start --prepare`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::make::ParentRequest;
use super::recorded::learn_from;
use super::sandbox::is_shared_with;
use super::state::{Parent, parents};
use super::{Inherited, terminals};
use crate::identity::{Identity, name};
use crate::reason::Reason;
use crate::standby::{Standby, Standbys};
use crate::{DEFAULT_IDLE, DEFAULT_PATIENCE, directories, invocation};

/// The recorded imports of a program.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// Names of the modules that were imported without an error, in the order in which
    /// their imports ended.
    pub names: Vec<String>,
    /// Files that the program read, in any order, including those of the modules.
    pub files: Vec<PathBuf>,
}

/// The command to create a parent for, with options.
pub struct Preparation<'a> {
    /// The command: a program and its arguments.
    pub command: &'a [OsString],
    /// The recorded imports; `None` uses what earlier starts have learned.
    pub imports: Option<&'a Imports>,
    /// The idle time after which the parent exits.
    pub idle: Duration,
    /// The longest wait for the parent.
    pub limit: Duration,
    /// The standbys to prepare and wait for.
    pub standby: Option<Standby>,
    /// Called with progress messages.
    pub log: &'a dyn Fn(&str),
}

/// Creates a warm parent for a command, and waits until it is ready. An error is a reason
/// that continues "it is started plainly:".
pub fn prepare(preparation: &Preparation<'_>) -> Result<(), Reason> {
    with_request(preparation.command, |mut request| {
        request.idle = preparation.idle;
        request.patience = preparation.limit;
        if let Some(imports) = preparation.imports {
            learn_from(&request, &imports.names, &imports.files)?;
        }
        let parent = prepare_now(&request, preparation.limit, preparation.log)?;
        let Some(asked) = preparation.standby else {
            return Ok(());
        };
        let ParentRequest {
            invocation,
            identity,
            directories,
            environment,
            ..
        } = request;
        let standbys = Standbys::of(asked, invocation, identity, directories, environment);
        standbys
            .prepare(&parent, asked.count)
            .and_then(|()| standbys.wait(&parent, preparation.limit))
            .map_err(|why| Reason::NoStandby(why.into()))
    })
}

/// Stores the imports of a command, so that its first start already has a parent created.
pub fn learn(command: &[OsString], imports: &Imports) -> Result<(), Reason> {
    with_request(command, |request| {
        learn_from(&request, &imports.names, &imports.files)
    })
}

/// Calls `what` with the request for a parent of a command.
fn with_request<R>(
    command: &[OsString],
    what: impl FnOnce(ParentRequest<'_>) -> Result<R, Reason>,
) -> Result<R, Reason> {
    let program = invocation::find(command)?;
    if let Some(why) = program.unrecorded {
        return Err(Reason::Unrecorded(why));
    }
    let invocation = invocation::read(command, &program.path)?;
    let inherited = Inherited::capture()?;
    let identity = Identity::of(&invocation)?;
    let directories = directories::find().map_err(|why| Reason::NoDirectory(why.into()))?;
    what(ParentRequest {
        invocation: &invocation,
        identity: &identity,
        directories: &directories,
        environment: &inherited.environment,
        terminals: terminals(),
        bytecode: None,
        idle: DEFAULT_IDLE,
        patience: DEFAULT_PATIENCE,
        standbys: None,
        strictly: false,
    })
}

/// Creates a parent that matches this start, and waits until it is ready; an error is the
/// reason why there is none. Calls `log` with progress messages.
fn prepare_now(
    parent_request: &ParentRequest<'_>,
    limit: Duration,
    log: &dyn Fn(&str),
) -> Result<Parent, Reason> {
    if !parent_request.learned().exists() {
        return Err(Reason::Unlearned);
    }
    // An explicit request tries again.
    let _ = fs::remove_file(parent_request.refusal());
    let _ = fs::remove_file(parent_request.unused_file());
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
            let timeout = Timespec::try_from(left).ok();
            let mut wanted = [PollFd::new(&self.from, PollFlags::IN)];
            let ready = poll(&mut wanted, timeout.as_ref());
            if ready == Ok(0) || left.is_zero() {
                return Ok(None);
            }
            let mut bytes = [0; 512];
            if ready.is_ok() {
                match self.from.read(&mut bytes)? {
                    0 => return Ok(None),
                    length => self.rest.extend_from_slice(&bytes[..length]),
                }
            }
        }
    }
}
