//! Creates a warm parent before a program is started, from its known imports, which may
//! come from a recording.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::identity::Identity;
use crate::reason::Reason;
use crate::standby::{Standby, Standbys};
use crate::warm_parent::{self, Inherited, ParentRequest};
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
    wished(preparation.command, |mut wish| {
        wish.idle = preparation.idle;
        wish.patience = preparation.limit;
        if let Some(imports) = preparation.imports {
            warm_parent::learn_from(&wish, &imports.names, &imports.files)?;
        }
        let parent = warm_parent::prepare_now(&wish, preparation.limit, preparation.log)?;
        let Some(asked) = preparation.standby else {
            return Ok(());
        };
        let ParentRequest {
            invocation,
            identity,
            directories,
            environment,
            ..
        } = wish;
        let standbys = Standbys::of(asked, invocation, identity, directories, environment);
        standbys
            .prepare(&parent, asked.count)
            .and_then(|()| standbys.wait(&parent, preparation.limit))
            .map_err(|why| Reason::NoStandby(why.into()))
    })
}

/// Stores the imports of a command, so that its first start already has a parent created.
pub fn learn(command: &[OsString], imports: &Imports) -> Result<(), Reason> {
    wished(command, |wish| {
        warm_parent::learn_from(&wish, &imports.names, &imports.files)
    })
}

/// Calls `what` with the request for a parent of a command.
fn wished<R>(
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
        terminals: warm_parent::terminals(),
        bytecode: None,
        idle: DEFAULT_IDLE,
        patience: DEFAULT_PATIENCE,
        standbys: None,
        strictly: false,
    })
}
