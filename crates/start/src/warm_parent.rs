//! The warm parent: a process that has imported what a program imports, and forks a child
//! for each start of it.
//!
//! The trick is where it waits: inside the `sitecustomize` of an interpreter that was
//! started for the very program. A child returns from there, and Python itself runs the
//! program: nothing of that is imitated.
//!
//! [`applies`] says of a command whether it can be; [`apply`] starts it, if a parent is
//! there that is right for it; [`prepare`] has one made for the next start; [`list`]
//! shows what there is, and [`stop`] undoes it. A start is never committed before all is
//! right: the child says that it is ready, and waits; the client looks once more whether
//! anything has changed, and says go, or starts the program plainly instead.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::identity::Identity;
use crate::invocation::{Invocation, Main, Why};
use crate::place::Places;
use crate::standby::Standbys;

mod follow;
mod group;
mod influence;
mod learned;
mod ledger;
mod list;
mod make;
mod now;
mod recorded;
mod request;
mod sandbox;
mod socket;
mod state;
mod trial;
mod variables;
mod waiting;
mod wanted;

pub(crate) use follow::{End, Program, die};

pub(crate) use learned::{Ahead, Learned};
pub(crate) use ledger::terminals;
pub use list::{Running, RunningStandby, list, stop};
pub(crate) use make::{Injected, Wish};
pub(crate) use now::prepare_now;
pub(crate) use recorded::learn_from;
pub(crate) use request::{Inherited, environment};
pub(crate) use sandbox::root;
pub(crate) use variables::Environment;

use follow::Child;
use socket::Connection;
pub(crate) use state::{Parent, parents};
use waiting::Waiting;

/// How long it counts that a parent could not be made.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// A file that changes before its parent has served so many starts may change always.
const FEW_STARTS: usize = 2;

/// Why a parent is not used whose answer makes no sense.
const STRANGE: &str = "the process that answered is not a warm parent of this version";

/// Start the program from a parent that is right for it, which is returned too; or why not.
/// `told` hears of it before the program begins.
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
                Err(why) => told(&format!("no standby: {why}")),
            }
        }
        match ask(&parent, None, wish, inherited, told, began) {
            Ok(program) => {
                if parent.knows_less() && refused(wish).is_none() {
                    // A better one for the next start; this one runs.
                    let _ = wish.make(false);
                }
                return Ok((program, parent));
            }
            Err(said) => why = said,
        }
    }
    Err(why)
}

/// Have a parent made, so that a later start is warm. Says what to start the program with
/// so that it tells what it imports, if that is not known.
pub(crate) fn prepare(wish: &Wish<'_>) -> Result<Learns, Refused> {
    let learned = wish.learned();
    if let Some(refused) = refused(wish) {
        return Err(refused);
    }
    let is_known = learned.exists();
    let failed = |why: io::Error| Refused::ForNow(format!("a warm parent cannot be made: {why}"));
    wish.make(!is_known).map_err(failed)?;
    Ok(if is_known {
        Learns::No
    } else {
        Learns::Into(learned)
    })
}

/// Why there is no parent, and none is made now.
pub(crate) enum Refused {
    /// One is being made, or could not be made this time.
    ForNow(Why),
    /// None can be made for this program.
    Lasting(Why),
}

/// Why no parent could be made not long ago, or that one is being made.
fn refused(wish: &Wish<'_>) -> Option<Refused> {
    let refusal = wish.refusal();
    let age = fs::metadata(&refusal)
        .ok()?
        .modified()
        .ok()?
        .elapsed()
        .ok()?;
    // One that came up meanwhile has removed it.
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
                "its warm parent is being made, for {seconds} s now"
            ))
        }
        (true, false) => Refused::Lasting(
            "its warm parent did not come up; --prepare tries again and says why".into(),
        ),
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Whether a plain start is to tell what it imports.
pub(crate) enum Learns {
    /// It is known.
    No,
    /// Into this file.
    Into(PathBuf),
}

/// All parents of a program leave, and that there can be none is not known any more.
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

/// Start the program from the parent's spare child, or from a standby.
fn ask(
    parent: &Parent,
    standby: Option<&Waiting>,
    wish: &Wish<'_>,
    inherited: &Inherited,
    told: &dyn Fn(&str),
    began: Instant,
) -> Result<Program, Why> {
    let gone = |why: io::Error| {
        if standby.is_some() {
            return format!("another start has taken it ({why})");
        }
        // Nobody listens there any more, or somebody else does, and that will not change.
        if why.kind() != io::ErrorKind::WouldBlock {
            list::forget(parent);
        }
        format!("the warm parent is gone ({why})")
    };
    let (socket, listener, patience) = match standby {
        Some(it) => (&it.socket, it.process, wish.patience / 2),
        None => (&parent.socket, parent.process, wish.patience),
    };
    let mut connection = Connection::open(socket, began + patience).map_err(gone)?;
    if !connection.is_with(listener) {
        return Err(gone(io::Error::other("another process is in its place")));
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
        // One that is stopped will not answer the next start either, and one that talks
        // nonsense is none of ours.
        let nonsense = why.kind() == io::ErrorKind::InvalidData;
        if nonsense || follow::is_stopped(parent.process as libc::pid_t) {
            list::leave(parent);
        }
        if why.kind() == io::ErrorKind::TimedOut {
            let seconds = wish.patience.as_secs_f64();
            return format!("the warm parent is busy: no answer within {seconds} s (--patience)");
        }
        format!("the warm parent broke off ({why})")
    };
    let hello = connection.line().map_err(silent)?;
    if let Some(why) = hello.strip_prefix("no ") {
        return Err(why.to_owned());
    }
    // The child, and how many starts its parent has served.
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
    // Before anything is sent.
    sandbox::is_shared_with(child.process())?;
    group::join(&[child.supervisor(), child.process()])?;
    let learning = wish.standbys.and_then(Standbys::learning);
    let request = inherited.request(wish.invocation, wish.identity.terminal, learning);
    let asked = connection.send(&request, &inherited.sent());
    asked.map_err(|why| format!("the warm parent closed the connection ({why})"))?;
    // The child gets ready in the meantime.
    if let Err(why) = parent.is_right_for(wish.invocation) {
        if let Some(path) = parent.changed()
            && served < FEW_STARTS
        {
            // If that happens again, modules that read it are not imported ahead.
            let _ = learned::note_changing(&wish.learned(), &path);
        }
        list::leave(parent);
        if state::is_about_hiding(&why) {
            // Another would be of no use either, as long as that is there.
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
        .map_err(|why| format!("signals cannot be passed on ({why})"))?;
    let from = match standby {
        Some(it) => format!("from the {} standby {}", it.state, it.process),
        None => format!("warm by process {}", parent.process),
    };
    told(&format!(
        "started {from} in {:.1} ms{}",
        began.elapsed().as_secs_f64() * 1e3,
        parent.influenced()
    ));
    // If this fails the child has gone, and has done nothing.
    let gone = program.go();
    gone.map_err(|why| format!("the warm parent's child is gone ({why})"))?;
    Ok(program)
}

impl Parent {
    /// Whether what it has imported is what the program would import now; or why not.
    fn is_right_for(&self, invocation: &Invocation) -> Result<(), Why> {
        self.is_fresh()?;
        self.is_unset_by_program()?;
        self.is_uninfluenced()?;
        self.is_hidden(&searched_first(invocation))
    }
}

/// The directory that Python searches before all others.
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
