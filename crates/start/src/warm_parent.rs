//! The warm parent: a process that has imported the modules of a program, and forks a child
//! for each start.
//!
//! It waits inside the `sitecustomize` of an interpreter that was started for this program.
//! A child returns from there, and Python runs the program as usual: nothing is imitated.
//!
//! [`apply`] starts a command if a matching parent is running; [`prepare`] has one created
//! for the next start; [`list()`] lists the running parents, and [`stop`] stops them. A start
//! is committed only after all checks: the child reports that it is ready, and waits; the
//! client checks once more that nothing has changed, and sends `go`, or starts the program
//! plainly instead.

mod follow;
mod influence;
mod learned;
mod ledger;
mod list;
mod make;
mod need;
mod own;
pub(crate) mod prepare;
mod recorded;
mod request;
mod sandbox;
mod socket;
mod state;
mod trial;
mod variables;
mod waiting;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::directories::Directories;
use crate::identity::Identity;
use crate::invocation::{Invocation, Main};
use crate::reason::Reason;
use crate::standby::Standbys;
use follow::Child;
use socket::{Connection, Greeting};
use waiting::Waiting;

pub(crate) use follow::{End, RunningProgram, die};
pub(crate) use learned::{Ahead, Learned};
pub use ledger::Changed;
pub(crate) use ledger::terminals;
pub use list::{Running, RunningStandby, Stopped, list, stop};
pub(crate) use make::{Injected, ParentRequest};
pub(crate) use request::{Inherited, environment};
pub(crate) use sandbox::root;
pub(crate) use state::{Parent, parents};
pub(crate) use variables::Environment;

/// The time after which creating a parent is tried again if it failed.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// A file that changes before its parent has served this many starts may change all the time.
const FEW_STARTS: usize = 2;

/// Starts the program from a matching parent, which is returned too; an error is the reason
/// why not. Calls `log` before the program begins.
pub(crate) fn apply(
    parent_request: &ParentRequest<'_>,
    inherited: &Inherited,
    log: &dyn Fn(&str),
) -> Result<(RunningProgram, Parent), Reason> {
    let began = Instant::now();
    let prefix = crate::identity::name(&parent_request.identity.whole);
    let mut why = Reason::NoParent;
    for parent in parents(&parent_request.directories.run, &prefix) {
        if parent.identity != parent_request.identity.whole {
            continue;
        }
        if let Err(differs) = parent_request.is_suited_by(&parent) {
            why = differs;
            continue;
        }
        if parent.needs_streams() && !inherited.has_streams() {
            why = Reason::StreamClosed;
            continue;
        }
        if let Some(standbys) = parent_request.standbys {
            match from_standby(&parent, standbys, parent_request, inherited, log, began) {
                Ok(program) => return Ok((program, parent)),
                Err(differs) if parent_request.strictly => {
                    why = Reason::NoStandby(differs.into());
                    continue;
                }
                Err(why) => log(&format!("no standby: {why}")),
            }
        }
        match ask(&parent, None, parent_request, inherited, log, began) {
            Ok(program) => {
                if parent.is_outdated() && refused(parent_request).is_none() {
                    // Create a better parent for the next start.
                    let _ = parent_request.make(false);
                }
                return Ok((program, parent));
            }
            Err(said) => why = said,
        }
    }
    Err(why)
}

/// Has a parent created, so that a later start is warm. If the imports of the program are
/// not known yet, returns the file into which this start must record them.
pub(crate) fn prepare(parent_request: &ParentRequest<'_>) -> Result<Learns, Refused> {
    let learned = parent_request.learned();
    if let Some(refused) = refused(parent_request) {
        return Err(refused);
    }
    let is_known = learned.exists();
    let failed = |why: io::Error| Refused::ForNow(Reason::CannotCreate(why.into()));
    parent_request.make(!is_known).map_err(failed)?;
    Ok(if is_known {
        Learns::No
    } else {
        Learns::Into(learned)
    })
}

/// The reason why there is no parent, and none is created now.
pub(crate) enum Refused {
    /// A parent is being created, or could not be created this time.
    ForNow(Reason),
    /// No parent can be created for this program.
    Lasting(Reason),
}

/// The reason why a recent attempt failed, or that a parent is being created.
fn refused(parent_request: &ParentRequest<'_>) -> Option<Refused> {
    let refusal = parent_request.refusal();
    let age = fs::metadata(&refusal)
        .ok()?
        .modified()
        .ok()?
        .elapsed()
        .ok()?;
    // A parent that has become ready meanwhile has removed the file.
    let why = Reason::from_stored(&fs::read(&refusal).ok()?);
    let is_edited = matches!(&parent_request.invocation.main, Main::Script(script)
        if modified(script).is_some_and(|edited| modified(&refusal) < Some(edited)));
    if age >= REFUSED_FOR || is_edited || why.as_ref().is_some_and(Reason::is_over) {
        return None;
    }
    Some(match why {
        Some(why) => Refused::Lasting(why),
        None if parent_request.is_being_made() => {
            Refused::ForNow(Reason::BeingCreated(age.as_secs()))
        }
        None => Refused::Lasting(Reason::FailedBefore),
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Controls whether a plain start records its imports.
pub(crate) enum Learns {
    /// They are known.
    No,
    /// Record them into this file.
    Into(PathBuf),
}

/// Stops all parents of a program, and deletes the reason why none could be created.
pub(crate) fn forget(directories: &Directories, identity: &Identity) {
    for parent in parents(&directories.run, "") {
        if parent.identity.starts_with(&identity.program) {
            list::leave(&parent);
        }
    }
    let name = crate::identity::name(&identity.whole);
    for ending in [".plain", ".unused"] {
        let _ = fs::remove_file(directories.run.join(name.clone() + ending));
    }
}

/// Starts the program from a standby of a parent; an error is the reason why there is none. One that does not
/// answer takes at most half of the patience.
fn from_standby(
    parent: &Parent,
    standbys: &Standbys,
    parent_request: &ParentRequest<'_>,
    inherited: &Inherited,
    log: &dyn Fn(&str),
    began: Instant,
) -> Result<RunningProgram, Reason> {
    standbys.device_use()?;
    let mut why_not = None;
    for waiting in standbys.ready(parent) {
        match ask(
            parent,
            Some(&waiting),
            parent_request,
            inherited,
            log,
            began,
        ) {
            Ok(program) => return Ok(program),
            Err(why) => why_not = Some(why),
        }
    }
    Err(why_not.unwrap_or_else(|| standbys.why_none(parent)))
}

/// Starts the program from the parent's spare child, or from a standby. Meanwhile another thread
/// verifies the parent's inputs.
fn ask(
    parent: &Parent,
    standby: Option<&Waiting>,
    parent_request: &ParentRequest<'_>,
    inherited: &Inherited,
    log: &dyn Fn(&str),
    began: Instant,
) -> Result<RunningProgram, Reason> {
    std::thread::scope(|scope| {
        let verification = Verification::begin(scope, parent, parent_request.invocation);
        ask_and_go(
            parent,
            standby,
            parent_request,
            inherited,
            log,
            began,
            verification,
        )
    })
}

/// The verification of a parent's inputs, in another thread. It is stopped when this is dropped.
struct Verification<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    parent: &'env Parent,
    invocation: &'env Invocation,
    stopped: Arc<AtomicBool>,
    progress: Progress<'scope>,
}

enum Progress<'scope> {
    Running(ScopedJoinHandle<'scope, Result<(), Reason>>),
    Failed(Reason),
    /// The thread could not be created, or panicked.
    Unknown,
}

impl<'scope, 'env> Verification<'scope, 'env> {
    fn begin(
        scope: &'scope Scope<'scope, 'env>,
        parent: &'env Parent,
        invocation: &'env Invocation,
    ) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopped);
        let verify = move || parent.is_right_for_unless(invocation, &seen);
        let thread = std::thread::Builder::new().spawn_scoped(scope, verify);
        Verification {
            scope,
            parent,
            invocation,
            stopped,
            progress: thread.map_or(Progress::Unknown, Progress::Running),
        }
    }

    /// Begins again if it has succeeded already. A busy child may take long to answer, and the
    /// inputs may change after they were verified.
    fn renew(mut self) -> Self {
        if !matches!(&self.progress, Progress::Running(thread) if thread.is_finished()) {
            return self;
        }
        match self.join() {
            Some(Err(why)) => {
                self.progress = Progress::Failed(why);
                self
            }
            Some(Ok(())) | None => Verification::begin(self.scope, self.parent, self.invocation),
        }
    }

    fn finish(mut self) -> Result<(), Reason> {
        let verified = self.join();
        verified.unwrap_or_else(|| self.parent.is_right_for(self.invocation))
    }

    /// Waits for the result; `None` if there is none.
    fn join(&mut self) -> Option<Result<(), Reason>> {
        match std::mem::replace(&mut self.progress, Progress::Unknown) {
            Progress::Running(thread) => thread.join().ok(),
            Progress::Failed(why) => Some(Err(why)),
            Progress::Unknown => None,
        }
    }
}

impl Drop for Verification<'_, '_> {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // A scope ends with a panic if a thread that was not joined has panicked.
        self.join();
    }
}

fn ask_and_go(
    parent: &Parent,
    standby: Option<&Waiting>,
    parent_request: &ParentRequest<'_>,
    inherited: &Inherited,
    log: &dyn Fn(&str),
    began: Instant,
    verification: Verification<'_, '_>,
) -> Result<RunningProgram, Reason> {
    let gone = |why: io::Error| {
        if standby.is_some() {
            return Reason::Taken(why.into());
        }
        // Nothing listens there any more, or another process does: either is permanent.
        if why.kind() != io::ErrorKind::WouldBlock {
            list::forget(parent);
        }
        Reason::Exited(why.into())
    };
    let (socket, listener, patience) = match standby {
        Some(it) => (&it.socket, it.process, parent_request.patience / 2),
        None => (&parent.socket, parent.process, parent_request.patience),
    };
    let mut connection = Connection::open(socket, began + patience).map_err(gone)?;
    if !connection.is_with(listener) {
        return Err(gone(io::Error::other("another process uses its socket")));
    }
    let silent = |why: io::Error| {
        if let Some(standby) = standby {
            return match why.kind() {
                io::ErrorKind::TimedOut => {
                    standby.discard_if_stopped(parent);
                    Reason::NoAnswer
                }
                _ => Reason::TakenOrExited(why.into()),
            };
        }
        // A suspended parent would not answer the next start either, and a process that
        // breaks the protocol is not a parent of this version.
        let nonsense = why.kind() == io::ErrorKind::InvalidData;
        if nonsense || follow::is_stopped(parent.process as libc::pid_t) {
            list::leave(parent);
        }
        if why.kind() == io::ErrorKind::TimedOut {
            return Reason::Busy(parent_request.patience.as_secs_f64());
        }
        Reason::Closed(why.into())
    };
    let hello = connection.line().map_err(silent)?;
    let greeting = Greeting::parse(&hello).and_then(|greeting| {
        let child = Child::new(greeting.child, parent.process)?;
        Some((greeting, child))
    });
    let Some((greeting, child)) = greeting else {
        if standby.is_none() {
            list::leave(parent);
        }
        return Err(Reason::Strange);
    };
    let verification = verification.renew();
    // Check and move the child before anything is sent.
    sandbox::is_shared_with(child.process())?;
    sandbox::join(&[child.supervisor(), child.process()])?;
    let token = greeting.token()?;
    let learning = parent_request.standbys.and_then(Standbys::learning);
    let request = inherited.request(
        parent_request.invocation,
        parent_request.identity.terminal,
        &token,
        learning,
    );
    let asked = connection.send(&request, &inherited.sent());
    asked.map_err(|why| Reason::Closed(why.into()))?;
    // Meanwhile the child gets ready.
    if let Err(why) = verification.finish() {
        if let Some(path) = parent.changed()
            && greeting.served < FEW_STARTS
        {
            // If that happens again, the modules that read it are no longer imported ahead.
            let _ = learned::note_changing(&parent_request.learned(), &path);
        }
        list::leave(parent);
        if matches!(why, Reason::Shadows(_)) {
            // Another parent would not help either, as long as that module exists.
            let _ = fs::write(parent_request.refusal(), why.stored());
        }
        return Err(why);
    }
    let answer = connection.line().map_err(silent)?;
    if answer != "ready" {
        return Err(match answer.strip_prefix("no ") {
            Some(why) => Reason::Answered(why.to_owned()),
            None => Reason::Strange,
        });
    }
    let mut program = RunningProgram::ready(connection, child, parent_request.identity.terminal)
        .map_err(|why| Reason::NoSignals(why.into()))?;
    let from = match standby {
        Some(it) => format!("from the {} standby {}", it.state, it.process),
        None => format!("warm by process {}", parent.process),
    };
    log(&format!(
        "started {from} in {:.1} ms{}",
        began.elapsed().as_secs_f64() * 1e3,
        parent.explain_limits()
    ));
    // If this fails, the child has exited without running anything.
    let gone = program.go();
    gone.map_err(|why| Reason::ChildExited(why.into()))?;
    Ok(program)
}

impl Parent {
    /// Checks that the program would import the same now; an error is the difference.
    fn is_right_for(&self, invocation: &Invocation) -> Result<(), Reason> {
        self.is_right_for_unless(invocation, &AtomicBool::new(false))
    }

    /// Like `is_right_for`, but fails soon after `stopped` is set.
    fn is_right_for_unless(
        &self,
        invocation: &Invocation,
        stopped: &AtomicBool,
    ) -> Result<(), Reason> {
        self.check_inputs(stopped)?;
        self.check_variables_unset()?;
        self.check_code_before_imports()?;
        self.check_not_shadowed(&searched_first(invocation))
    }
}

/// The directory that Python searches first.
fn searched_first(invocation: &Invocation) -> PathBuf {
    match &invocation.main {
        Main::Script(script) if script.is_dir() => script.clone(),
        Main::Script(script) => {
            let file = fs::canonicalize(script).unwrap_or_else(|_| script.clone());
            file.parent()
                .map_or_else(|| PathBuf::from("."), Path::to_owned)
        }
        Main::Module(_) | Main::Code(_) | Main::Input(_) => PathBuf::from("."),
    }
}
