//! Makes a warm parent before a program is started: from what is known of its imports,
//! which may come from a recording of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::identity::Identity;
use crate::standby::{Standby, Standbys};
use crate::warm_parent::{self, Inherited, Wish};
use crate::{DEFAULT_IDLE, DEFAULT_PATIENCE, invocation, place};

/// What was recorded of a program's imports.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// Names of modules that were imported, without those that failed; in the order in
    /// which their imports ended.
    pub names: Vec<String>,
    /// Files that the program has read, in any order: those of the modules are among them.
    pub files: Vec<PathBuf>,
}

/// For which command a parent is wanted, and how.
pub struct Preparation<'a> {
    /// The command: a program and its arguments.
    pub command: &'a [OsString],
    /// What was recorded of it; without that, what earlier starts have left.
    pub imports: Option<&'a Imports>,
    /// How long the parent may be idle.
    pub idle: Duration,
    /// How long to wait for it.
    pub limit: Duration,
    /// The standbys to prepare and wait for.
    pub standby: Option<Standby>,
    /// Told how far it is.
    pub told: &'a dyn Fn(&str),
}

/// Have a warm parent for a command, and wait until it serves. An error says why there is
/// none: a sentence that goes on from "it is started plainly:".
pub fn prepare(preparation: &Preparation<'_>) -> Result<(), String> {
    wished(preparation.command, |mut wish| {
        wish.idle = preparation.idle;
        wish.patience = preparation.limit;
        if let Some(imports) = preparation.imports {
            warm_parent::learn_from(&wish, &imports.names, &imports.files)?;
        }
        let parent = warm_parent::prepare_now(&wish, preparation.limit, preparation.told)?;
        let Some(asked) = preparation.standby else {
            return Ok(());
        };
        let Wish {
            invocation,
            identity,
            places,
            environment,
            ..
        } = wish;
        let standbys = Standbys::of(asked, invocation, identity, places, environment);
        standbys
            .prepare(&parent, asked.count)
            .and_then(|()| standbys.wait(&parent, preparation.limit))
            .map_err(|why| format!("no standby: {why}"))
    })
}

/// Have it known what a command imports, so that its first start has a parent made.
pub fn learn(command: &[OsString], imports: &Imports) -> Result<(), String> {
    wished(command, |wish| {
        warm_parent::learn_from(&wish, &imports.names, &imports.files)
    })
}

/// Does something with the wish for a parent of a command.
fn wished<R>(
    command: &[OsString],
    what: impl FnOnce(Wish<'_>) -> Result<R, String>,
) -> Result<R, String> {
    let program = invocation::find(command).map_err(|why| why.to_string())?;
    if let Some(why) = program.unrecorded {
        return Err(why);
    }
    let invocation = invocation::read(command, &program.path)?;
    let inherited = Inherited::look()?;
    let identity = Identity::of(&invocation)?;
    let places = place::places()
        .map_err(|why| format!("no directory can be used for warm parents: {why}"))?;
    what(Wish {
        invocation: &invocation,
        identity: &identity,
        places: &places,
        environment: &inherited.environment,
        terminals: warm_parent::terminals(),
        bytecode: None,
        idle: DEFAULT_IDLE,
        patience: DEFAULT_PATIENCE,
        standbys: None,
    })
}
