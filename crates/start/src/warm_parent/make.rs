//! Creates a warm parent in the background, at once or after the program that is about to
//! start has exited and recorded its imports.
//!
//! The process that creates it is reparented to init: the program that this process executes
//! must not find a child that it did not start.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::influence::{HARMLESS, INFLUENCES, skeleton};
use super::learned::{Ahead, LIBRARIES, Learned, is_of_libraries};
use super::list::make_room;
use super::state::Parent;
use super::trial::{Outcome, Rules, Tracer};
use super::variables::{ALWAYS, Environment};
use crate::background;
use crate::directories::Directories;
use crate::identity::{Identity, NAMESPACES, STATUS, name, stamp};
use crate::invocation::{Invocation, Main};
use crate::kept_bytecode;
use crate::reason::Reason;
use crate::standby::Standbys;

/// The variable that passes instructions to our `sitecustomize`.
const INSTRUCTION: &str = "PREHEAT_START";

/// The descriptors of the parent: its plan, the lock that is held while it is being created,
/// the socket of its tracer, its ledger, and the pipe for progress messages.
const PLAN: RawFd = 3;
const LOCK: RawFd = 4;
const TRACER: RawFd = 5;
const LEDGER: RawFd = 6;
const PROGRESS: RawFd = 7;

/// Longer than a check for a held lock takes.
const LOCK_CHECK: Duration = Duration::from_millis(5);

/// A request for a warm parent.
pub(crate) struct ParentRequest<'a> {
    pub invocation: &'a Invocation,
    pub identity: &'a Identity,
    pub directories: &'a Directories,
    pub environment: &'a Environment,
    /// Standard streams that are terminals.
    pub terminals: Vec<libc::c_int>,
    /// The directory for kept bytecode, if any.
    pub bytecode: Option<&'a Path>,
    /// The idle time after which the parent exits.
    pub idle: Duration,
    /// The longest wait of a start for the parent.
    pub patience: Duration,
    /// The standbys that it is to have.
    pub standbys: Option<&'a Standbys>,
    /// Start it from a standby or not at all, if there are to be any.
    pub strictly: bool,
}

/// Our `sitecustomize`, which Python loads before a program.
pub(crate) struct Injected<'a> {
    pub directories: &'a Directories,
    /// The directory for kept bytecode, if any.
    pub bytecode: Option<&'a Path>,
}

impl Injected<'_> {
    /// The variables that make Python load our `sitecustomize` first, with an instruction.
    pub(crate) fn variables(&self, what: &str, rest: &OsStr) -> Vec<(&'static str, OsString)> {
        let theirs = std::env::var_os("PYTHONPATH");
        let mut path = self.directories.python.clone().into_os_string();
        let mut instruction = OsString::from(what);
        instruction.push(if theirs.is_some() { ":set:" } else { ":unset:" });
        instruction.push(rest);
        // An empty element would mean the current directory.
        if let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) {
            path.push(":");
            path.push(theirs);
        }
        let mut variables = vec![("PYTHONPATH", path), (INSTRUCTION, instruction)];
        if let Some(directory) = self.bytecode {
            variables.push((kept_bytecode::VARIABLE, directory.into()));
        }
        variables
    }

    /// The variables of a plain start, which needs our `sitecustomize` only for bytecode.
    pub(crate) fn variables_if_needed(&self) -> Vec<(&'static str, OsString)> {
        match self.bytecode {
            Some(_) => self.variables("bytecode", OsStr::new("")),
            None => Vec::new(),
        }
    }
}

impl ParentRequest<'_> {
    /// The file into which the program records its imports.
    pub(crate) fn learned(&self) -> PathBuf {
        Learned::file(&self.directories.kept, &name(&self.identity.program))
    }

    /// The file with the reason why no parent can be created; empty while one is being
    /// created.
    pub(crate) fn refusal(&self) -> PathBuf {
        let name = name(&self.identity.whole);
        self.directories.run.join(name + ".plain")
    }

    /// Our `sitecustomize`, for this start.
    pub(crate) fn injected(&self) -> Injected<'_> {
        Injected {
            directories: self.directories,
            bytecode: self.bytecode,
        }
    }

    /// The arguments of the program.
    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.invocation.words[self.invocation.leading..]
    }

    /// Checks that a parent was created in the same circumstances, as far as they matter.
    pub(crate) fn is_suited_by(&self, parent: &Parent) -> Result<(), Reason> {
        if !self.has_keyring_of(parent) {
            return Err(Reason::OtherKeyring);
        }
        parent.suits(self.environment, self.arguments(), &self.terminals)
    }

    /// Returns true if this process has the session keyring of a parent.
    pub(crate) fn has_keyring_of(&self, parent: &Parent) -> bool {
        self.identity.keyring == parent.keyring
    }

    /// Has a parent created, at once or after the program that this process executes has
    /// exited.
    pub(crate) fn make(&self, after_us: bool) -> io::Result<()> {
        let handle = || pidfd_open(getpid(), PidfdFlags::empty());
        let ended = after_us.then(handle).transpose()?;
        self.fork(ended, None)
    }

    /// Has a parent created at once. The returned pipe delivers progress messages, and closes
    /// when the parent is ready or has failed.
    pub(crate) fn make_watched(&self) -> io::Result<File> {
        let (ours, theirs) = io::pipe()?;
        self.fork(None, Some(theirs.into()))?;
        Ok(OwnedFd::from(ours).into())
    }

    fn fork(&self, ended: Option<OwnedFd>, progress: Option<OwnedFd>) -> io::Result<()> {
        background::run(|| drop(self.in_background(ended, progress)))
    }

    /// Starts and traces the parent; runs in a separate process.
    fn in_background(&self, ended: Option<OwnedFd>, progress: Option<OwnedFd>) -> io::Result<()> {
        let kept = [&ended, &progress];
        let kept = kept.map(|fd| fd.as_ref().map_or(-1, |fd| fd.as_raw_fd()));
        background::detach(&kept, self.identity.terminal);
        if let Some(ended) = &ended {
            wait(ended);
            // The program may have run for days.
            self.directories.check_code()?;
        }
        // With --prepare, also wait for a parent that another process is creating.
        let mut lock = self.lock(progress.is_some())?;
        if lock.is_none() {
            // A process that only checks the lock holds it for an instant.
            std::thread::sleep(LOCK_CHECK);
            lock = self.lock(false)?;
        }
        let Some(lock) = lock else {
            return Ok(());
        };
        let Some(replaced) = self.wanted()? else {
            return Ok(());
        };
        let Some(learned) = Learned::read(&self.learned()) else {
            return Ok(());
        };
        let ahead = match learned.ahead(&self.invocation.main) {
            Ok(ahead) => ahead,
            Err(why) => return fs::write(self.refusal(), why.stored()),
        };
        make_room(&self.directories.run, &replaced);
        // If a parent could not run the program's first lines, create one without them.
        let is_file = matches!(&self.invocation.main, Main::Script(path) if path.is_file());
        let attempts: &[bool] = if is_file { &[true, false] } else { &[false] };
        for &runs_prefix in attempts {
            // The empty file remains if the parent fails to start without a reason.
            fs::write(self.refusal(), "")?;
            let plan = self.plan(&ahead, &replaced, progress.is_some(), runs_prefix);
            match self.trace(&ahead, &lock, progress.as_ref(), &plan)? {
                Outcome::Discarded => {}
                Outcome::Detached => {
                    self.prepare_standbys();
                    return Ok(());
                }
                Outcome::Acted(why) => {
                    return fs::write(self.refusal(), Reason::Acted(why).stored());
                }
            }
        }
        Ok(())
    }

    /// Prepares standbys in the background, for a parent that is being created.
    fn prepare_standbys(&self) {
        if let Some(standbys) = self.standbys {
            // The next start shows why there is none.
            let _ = standbys.prepare_soon(&|parent| {
                parent.identity == self.identity.whole && self.is_suited_by(parent).is_ok()
            });
        }
    }

    /// Starts a parent, and traces it until it is ready or has exited.
    fn trace(
        &self,
        ahead: &Ahead,
        lock: &File,
        progress: Option<&OwnedFd>,
        plan: &[u8],
    ) -> io::Result<Outcome> {
        // It preserves the boundaries of messages.
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let ledger = memory("preheat-ledger")?;
        // rustix leaves forks to the C library.
        // SAFETY: this process has one thread, so a forked child may do anything that it may.
        let parent = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                drop(ours);
                // Wait until the tracer is attached.
                let mut byte = [0];
                File::from(theirs.try_clone()?).read_exact(&mut byte)?;
                return Err(self.become_parent(lock, &theirs, &ledger, progress, plan));
            }
            parent => parent,
        };
        drop(theirs);
        let rules = Rules {
            channel: TRACER,
            terminals: self.terminals.clone(),
            own: vec![
                self.directories.python.clone(),
                self.directories.run.clone(),
                self.directories.kept.clone(),
            ],
            roots: &ahead.roots,
            sets: &ahead.sets,
            varies: &ahead.varies,
            changing: &ahead.changing,
            environment: self.environment,
        };
        let mut go = File::from(ours.try_clone()?);
        let traced = Tracer::attach(parent, ours, ledger, rules);
        let traced = traced.and_then(|tracer| go.write_all(b"g").map(|()| tracer));
        drop(go);
        match traced.map(Tracer::follow) {
            Ok(outcome) => Ok(outcome),
            // The child reads the end of the channel, and exits.
            Err(why) => {
                let why = Reason::Untraceable(why.into());
                fs::write(self.refusal(), why.stored()).map(|()| Outcome::Detached)
            }
        }
    }

    /// Returns true while a process is creating a parent.
    pub(crate) fn is_being_made(&self) -> bool {
        self.lock(false).is_ok_and(|lock| lock.is_none())
    }

    fn lock(&self, waits: bool) -> io::Result<Option<File>> {
        let whole = name(&self.identity.whole);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.directories.run.join(whole + ".lock"))?;
        let is_locked = match waits {
            true => lock.lock().is_ok(),
            false => lock.try_lock().is_ok(),
        };
        Ok(is_locked.then_some(lock))
    }

    fn become_parent(
        &self,
        lock: &File,
        tracer: &OwnedFd,
        ledger: &File,
        progress: Option<&OwnedFd>,
        plan: &[u8],
    ) -> io::Error {
        let prepared = || -> io::Result<Command> {
            let mut plan_file = memory("preheat-plan")?;
            plan_file.write_all(plan)?;
            plan_file.rewind()?;
            let output_file = memory("preheat-output")?;
            let error_file = memory("preheat-error")?;
            // They are first moved above the targets, and then to the targets, where they stay
            // open across `exec`.
            let above = |file: BorrowedFd<'_>| fcntl_dupfd_cloexec(file, PROGRESS + 1);
            let mut moves = vec![
                (above(output_file.as_fd())?, 1),
                (above(error_file.as_fd())?, 2),
                (above(plan_file.as_fd())?, PLAN),
                (above(lock.as_fd())?, LOCK),
                (above(tracer.as_fd())?, TRACER),
                (above(ledger.as_fd())?, LEDGER),
            ];
            if let Some(progress) = progress {
                moves.push((above(progress.as_fd())?, PROGRESS));
            }
            // Their numbers may be those of the targets, so they must not be closed.
            std::mem::forget((plan_file, output_file, error_file));
            for (from, to) in &moves {
                // Not by rustix, whose `dup2` takes the owner of the target.
                // SAFETY: dup2 takes numbers. From here on this process only executes the
                // interpreter, or exits; it uses nothing that had the number of a target.
                if unsafe { libc::dup2(from.as_raw_fd(), *to) } < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            let mut command = Command::new(&self.invocation.interpreter);
            command
                .arg0(&self.invocation.words[0])
                .args(&self.invocation.words[1..self.invocation.leading])
                // A parent compiles its modules once; kept bytecode would be another input.
                .envs(
                    Injected {
                        directories: self.directories,
                        bytecode: None,
                    }
                    .variables("template", OsStr::new(&PLAN.to_string())),
                )
                // Recording and GPU initialization begin in the child.
                .env_remove(preheat_wire::variables::DIRECTORY)
                .env_remove(preheat_wire::variables::AHEAD);
            Ok(command)
        };
        // Just before, so that there is little time to replace it.
        match prepared().and_then(|command| self.directories.check_code().map(|()| command)) {
            Ok(mut command) => command.exec(),
            Err(why) => why,
        }
    }

    /// The plan for the parent: records of a name and two values, each terminated by a NUL.
    fn plan(
        &self,
        ahead: &Ahead,
        replaced: &[PathBuf],
        is_watched: bool,
        runs_prefix: bool,
    ) -> Vec<u8> {
        let mut plan = Vec::new();
        let mut put = |fields: [&[u8]; 3]| {
            for field in fields {
                plan.extend_from_slice(field);
                plan.push(0);
            }
        };
        let program: Vec<String> = self.invocation.words[..self.invocation.leading]
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let here = std::env::current_dir().unwrap_or_default();
        let terminal = if self.identity.terminal { "yes" } else { "no" };
        for (kind, value) in [
            ("directory", self.directories.run.as_os_str().as_bytes()),
            ("name", name(&self.identity.whole).as_bytes()),
            ("identity", &self.identity.whole),
            ("program", program.join(" ").as_bytes()),
            ("place", here.as_os_str().as_bytes()),
            ("began", began.as_secs().to_string().as_bytes()),
            ("idle", self.idle.as_secs_f64().to_string().as_bytes()),
            ("terminal", terminal.as_bytes()),
            ("lock", LOCK.to_string().as_bytes()),
            ("tracer", TRACER.to_string().as_bytes()),
            ("ledger", LEDGER.to_string().as_bytes()),
            ("process-name", self.invocation.name.as_bytes()),
            ("keyring", self.identity.keyring.as_bytes()),
        ] {
            // None of these contain a NUL, which would begin another field.
            put([kind.as_bytes(), value, b""]);
        }
        if let Main::Script(script) = &self.invocation.main {
            let script = std::path::absolute(script).unwrap_or_else(|_| script.clone());
            put([b"script", script.as_os_str().as_bytes(), b""]);
        }
        if is_watched {
            put([b"progress", PROGRESS.to_string().as_bytes(), b""]);
        }
        if runs_prefix {
            put([b"prefix", b"yes", b""]);
        }
        let learned = self.learned();
        put([
            b"learned",
            learned.as_os_str().as_bytes(),
            stamp(&learned).as_bytes(),
        ]);
        for path in replaced {
            put([b"replaces", path.as_os_str().as_bytes(), b""]);
        }
        for argument in self.arguments() {
            put([b"argument", argument.as_bytes(), b""]);
        }
        for (name, origin) in &ahead.modules {
            put([b"module", name, origin]);
        }
        for name in &ahead.sets {
            put([b"sets", name, b""]);
        }
        for name in &ahead.varies {
            put([b"varies", name, b""]);
        }
        for name in &ahead.changed {
            let of_libraries: &[u8] = if is_of_libraries(name) { b"yes" } else { b"" };
            put([b"changed", name, of_libraries]);
        }
        for path in &ahead.own {
            let shown = path.as_os_str().as_bytes();
            put([b"own", shown, stamp(path).as_bytes()]);
            put([b"skeleton", shown, skeleton(path).as_bytes()]);
        }
        for name in &ahead.absent {
            put([b"absent", name, b""]);
        }
        match &self.invocation.main {
            Main::Code(code) => put([b"code", code.as_bytes(), b""]),
            Main::Input(content) => put([b"code", content, b""]),
            Main::Script(_) | Main::Module(_) => {}
        }
        if let Some(main) = &ahead.main {
            put([b"main", main.as_os_str().as_bytes(), b""]);
        }
        for (kind, value) in &ahead.facts {
            put([b"fact", kind, value]);
        }
        for name in INFLUENCES {
            put([b"influence", name.as_bytes(), b""]);
        }
        for name in HARMLESS {
            put([b"harmless", name.as_bytes(), b""]);
        }
        for root in &ahead.roots {
            put([b"root", root, b""]);
        }
        for prefix in LIBRARIES {
            put([b"library", prefix.as_bytes(), b""]);
        }
        for prefix in ALWAYS {
            put([b"always", prefix.as_bytes(), b""]);
        }
        // Its children compare these with each client.
        for name in STATUS {
            put([b"status", name.as_bytes(), b""]);
        }
        for name in NAMESPACES {
            put([b"namespace", name.as_bytes(), b""]);
        }
        // Without it, no child of this parent initializes the driver ahead.
        if let Ok(recorder) = preheat_launch::kept_recorder() {
            put([b"recorder", recorder.as_os_str().as_bytes(), b""]);
        }
        plan
    }
}

/// An anonymous file in memory.
fn memory(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

fn wait(ended: &OwnedFd) {
    while !matches!(
        poll(&mut [PollFd::new(ended, PollFlags::IN)], None),
        Ok(1..)
    ) {}
}
