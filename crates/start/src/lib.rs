//! Starts a command warm, without changing it.
//!
//! The flow: read the command ([`start`]) → is there a remedy that applies → start it
//! warm, and stand for it until its end; or start it plainly, by becoming it, and prepare
//! the next start. Whatever goes wrong, the command is started: never wrong rather than
//! fast.
//!
//! Each remedy has a file of its own, and in it the same four things: when it applies,
//! how it is applied, how it is verified, how it is undone. There is one:
//! `warm_parent`.
//!
//! This crate prints nothing; why something was not done is told to whoever asks.

mod identity;
mod invocation;
mod place;
mod plain;
mod prepare;
mod warm_parent;

use std::convert::Infallible;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use identity::Identity;
use preheat_launch::LaunchError;
use warm_parent::{End, Inherited, Learns, Program, Wish};

pub use prepare::{Imports, Preparation, prepare};
pub use warm_parent::{Running, list, stop};

/// How long a warm parent may be idle, where nothing else is asked for.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(30 * 60);

/// How long a start waits for a warm parent, where nothing else is asked for.
pub const DEFAULT_PATIENCE: Duration = Duration::from_millis(200);

/// A command, and how it is to be started.
pub struct Request<'a> {
    /// The command: a program and its arguments.
    pub command: &'a [OsString],
    /// How long a warm parent that is made for it may be idle.
    pub idle: Duration,
    /// How long to wait for a warm parent before the command is started plainly.
    pub patience: Duration,
    /// Told how it was started, or why it was not started warm.
    pub told: &'a dyn Fn(&str),
}

/// Start the command. It returns how it ended if it was started warm; started plainly,
/// this process is the command, and this returns only if it cannot be.
pub fn start(request: &Request<'_>) -> Result<ExitCode, LaunchError> {
    let program = invocation::find(request.command)?;
    let plainly = |variables: plain::Variables<'_>| -> Result<Infallible, LaunchError> {
        Err(plain::exec(&program.path, request.command, variables))
    };
    let found = match program.unrecorded {
        Some(why) => Err(why),
        None => invocation::read(request.command, &program.path),
    };
    let tried = found.and_then(|invocation| {
        let inherited = Inherited::look()?;
        let identity = Identity::of(&invocation);
        let places = place::places().map_err(|why| format!("there is no place for it: {why}"))?;
        let wish = Wish {
            invocation: &invocation,
            identity: &identity,
            places: &places,
            environment: &inherited.environment,
            idle: request.idle,
            patience: request.patience,
        };
        match warm_parent::apply(&wish, &inherited, request.told) {
            Ok(program) => Ok(Tried::Warm(Box::new(program), inherited)),
            Err(why) => {
                let learns = warm_parent::prepare(&wish)?;
                (request.told)(&format!("started plainly: {why}"));
                Ok(Tried::Plain(match learns {
                    Learns::No => Vec::new(),
                    Learns::Into(path) => wish.variables("learn", path.into_os_string()).to_vec(),
                }))
            }
        }
    });
    match tried {
        Ok(Tried::Warm(program, inherited)) => Ok(finish(*program, &inherited)),
        Ok(Tried::Plain(variables)) => match plainly(&variables)? {},
        Err(why) => {
            (request.told)(&format!("started plainly: {why}"));
            match plainly(&[])? {}
        }
    }
}

enum Tried {
    Warm(Box<Program>, Inherited),
    Plain(Vec<(&'static str, OsString)>),
}

/// Stand for a program that runs, and end as it does.
fn finish(program: Program, inherited: &Inherited) -> ExitCode {
    match program.follow(&inherited.descriptors) {
        End::Code(code) => ExitCode::from((code & 0xff) as u8),
        End::Signal(signal) => {
            warm_parent::die(signal);
            ExitCode::from((128 + signal) as u8)
        }
        End::Unknown => ExitCode::from(125),
    }
}
