//! Makes a warm parent in the background, now or when a program that is about to be
//! started has ended and told what it imports.
//!
//! Whoever makes it is nobody's child: the program that this process becomes must not
//! find a child that it did not start.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::influence::{INFLUENCES, skeleton};
use super::learned::{Ahead, LIBRARIES, Learned, is_of_libraries};
use super::list::make_room;
use super::trial::{Outcome, Rules, Tracer};
use super::variables::{ALWAYS, Environment};
use crate::background;
use crate::identity::{Identity, name, stamp};
use crate::invocation::{Invocation, Main};
use crate::kept_bytecode;
use crate::place::Places;
use crate::standby::Standbys;

/// The variable by which our `sitecustomize` is told what to do.
const TOLD: &str = "PREHEAT_START";

/// Where the parent finds what it is told, the lock that says that it is being made, where
/// it speaks to its tracer, where it finds its ledger, and where it tells who waits for it
/// how far it is.
const PLAN: RawFd = 3;
const LOCK: RawFd = 4;
const TRACER: RawFd = 5;
const LEDGER: RawFd = 6;
const PROGRESS: RawFd = 7;

/// Longer than it takes to look whether a parent is being made.
const A_LOOK: Duration = Duration::from_millis(5);

/// What a parent is wanted for.
pub(crate) struct Wish<'a> {
    pub invocation: &'a Invocation,
    pub identity: &'a Identity,
    pub places: &'a Places,
    pub environment: &'a Environment,
    /// Standard streams that are terminals.
    pub terminals: Vec<libc::c_int>,
    /// Where bytecode is kept, if it is.
    pub bytecode: Option<&'a Path>,
    /// How long it may be idle.
    pub idle: Duration,
    /// How long a start waits for it before it goes on without.
    pub patience: Duration,
    /// The standbys that it is to have.
    pub standbys: Option<&'a Standbys>,
}

/// Our `sitecustomize`, which Python loads before a program.
pub(crate) struct Injected<'a> {
    pub places: &'a Places,
    /// Where bytecode is kept, if it is.
    pub bytecode: Option<&'a Path>,
}

impl Injected<'_> {
    /// The variables with which Python comes to us first, to do this.
    pub(crate) fn variables(&self, what: &str, rest: &OsStr) -> Vec<(&'static str, OsString)> {
        let theirs = std::env::var_os("PYTHONPATH");
        let mut path = self.places.python.clone().into_os_string();
        let mut told = OsString::from(what);
        told.push(if theirs.is_some() { ":set:" } else { ":unset:" });
        told.push(rest);
        // An empty element would mean the current directory.
        if let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) {
            path.push(":");
            path.push(theirs);
        }
        let mut variables = vec![("PYTHONPATH", path), (TOLD, told)];
        if let Some(directory) = self.bytecode {
            variables.push((kept_bytecode::VARIABLE, directory.into()));
        }
        variables
    }

    /// The variables of a start that has nothing to do for us but to keep its bytecode.
    pub(crate) fn variables_if_needed(&self) -> Vec<(&'static str, OsString)> {
        match self.bytecode {
            Some(_) => self.variables("bytecode", OsStr::new("")),
            None => Vec::new(),
        }
    }
}

impl Wish<'_> {
    /// Where a program of this kind tells what it imports.
    pub(crate) fn learned(&self) -> PathBuf {
        Learned::file(&self.places.kept, &name(&self.identity.program))
    }

    /// Where there is a sentence if no parent can be made.
    pub(crate) fn refusal(&self) -> PathBuf {
        let name = name(&self.identity.whole);
        self.places.run.join(name + ".plain")
    }

    /// What Python is given to come to us first.
    pub(crate) fn injected(&self) -> Injected<'_> {
        Injected {
            places: self.places,
            bytecode: self.bytecode,
        }
    }

    /// The program's own arguments.
    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.invocation.words[self.invocation.leading..]
    }

    /// Have a parent made, at once or when the program that this process becomes has
    /// ended.
    pub(crate) fn make(&self, after_us: bool) -> io::Result<()> {
        let ended = if after_us { Some(handle()?) } else { None };
        self.fork(ended, None)
    }

    /// Have a parent made at once. What is given tells how far it is, in lines, and ends
    /// when it serves or has failed.
    pub(crate) fn make_watched(&self) -> io::Result<File> {
        let (ours, theirs) = pipe()?;
        self.fork(None, Some(theirs))?;
        Ok(ours.into())
    }

    fn fork(&self, ended: Option<OwnedFd>, progress: Option<OwnedFd>) -> io::Result<()> {
        background::run(|| drop(self.in_background(ended, progress)))
    }

    /// In a process of its own: become the parent. Returns if there is to be none.
    fn in_background(&self, ended: Option<OwnedFd>, progress: Option<OwnedFd>) -> io::Result<()> {
        let kept = [&ended, &progress];
        let kept = kept.map(|fd| fd.as_ref().map_or(-1, |fd| fd.as_raw_fd()));
        background::detach(&kept, self.identity.terminal);
        if let Some(ended) = &ended {
            wait(ended);
        }
        // Who waits for a parent also waits for one that somebody else makes.
        let mut lock = self.lock(progress.is_some())?;
        if lock.is_none() {
            // Who only looks has it for an instant.
            std::thread::sleep(A_LOOK);
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
            Err(why) => return fs::write(self.refusal(), why),
        };
        make_room(&self.places.run, &replaced);
        // A parent that could not run the program's first lines is made without them.
        let is_file = matches!(&self.invocation.main, Main::Script(path) if path.is_file());
        let attempts: &[bool] = if is_file { &[true, false] } else { &[false] };
        for &runs_prefix in attempts {
            // It stays if the parent does not come up, which then has not said why.
            fs::write(self.refusal(), "")?;
            let plan = self.plan(&ahead, &replaced, progress.is_some(), runs_prefix);
            match self.trace(&ahead, &lock, progress.as_ref(), &plan)? {
                Outcome::Discarded => {}
                Outcome::Left => {
                    self.prepare_standbys();
                    return Ok(());
                }
                Outcome::Acted(why) => {
                    return fs::write(self.refusal(), format!("one of its modules {why}"));
                }
            }
        }
        Ok(())
    }

    /// In the background, for a parent that comes up.
    fn prepare_standbys(&self) {
        if let Some(standbys) = self.standbys {
            // The next start shows why there is none.
            let _ = standbys.prepare_soon(&|parent| {
                parent.identity == self.identity.whole
                    && parent
                        .suits(self.environment, self.arguments(), &self.terminals)
                        .is_ok()
            });
        }
    }

    /// Start a parent, and trace it until it serves or is gone.
    fn trace(
        &self,
        ahead: &Ahead,
        lock: &File,
        progress: Option<&OwnedFd>,
        plan: &[u8],
    ) -> io::Result<Outcome> {
        let (ours, theirs) = channel()?;
        let ledger = memory(c"preheat-ledger")?;
        // SAFETY: this process has one thread, so that a child may do what it could do.
        let parent = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                drop(ours);
                // Until the tracer has it.
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
                self.places.python.clone(),
                self.places.run.clone(),
                self.places.kept.clone(),
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
            // The child reads the end of the channel, and leaves.
            Err(why) => {
                let why = format!(
                    "imports cannot be traced here (ptrace: {why}), and so not be verified"
                );
                fs::write(self.refusal(), why).map(|()| Outcome::Left)
            }
        }
    }

    /// Whether somebody makes a parent just now.
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
            .open(self.places.run.join(whole + ".lock"))?;
        let how = libc::LOCK_EX | if waits { 0 } else { libc::LOCK_NB };
        // SAFETY: flock takes numbers; the file is open.
        let locked = unsafe { libc::flock(lock.as_raw_fd(), how) } == 0;
        Ok(locked.then_some(lock))
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
            let mut plan_file = memory(c"preheat-plan")?;
            plan_file.write_all(plan)?;
            plan_file.rewind()?;
            let output_file = memory(c"preheat-output")?;
            let error_file = memory(c"preheat-error")?;
            // SAFETY: dup2 takes numbers. First out of the way of the targets, and from
            // there to them, where they stay open over `exec`.
            unsafe {
                let above = |file: &dyn AsRawFd| {
                    let fd = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, PROGRESS + 1);
                    if fd < 0 {
                        Err(io::Error::last_os_error())
                    } else {
                        Ok(fd)
                    }
                };
                let (plan, lock, output) = (above(&plan_file)?, above(lock)?, above(&output_file)?);
                let (error, tracer, ledger) = (above(&error_file)?, above(tracer)?, above(ledger)?);
                let progress = progress.map(|fd| above(fd)).transpose()?;
                // Their own numbers may be the targets, which are not to be closed again.
                std::mem::forget((plan_file, output_file, error_file));
                let moves = [
                    (output, 1),
                    (error, 2),
                    (plan, PLAN),
                    (lock, LOCK),
                    (tracer, TRACER),
                    (ledger, LEDGER),
                ];
                for (from, to) in moves.into_iter().chain(progress.map(|fd| (fd, PROGRESS))) {
                    if libc::dup2(from, to) < 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
            }
            let mut command = Command::new(&self.invocation.interpreter);
            command
                .arg0(&self.invocation.words[0])
                .args(&self.invocation.words[1..self.invocation.leading])
                // It compiles its modules once: files of ours are not among its inputs.
                .envs(
                    Injected {
                        places: self.places,
                        bytecode: None,
                    }
                    .variables("template", OsStr::new(&PLAN.to_string())),
                )
                // A recording is one of the program: the child begins it.
                .env_remove(preheat_wire::variables::DIRECTORY)
                // And so is a GPU.
                .env_remove(preheat_wire::variables::AHEAD);
            Ok(command)
        };
        match prepared() {
            Ok(mut command) => command.exec(),
            Err(why) => why,
        }
    }

    /// What the parent is told: kinds with two values, each ended by a NUL.
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
            ("directory", self.places.run.as_os_str().as_bytes()),
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
        ] {
            // A NUL would begin another field; nothing of these has one.
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
        for root in &ahead.roots {
            put([b"root", root, b""]);
        }
        for prefix in LIBRARIES {
            put([b"library", prefix.as_bytes(), b""]);
        }
        for prefix in ALWAYS {
            put([b"always", prefix.as_bytes(), b""]);
        }
        plan
    }
}

/// A connection that keeps messages whole.
fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: socketpair writes two descriptors, which are owned at once.
    unsafe {
        match libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) {
            0 => Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Its two ends, which `exec` closes.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: pipe2 writes two descriptors, which are owned at once.
    unsafe {
        match libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) {
            0 => Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A file that is nowhere.
fn memory(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a NUL; the new descriptor is owned at once.
    unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        match fd {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

/// By which the end of this process can be seen, whatever it becomes.
fn handle() -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes numbers; the new descriptor is owned at once. It is closed
    // by `exec`.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd as RawFd)),
        }
    }
}

fn wait(ended: &OwnedFd) {
    let mut poll = libc::pollfd {
        fd: ended.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: poll reads and writes one struct.
    while unsafe { libc::poll(&mut poll, 1, -1) } < 1 {}
}
