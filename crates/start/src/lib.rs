//! Starts a command warm, without changing it.
//!
//! The flow: parse the command ([`start`]), load the remedies chosen for it and check which
//! of them apply, then start it from its warm parent and act as its proxy until it exits. If
//! there is no suitable parent, start it plainly by executing it, and prepare the next
//! start. Whatever goes wrong, the command still runs: correctness comes before speed.
//!
//! Each remedy has an `apply` function, which checks that the remedy applies and adds its
//! changes to the start ([`context`]); remedies that only set variables share [`settings`].
//! `warm_parent` and its standbys start programs, and `prefetch` reads files ahead.
//!
//! This crate prints nothing; it reports reasons through a callback.

mod background;
mod chain;
mod context;
mod directories;
mod hint;
mod identity;
mod invocation;
mod kept_bytecode;
pub mod kept_caches;
pub mod measurement;
mod observations;
mod overlapped_init;
mod prefetch;
mod reason;
mod remedy;
mod settings;
mod standby;
mod warm_parent;

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use preheat_launch::{LaunchError, program};

use context::{Changes, StartContext};
use directories::Directories;
use hint::{Advice, Plain};
use identity::Identity;
use invocation::Invocation;
use standby::Standbys;
use warm_parent::{End, Inherited, Learns, Parent, ParentRequest, Refused, RunningProgram};

pub use observations::Observations;
pub use reason::Reason;
pub use remedy::{Remedies, Remedy, form, with_needed};
pub use standby::{Form, MAX_STANDBYS, Standby};
pub use warm_parent::prepare::{Imports, Preparation, learn, prepare};
pub use warm_parent::{Running, RunningStandby, Stopped, list, stop};

/// The default time after which an idle warm parent exits.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(30 * 60);

/// The default time that a start waits for a warm parent.
pub const DEFAULT_PATIENCE: Duration = Duration::from_millis(200);

/// A command, with the options for starting it.
pub struct Request<'a> {
    /// The command: a program and its arguments.
    pub command: &'a [OsString],
    /// The idle time after which a newly created warm parent exits.
    pub idle: Duration,
    /// The longest wait for a warm parent before the command is started plainly.
    pub patience: Duration,
    /// The remedies to try; `None` for those chosen by the last measurement.
    pub remedies: Option<Remedies>,
    /// Fail rather than leave out a remedy.
    pub strictly: bool,
    /// The standbys to use and to keep ready.
    pub standby: Option<Standby>,
    /// The Python that a chain of `exec` ended in, if `preheat start` was executed again inside
    /// the chain. The command is then that of this Python.
    pub reached: Option<&'a Path>,
    /// The options to pass to `preheat start` when the chain reaches Python.
    pub chain_options: &'a [OsString],
    /// Called with how the command was started, or why it was not started warm.
    pub log: &'a dyn Fn(&str),
    /// Called the first time that a command is started plainly for a lasting reason, with
    /// the reason and advice.
    pub hint: Option<&'a dyn Fn(&str)>,
}

/// Starts the command. After a warm start, returns its exit status. A plain start replaces
/// this process, so this returns only if the command cannot be executed.
pub fn start(request: &Request<'_>) -> Result<ExitCode, LaunchError> {
    let Some(executed) = request.reached else {
        return start_program(request, &invocation::find(request.command)?);
    };
    let (program, command) = chain::resumed(executed, request.command)?;
    let request = Request {
        command: &command,
        remedies: request.remedies.clone(),
        ..*request
    };
    start_program(&request, &program)
}

fn start_program(
    request: &Request<'_>,
    program: &program::Program,
) -> Result<ExitCode, LaunchError> {
    let prepared = apply_remedies(request, program);
    if let Ok(Prepared {
        left_out: Some(why),
        ..
    }) = &prepared
    {
        reject_if_strict(request, why)?;
    }
    let warm = prepared.and_then(|prepared| warm(request, program, prepared));
    let mut variables = match warm {
        Ok(WarmAttempt::Warm(warm)) => return Ok(finish(*warm)),
        Ok(WarmAttempt::Plain(variables)) => variables,
        Err(plain) => {
            (request.log)(&format!("started plainly: {}", plain.why));
            reject_if_strict(request, &plain.why)?;
            plain.hint(request, program);
            Vec::new()
        }
    };
    variables.extend(overlapped_init::preloaded());
    let executed: Result<Infallible, _> =
        Err(background::exec(&program.path, request.command, &variables));
    match executed? {}
}

/// Handles a remedy that was left out: an error with [`Request::strictly`].
fn reject_if_strict(request: &Request<'_>, why: &Reason) -> Result<(), LaunchError> {
    match request.strictly {
        true => Err(LaunchError::Failed(format!("a remedy was left out: {why}"))),
        false => Ok(()),
    }
}

/// A command after its remedies were applied, ready to be started warm.
struct Prepared {
    /// The titles of the remedies that were applied.
    applied: Vec<String>,
    /// The reason why the first remedy was left out.
    left_out: Option<Reason>,
    invocation: Result<Invocation, Reason>,
    directories: Directories,
    remedies: Remedies,
    /// The directory where the start keeps its bytecode, if it does.
    bytecode: Option<PathBuf>,
}

/// Applies the remedies that change the environment: the environment of this process becomes
/// that of the start.
fn apply_remedies(request: &Request<'_>, program: &program::Program) -> Result<Prepared, Plain> {
    // A static launcher can be followed to the program that it starts.
    if let Some(why) = &program.unrecorded
        && !chain::may_become_python(program)
    {
        return Err(Advice::Command.on(Reason::Unrecorded(why.clone())));
    }
    let invocation = invocation::read(request.command, &program.path);
    let directories =
        directories::find().map_err(|why| Advice::Process.on(Reason::NoDirectory(why.into())))?;
    let name = identity::name_of(&invocation, &program.path);
    let mut remedies = match &request.remedies {
        Some(remedies) => remedies.clone(),
        None => remedy::read_decision(&directories.kept, &name).unwrap_or_else(remedy::unmeasured),
    };
    remedies = with_needed(remedies);
    // A user who names a cache directory wants caches to be kept there.
    if request.remedies.is_none() && kept_caches::is_named(&|name| std::env::var_os(name)) {
        remedies.insert(Remedy::KeptCaches);
        if invocation.is_ok() {
            remedies.insert(Remedy::KeptBytecode);
        }
    }
    let observed = Observations::read(&directories.kept, &name);
    let mut changes = Changes::default();
    let mut left_out = None;
    let environment = warm_parent::environment().map_err(|why| Advice::Process.on(why))?;
    let context = StartContext {
        program: &program.path,
        command: request.command,
        environment: &environment,
        directories: &directories,
        observations: observed.as_ref(),
    };
    let mut applied = Vec::new();
    for remedy in &remedies {
        match apply(*remedy, &context, &mut changes) {
            Ok(()) => applied.push(remedy.title()),
            Err(why) => {
                let why = Reason::NoRemedy(remedy.title(), why.into());
                (request.log)(&why.to_string());
                left_out.get_or_insert(why);
            }
        }
    }
    changes.make();
    Ok(Prepared {
        bytecode: changes.bytecode,
        applied,
        left_out,
        invocation,
        directories,
        remedies,
    })
}

/// Adds the changes that a remedy makes to a start; an error is the reason to leave it out.
fn apply(remedy: Remedy, context: &StartContext<'_>, changes: &mut Changes) -> Result<(), Reason> {
    match remedy {
        // The warm parent and its standbys are used by the start itself.
        Remedy::WarmParent | Remedy::StandbyParked | Remedy::StandbyHot => Ok(()),
        Remedy::LazyLoading => settings::lazy_loading(context, changes),
        Remedy::LoaderThreads => settings::loader_threads(context, changes),
        Remedy::Allocator => settings::allocator(context, changes),
        Remedy::KeptCaches => kept_caches::apply(context, changes),
        Remedy::KeptBytecode => {
            changes.bytecode = Some(kept_bytecode::apply(context)?);
            Ok(())
        }
        Remedy::OverlappedInit => overlapped_init::apply(context, changes),
        Remedy::Prefetch => prefetch::apply(context),
    }
}

/// A program that was started warm and is running.
struct Warm {
    program: RunningProgram,
    inherited: Inherited,
    /// The parent that it comes from.
    parent: Parent,
    /// The standbys that it is to have when the program has ended.
    standbys: Option<Standbys>,
}

enum WarmAttempt {
    Warm(Box<Warm>),
    Plain(Vec<(&'static str, OsString)>),
}

/// Starts the command from its warm parent, or has one created for the next start.
fn warm(
    request: &Request<'_>,
    program: &program::Program,
    prepared: Prepared,
) -> Result<WarmAttempt, Plain> {
    if !prepared.remedies.contains(&Remedy::WarmParent) {
        (request.log)(&match (&prepared.applied[..], &request.remedies) {
            ([], Some(_)) => "started plainly, as requested".to_owned(),
            ([], None) => "started plainly: no remedy helped when it was measured".to_owned(),
            (applied, _) => format!("started with {}", applied.join(" and ")),
        });
        let python = warm_parent::Injected {
            directories: &prepared.directories,
            bytecode: prepared.bytecode.as_deref(),
        };
        return Ok(WarmAttempt::Plain(python.variables_if_needed()));
    }
    let invocation = match prepared.invocation {
        Ok(invocation) => invocation,
        Err(why) if request.reached.is_some() || !chain::may_become_python(program) => {
            return Err(Advice::Command.on(why));
        }
        Err(_) => return follow_chain(request, program),
    };
    let of_process = |why| Advice::Process.on(why);
    let inherited = Inherited::capture().map_err(of_process)?;
    let identity = Identity::of(&invocation).map_err(of_process)?;
    let decided = form(&prepared.remedies).map(|form| Standby { form, count: 1 });
    let standbys = request.standby.or(decided).map(|asked| {
        let environment = &inherited.environment;
        Standbys::of(
            asked,
            &invocation,
            &identity,
            &prepared.directories,
            environment,
        )
    });
    let parent_request = ParentRequest {
        invocation: &invocation,
        identity: &identity,
        directories: &prepared.directories,
        environment: &inherited.environment,
        terminals: warm_parent::terminals(),
        bytecode: prepared.bytecode.as_deref(),
        idle: request.idle,
        patience: request.patience,
        standbys: standbys.as_ref(),
        strictly: request.strictly,
    };
    match warm_parent::apply(&parent_request, &inherited, request.log) {
        Ok((program, parent)) => Ok(WarmAttempt::Warm(Box::new(Warm {
            program,
            parent,
            inherited,
            standbys,
        }))),
        Err(why) if request.strictly => Err(Plain::for_now(why)),
        Err(why) => {
            let learns =
                warm_parent::prepare(&parent_request).map_err(|refused| match refused {
                    Refused::ForNow(why) => Plain::for_now(why),
                    Refused::Lasting(why) => Advice::Program.on(why),
                })?;
            let why = match why {
                Reason::NoParent if identity.terminal => Reason::NoParentHere,
                why => why,
            };
            (request.log)(&format!("started plainly: {why}"));
            Ok(WarmAttempt::Plain(match learns {
                Learns::No => parent_request.injected().variables_if_needed(),
                Learns::Into(path) => {
                    let mut variables = parent_request
                        .injected()
                        .variables("learn", path.as_os_str());
                    let learning = standbys.as_ref().and_then(Standbys::learning);
                    variables.extend(learning.map(|value| (standby::VARIABLE, value)));
                    variables
                }
            }))
        }
    }
}

/// Executes the command with variables that make the Python it turns into call
/// `preheat start` again.
fn follow_chain(request: &Request<'_>, program: &program::Program) -> Result<WarmAttempt, Plain> {
    let shown = program.path.display();
    let path = || program.path.clone();
    let variables = chain::variables(request).map_err(|why| {
        Advice::Command.on(Reason::NotFollowed {
            path: path(),
            why: why.into(),
        })
    })?;
    if request.strictly {
        return Err(Plain::for_now(Reason::NotPython(path())));
    }
    (request.log)(&format!(
        "{shown} is not Python; if it executes Python, that is started warm where possible"
    ));
    Ok(WarmAttempt::Plain(variables))
}

/// Checks that the command can be started from a warm parent; an error is the reason why not.
pub fn serves(command: &[OsString]) -> Result<(), Reason> {
    let program = invocation::find(command)?;
    if let Some(why) = &program.unrecorded {
        return Err(Reason::Unrecorded(why.clone()));
    }
    match invocation::read(command, &program.path) {
        Ok(_) => Ok(()),
        Err(_) if chain::may_become_python(&program) => Ok(()),
        Err(why) => Err(why),
    }
}

/// A command, and where its observations, decisions and imports are stored.
pub struct CommandState {
    program: PathBuf,
    command: Vec<OsString>,
    directories: Directories,
    name: String,
    /// The reason why the command is not run by a Python that can be forked, if so.
    python_check: Result<(), Reason>,
}

impl CommandState {
    /// Finds the command, as started from the working directory.
    pub fn of(command: &[OsString]) -> Result<CommandState, LaunchError> {
        let program = invocation::find(command)?;
        let directories = directories::find().map_err(|why| {
            LaunchError::Failed(format!("no directory can be used for stored state: {why}"))
        })?;
        let invocation = invocation::read(command, &program.path);
        let name = identity::name_of(&invocation, &program.path);
        Ok(CommandState {
            directories,
            name,
            python_check: match program.unrecorded {
                Some(why) => Err(Reason::Unrecorded(why)),
                None => invocation.map(|_| ()),
            },
            program: program.path,
            command: command.to_vec(),
        })
    }

    /// All remedies, with the reasons why some do not apply to the command.
    pub fn applicable(&self, command: &[OsString]) -> Vec<(Remedy, Result<(), Reason>)> {
        let observed = Observations::read(&self.directories.kept, &self.name);
        let environment = warm_parent::environment().unwrap_or_default();
        let context = StartContext {
            program: &self.program,
            command,
            environment: &environment,
            directories: &self.directories,
            observations: observed.as_ref(),
        };
        let applies = |remedy| match (remedy, &self.python_check) {
            (Remedy::WarmParent, Err(why)) => Err(why.clone()),
            (Remedy::StandbyParked | Remedy::StandbyHot, Err(why)) => Err(why.clone()),
            (Remedy::StandbyParked | Remedy::StandbyHot, Ok(())) => settings::uses_cuda(&context),
            // After the recorded start everything is cached; a colder start may find less.
            (Remedy::Prefetch, _) => prefetch::applies(&context).map(|_| ()),
            _ => apply(remedy, &context, &mut Changes::default()),
        };
        let all = Remedy::ALL.into_iter();
        all.map(|remedy| (remedy, applies(remedy))).collect()
    }

    /// The environment variables that a remedy sets for the command; none for remedies that
    /// are more than settings.
    pub fn variables(&self, remedy: Remedy) -> Vec<(String, String)> {
        let settings = [
            Remedy::LazyLoading,
            Remedy::LoaderThreads,
            Remedy::Allocator,
        ];
        let mut changes = Changes::default();
        if settings.contains(&remedy) {
            let observed = Observations::read(&self.directories.kept, &self.name);
            let environment = warm_parent::environment().unwrap_or_default();
            let context = StartContext {
                program: &self.program,
                command: &self.command,
                environment: &environment,
                directories: &self.directories,
                observations: observed.as_ref(),
            };
            // A remedy that does not apply sets nothing.
            let _ = apply(remedy, &context, &mut changes);
        }
        let text = |value: OsString| value.to_string_lossy().into_owned();
        (changes.variables.into_iter())
            .map(|(name, value)| (name.to_owned(), text(value)))
            .collect()
    }

    /// Stores the observations of a recorded start, which had the environment of this
    /// process.
    pub fn observe(&self, observed: &Observations) -> io::Result<()> {
        let environment = warm_parent::environment().map_err(io::Error::other)?;
        let context = StartContext {
            program: &self.program,
            command: &self.command,
            environment: &environment,
            directories: &self.directories,
            observations: None,
        };
        let observed = Observations {
            conditions: overlapped_init::observed_with(&context, observed),
            ..observed.clone()
        };
        observed.write(&self.directories.kept, &self.name)
    }

    /// Stores the remedies to use from now on.
    pub fn decide(&self, remedies: &Remedies) -> io::Result<()> {
        remedy::write_decision(&self.directories.kept, &self.name, remedies)
    }

    /// Deletes all of it, and stops the warm parents of the command.
    pub fn forget(&self) -> io::Result<()> {
        if let Ok(invocation) = invocation::read(&self.command, &self.program) {
            let identity = Identity::of(&invocation).map_err(io::Error::other)?;
            warm_parent::forget(&self.directories, &identity);
        }
        for ending in [
            "seen",
            "decision",
            "modules",
            "standby",
            "standby.forks",
            hint::ENDING,
        ] {
            let path = self
                .directories
                .kept
                .join(format!("{}.{ending}", self.name));
            match fs::remove_file(path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Acts as the proxy of a running program, and exits the way it does. All standbys but one are
/// prepared at once. The last one is prepared after the program has exited, since it would
/// compete with the program for device memory.
fn finish(warm: Warm) -> ExitCode {
    let prepare = |count: usize| {
        if let Some(standbys) = &warm.standbys
            && count > 0
        {
            // The next start shows why there is none.
            let _ = background::run(|| drop(standbys.prepare(&warm.parent, count)));
        }
    };
    let count = warm.standbys.as_ref().map_or(0, |it| it.asked.count);
    prepare(count.saturating_sub(1));
    let end = warm.program.follow(&warm.inherited.descriptors);
    prepare(count);
    match end {
        End::Code(code) => ExitCode::from((code & 0xff) as u8),
        End::Signal(signal) => {
            warm_parent::die(signal);
            ExitCode::from((128 + signal) as u8)
        }
        End::Unknown => ExitCode::from(125),
    }
}
