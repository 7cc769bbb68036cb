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

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::directories::Places;
use crate::identity::Identity;
use crate::invocation::{Invocation, Main, Why};
use crate::standby::Standbys;

mod follow;
mod group;
mod influence;
mod learned;
mod ledger;
mod list;
mod make;
mod need;
mod own;
mod prepare_now;
mod recorded;
mod request;
mod sandbox;
mod socket;
mod state;
mod trial;
mod variables;
mod waiting;

pub(crate) use follow::{End, Program, die};

pub(crate) use learned::{Ahead, Learned};
pub(crate) use ledger::terminals;
pub use list::{Running, RunningStandby, Stopped, list, stop};
pub(crate) use make::{Injected, Wish};
pub(crate) use prepare_now::prepare_now;
pub(crate) use recorded::learn_from;
pub(crate) use request::{Inherited, environment};
pub(crate) use sandbox::root;
pub(crate) use variables::Environment;

use follow::Child;
use socket::Connection;
pub(crate) use state::{Parent, parents};
use waiting::Waiting;

/// The time after which creating a parent is tried again if it failed.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// A file that changes before its parent has served this many starts may change all the time.
const FEW_STARTS: usize = 2;

/// The reason why a parent with an invalid answer is not used.
const STRANGE: &str = "the process that answered is not a warm parent of this version";

/// Starts the program from a matching parent, which is returned too; an error is the reason
/// why not. Calls `told` before the program begins.
pub(crate) fn apply(
    wish: &Wish<'_>,
    inherited: &Inherited,
    told: &dyn Fn(&str),
) -> Result<(Program, Parent), Why> {
    let began = Instant::now();
    let prefix = crate::identity::name(&wish.identity.whole);
    let mut why = String::from("there is no warm parent yet");
    for parent in parents(&wish.places.run, &prefix) {
        if parent.identity != wish.identity.whole {
            continue;
        }
        if let Err(differs) =
            parent.suits(&inherited.environment, wish.arguments(), &wish.terminals)
        {
            why = differs;
            continue;
        }
        if parent.needs_streams() && !inherited.has_streams() {
            why = "one of its standard streams is closed".into();
            continue;
        }
        if let Some(standbys) = wish.standbys {
            match from_standby(&parent, standbys, wish, inherited, told, began) {
                Ok(program) => return Ok((program, parent)),
                Err(differs) if wish.strictly => {
                    why = format!("no standby: {differs}");
                    continue;
                }
                Err(why) => told(&format!("no standby: {why}")),
            }
        }
        match ask(&parent, None, wish, inherited, told, began) {
            Ok(program) => {
                if parent.knows_less() && refused(wish).is_none() {
                    // Create a better parent for the next start.
                    let _ = wish.make(false);
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
pub(crate) fn prepare(wish: &Wish<'_>) -> Result<Learns, Refused> {
    let learned = wish.learned();
    if let Some(refused) = refused(wish) {
        return Err(refused);
    }
    let is_known = learned.exists();
    let failed = |why: io::Error| Refused::ForNow(format!("cannot create a warm parent: {why}"));
    wish.make(!is_known).map_err(failed)?;
    Ok(if is_known {
        Learns::No
    } else {
        Learns::Into(learned)
    })
}

/// The reason why there is no parent, and none is created now.
pub(crate) enum Refused {
    /// A parent is being created, or could not be created this time.
    ForNow(Why),
    /// No parent can be created for this program.
    Lasting(Why),
}

/// The reason why a recent attempt failed, or that a parent is being created.
fn refused(wish: &Wish<'_>) -> Option<Refused> {
    let refusal = wish.refusal();
    let age = fs::metadata(&refusal)
        .ok()?
        .modified()
        .ok()?
        .elapsed()
        .ok()?;
    // A parent that has become ready meanwhile has removed the file.
    let why = fs::read_to_string(&refusal).ok()?;
    let is_edited = matches!(&wish.invocation.main, Main::Script(script)
        if modified(script).is_some_and(|edited| modified(&refusal) < Some(edited)));
    if age >= REFUSED_FOR || is_edited || state::is_hidden_no_more(&why) {
        return None;
    }
    Some(match (why.is_empty(), wish.is_being_made()) {
        (false, _) => Refused::Lasting(why),
        (true, true) => {
            let seconds = age.as_secs();
            Refused::ForNow(format!(
                "its warm parent is being created ({seconds} s so far)"
            ))
        }
        (true, false) => Refused::Lasting(
            "its warm parent failed to start; --prepare tries again and reports why".into(),
        ),
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
pub(crate) fn forget(places: &Places, identity: &Identity) {
    for parent in parents(&places.run, "") {
        if parent.identity.starts_with(&identity.program) {
            list::leave(&parent);
        }
    }
    let name = crate::identity::name(&identity.whole);
    let _ = fs::remove_file(places.run.join(name + ".plain"));
}

/// Start the program from a standby of a parent; or why there is none. One that does not
/// answer takes at most half of the patience.
fn from_standby(
    parent: &Parent,
    standbys: &Standbys,
    wish: &Wish<'_>,
    inherited: &Inherited,
    told: &dyn Fn(&str),
    began: Instant,
) -> Result<Program, Why> {
    standbys.known()?;
    let mut why_not = None;
    for waiting in standbys.ready(parent) {
        match ask(parent, Some(&waiting), wish, inherited, told, began) {
            Ok(program) => return Ok(program),
            Err(why) => why_not = Some(why),
        }
    }
    Err(why_not.unwrap_or_else(|| standbys.why_none(parent)))
}

/// Start the program from the parent's spare child, or from a standby. Meanwhile another thread
/// verifies the parent's inputs.
fn ask(
    parent: &Parent,
    standby: Option<&Waiting>,
    wish: &Wish<'_>,
    inherited: &Inherited,
    told: &dyn Fn(&str),
    began: Instant,
) -> Result<Program, Why> {
    std::thread::scope(|scope| {
        let verify = || parent.is_right_for(wish.invocation);
        let verification = move || {
            let verifying = std::thread::Builder::new().spawn_scoped(scope, verify);
            move || match verifying.map(|thread| thread.join()) {
                Ok(Ok(verified)) => verified,
                // The thread could not be started, or panicked.
                Ok(Err(_)) | Err(_) => verify(),
            }
        };
        ask_and_go(parent, standby, wish, inherited, told, began, verification)
    })
}

fn ask_and_go<V: FnOnce() -> Result<(), Why>>(
    parent: &Parent,
    standby: Option<&Waiting>,
    wish: &Wish<'_>,
    inherited: &Inherited,
    told: &dyn Fn(&str),
    began: Instant,
    verification: impl FnOnce() -> V,
) -> Result<Program, Why> {
    let gone = |why: io::Error| {
        if standby.is_some() {
            return format!("another start has taken it ({why})");
        }
        // Nothing listens there any more, or another process does: either is permanent.
        if why.kind() != io::ErrorKind::WouldBlock {
            list::forget(parent);
        }
        format!("the warm parent has exited ({why})")
    };
    let (socket, listener, patience) = match standby {
        Some(it) => (&it.socket, it.process, wish.patience / 2),
        None => (&parent.socket, parent.process, wish.patience),
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
                    "it does not answer".to_owned()
                }
                _ => format!("another start has taken it, or it has exited ({why})"),
            };
        }
        // A suspended parent would not answer the next start either, and a process that
        // breaks the protocol is not a parent of this version.
        let nonsense = why.kind() == io::ErrorKind::InvalidData;
        if nonsense || follow::is_stopped(parent.process as libc::pid_t) {
            list::leave(parent);
        }
        if why.kind() == io::ErrorKind::TimedOut {
            let seconds = wish.patience.as_secs_f64();
            return format!("the warm parent is busy: no answer within {seconds} s (--patience)");
        }
        format!("the warm parent closed the connection ({why})")
    };
    let hello = connection.line().map_err(silent)?;
    if let Some(why) = hello.strip_prefix("no ") {
        return Err(why.to_owned());
    }
    // The process ID of the child, and the number of starts that its parent has served.
    let mut numbers = hello.strip_prefix("hello ").unwrap_or_default().split(' ');
    let child = numbers.next().and_then(|text| text.parse().ok());
    let served: usize = numbers
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let Some(child) = child.and_then(|child| Child::new(child, parent.process)) else {
        if standby.is_none() {
            list::leave(parent);
        }
        return Err(STRANGE.into());
    };
    // Not before the child has answered, which may take long: its inputs could change
    // meanwhile.
    let verified = verification();
    // Check and move the child before anything is sent.
    sandbox::is_shared_with(child.process())?;
    group::join(&[child.supervisor(), child.process()])?;
    let learning = wish.standbys.and_then(Standbys::learning);
    let request = inherited.request(wish.invocation, wish.identity.terminal, learning);
    let asked = connection.send(&request, &inherited.sent());
    asked.map_err(|why| format!("the warm parent closed the connection ({why})"))?;
    // Meanwhile the child gets ready.
    if let Err(why) = verified() {
        if let Some(path) = parent.changed()
            && served < FEW_STARTS
        {
            // If that happens again, the modules that read it are no longer imported ahead.
            let _ = learned::note_changing(&wish.learned(), &path);
        }
        list::leave(parent);
        if state::is_about_hiding(&why) {
            // Another parent would not help either, as long as that module exists.
            let _ = fs::write(wish.refusal(), &why);
        }
        return Err(why);
    }
    let answer = connection.line().map_err(silent)?;
    if answer != "ready" {
        return Err(match answer.strip_prefix("no ") {
            Some(why) => why.to_owned(),
            None => STRANGE.into(),
        });
    }
    let mut program = Program::ready(connection, child, wish.identity.terminal)
        .map_err(|why| format!("signals cannot be forwarded ({why})"))?;
    let from = match standby {
        Some(it) => format!("from the {} standby {}", it.state, it.process),
        None => format!("warm by process {}", parent.process),
    };
    told(&format!(
        "started {from} in {:.1} ms{}",
        began.elapsed().as_secs_f64() * 1e3,
        parent.influenced()
    ));
    // If this fails, the child has exited without running anything.
    let gone = program.go();
    gone.map_err(|why| format!("the child of the warm parent has exited ({why})"))?;
    Ok(program)
}

impl Parent {
    /// Checks that the program would import the same now; an error is the difference.
    fn is_right_for(&self, invocation: &Invocation) -> Result<(), Why> {
        self.is_fresh()?;
        self.is_unset_by_program()?;
        self.is_uninfluenced()?;
        self.is_hidden(&searched_first(invocation))
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
