//! The reasons why a command is started plainly, or a remedy is left out. Each reads as a clause
//! that continues "started plainly:".

use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

use preheat_launch::LaunchError;
use thiserror::Error;

use crate::warm_parent::Changed;

/// Shared, so that reasons can be copied.
type Io = Arc<io::Error>;

/// The reason why a command is started plainly, or a remedy is left out.
#[derive(Clone, Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum Reason {
    // The command.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// As the launcher reports it.
    #[error("{0}")]
    Unrecorded(String),
    #[error("{} is not Python", .0.display())]
    NotPython(PathBuf),
    #[error("{} is a script for {}, not Python: use the Python that it starts", .path.display(), .shell.display())]
    ShellScript { path: PathBuf, shell: PathBuf },
    #[error("{} is not Python, and {why}", .path.display())]
    NotFollowed { path: PathBuf, why: Box<Reason> },
    #[error("it is not followed while it is recorded")]
    Recorded,
    #[error("a path or an option contains a line break")]
    LineBreak,
    #[error("its program, {}, can be read only once", .0.display())]
    ReadOnce(PathBuf),
    #[error("its first line gives options to env")]
    EnvOptions,
    #[error("{} is itself a script", .0.display())]
    NestedScript(PathBuf),
    #[error("its options end with --")]
    OptionsEnd,
    #[error("{0} does not run a program")]
    RunsNothing(String),
    #[error("its last option is incomplete")]
    IncompleteOption,
    #[error("preheat cannot load into Python with -E or -I")]
    Isolated,
    #[error("preheat cannot load into Python with -S")]
    NoSite,
    #[error("-i makes it interactive")]
    Interactive,
    #[error("-v logs every import")]
    Verbose,
    #[error("its program, which is standard input, cannot be read: {0}")]
    InputUnreadable(Io),
    #[error("its program comes from standard input, which is not a file")]
    InputNotFile,
    #[error("its program comes from standard input and is longer than 1 MiB")]
    InputTooLong,

    // The process that starts it.
    #[error("/proc cannot be read: {0}")]
    Proc(Io),
    #[error("no directory for warm parents (XDG_RUNTIME_DIR, TMPDIR, /tmp) can be used: {0}")]
    NoDirectory(Io),
    #[error(
        "it is process 1, which adopts orphaned processes; a container engine can run an init process before it (--init)"
    )]
    ProcessOne,
    #[error("it adopts orphaned processes (PR_SET_CHILD_SUBREAPER)")]
    Adopts,
    #[error("its children are created in another namespace (unshare)")]
    ChildrenElsewhere,
    #[error("it has children, which another process could not wait for")]
    HasChildren,
    #[error("its working directory cannot be opened: {0}")]
    WorkingDirectory(Io),
    #[error("{0} descriptors are open")]
    ManyDescriptors(usize),
    #[error("{0} variables are set")]
    ManyVariables(usize),
    #[error("it holds a lock on the file of descriptor {0}, which another process cannot hold")]
    HoldsLock(libc::c_int),
    #[error("an interval timer is running")]
    IntervalTimer,
    #[error("a service manager expects messages from this process (NOTIFY_SOCKET)")]
    ServiceManager,
    #[error("its environment has a duplicate or nameless entry")]
    StrangeEnvironment,
    #[error("one of its standard streams is closed")]
    StreamClosed,
    #[error("it has a system call filter that process 1 does not have")]
    Filtered,
    #[error(
        "it has a system call filter, which can only be compared with that of process 1, and \
         process 1 may be in another container"
    )]
    FirstElsewhere,
    #[error("it is traced (strace, a debugger), and the tracer would not see the program")]
    Traced,

    // Privileges and control groups of the warm parent.
    #[error("{0} of the warm parent cannot be read in this sandbox ({1})")]
    Unreadable(&'static str, Io),
    #[error("the warm parent has another root directory")]
    OtherRoot,
    #[error("{0} of the warm parent differs")]
    Differs(&'static str),
    #[error("the warm parent has another {0}")]
    OtherNamespace(&'static str),
    #[error("the warm parent has another session keyring")]
    OtherKeyring,
    #[error("the control groups cannot be read: {0}")]
    Groups(Io),
    #[error("the warm parent is in another control group and cannot be moved to this one")]
    OtherGroup,

    // Creating a warm parent.
    #[error("there is no warm parent yet")]
    NoParent,
    /// Each `docker exec -t` has another terminal, and so has each login.
    #[error("there is no warm parent yet in the session of this terminal")]
    NoParentHere,
    #[error("cannot create a warm parent: {0}")]
    CannotCreate(Io),
    #[error("its warm parent is being created ({0} s so far)")]
    BeingCreated(u64),
    #[error("its warm parent is not ready after {0:.0} s; it is still being created")]
    NotReady(f64),
    #[error("its warm parent failed to start")]
    FailedToStart,
    #[error("its warm parent failed to start; --prepare tries again and reports why")]
    FailedBefore,
    #[error("its imports are unknown until it has been started once")]
    Unlearned,
    #[error("the recording contains no imports")]
    NoImports,
    #[error("its imports cannot be stored: {0}")]
    ImportsUnstored(Io),
    #[error("it uses {0}, which must be imported before the modules that it changes")]
    ChangesModules(String),
    #[error("its imports cannot be verified, because ptrace failed ({0})")]
    Untraceable(Io),
    /// An act of a module, as the tracer describes it.
    #[error("one of its modules {0}")]
    Acted(String),
    /// Those of cron jobs and logins, for example.
    #[error(
        "its starts have different session keyrings, and no start could use the warm parents of \
         earlier ones"
    )]
    KeyringsDiffer,
    #[error("{0}, and earlier parents did not match any start either")]
    NeverMatches(Box<Reason>),
    /// A refusal that an earlier process has stored, see [`Reason::stored`].
    #[error("{0}")]
    Stored(String),

    // A warm parent that does not match.
    #[error("its modules read its arguments, which have changed")]
    ArgumentsChanged,
    #[error("{0} has a different value in the warm parent")]
    VariableChanged(String),
    #[error(
        "descriptor {0} is a terminal now; it was not when the warm parent was created, and the \
         imports check it"
    )]
    Terminal(libc::c_int),
    #[error(transparent)]
    Changed(#[from] Changed),
    #[error("the metadata of packages in {} has changed", .0.display())]
    MetadataChanged(PathBuf),
    #[error("the program now mentions {0}, which its imports read")]
    NowMentions(String),
    #[error("code in {} that imports may depend on has changed", .0.display())]
    CodeChanged(PathBuf),
    #[error("{} shadows an installed module", .0.display())]
    Shadows(PathBuf),

    // A warm parent or standby that does not answer.
    #[error("the warm parent has exited ({0})")]
    Exited(Io),
    #[error("the warm parent is busy: no answer within {0} s (--patience)")]
    Busy(f64),
    #[error("the warm parent closed the connection ({0})")]
    Closed(Io),
    #[error("the warm parent does not answer ({0})")]
    Silent(Io),
    #[error("another process is in the place of the warm parent")]
    Replaced,
    #[error("the process that answered is not a warm parent of this version")]
    Strange,
    #[error("signals cannot be forwarded ({0})")]
    NoSignals(Io),
    #[error("the child of the warm parent has exited ({0})")]
    ChildExited(Io),
    /// The answer of a Python process.
    #[error("{0}")]
    Answered(String),

    // Standbys.
    #[error("no standby: {0}")]
    NoStandby(Box<Reason>),
    #[error("another start has taken it ({0})")]
    Taken(Io),
    #[error("another start has taken it, or it has exited ({0})")]
    TakenOrExited(Io),
    #[error("it does not answer")]
    NoAnswer,
    #[error("it was not observed yet; this start learns its operations")]
    Unobserved,
    #[error("it was not seen to use CUDA")]
    NeverUsesCuda,
    #[error("processes that it forks use the GPU, and would no longer be able to")]
    ForksUseStandby,
    #[error("it is being prepared")]
    BeingPrepared,
    #[error("none is prepared yet")]
    NonePrepared,
    #[error("the waiting standbys have a different form, device, driver or environment")]
    OthersPrepared,
    #[error("its lock cannot be opened: {0}")]
    StandbyLock(Io),
    #[error("it is not ready after {0:.0} s")]
    StandbyNotReady(f64),

    // Preparing a measurement.
    #[error("could not create its warm parent (see above)")]
    ParentNotCreated,
    #[error("it needs the warm parent")]
    NeedsParent,
    #[error("the start that learns its operations failed")]
    NotLearned,
    #[error("could not prepare one (see above)")]
    StandbyNotPrepared,

    // Other remedies.
    #[error("no {0}: {1}")]
    NoRemedy(String, Box<Reason>),
    #[error("the program has not been measured yet")]
    Unmeasured,
    #[error("the program did not use CUDA when it was measured")]
    UsesNoCuda,
    #[error("the program did not compile anything when it was measured")]
    CompilesNothing,
    #[error("the program did not compile modules when measured")]
    CompilesNoModules,
    #[error("the program read no files when it was measured")]
    ReadsNothing,
    #[error("the files that it reads are already in memory")]
    InMemory,
    #[error("cannot start a background process: {0}")]
    NoBackground(Io),
    #[error("the program did not create the context of exactly one GPU when measured")]
    NotOneGpu,
    #[error("its forked processes use the GPU, and would no longer be able to")]
    ForksUseGpu,
    #[error("the program mentions {0}, and may set it before it initializes the driver")]
    MaySet(String),
    #[error("the program was measured with other arguments")]
    OtherArguments,
    #[error("the program was measured with another value of {0}")]
    OtherValue(String),
    #[error("the driver library that it loaded no longer exists")]
    NoDriver,
    #[error("{0} is already set")]
    AlreadySet(&'static str),
    #[error("the variables of its caches are already set")]
    CachesSet,
    #[error("its source files mention {0}")]
    SourcesMention(&'static str),
    #[error("kernels are already loaded at their first use")]
    AlreadyLazy,
    #[error("there is only one core")]
    OneCore,
    #[error("the program imports neither JAX, TensorFlow nor PyTorch")]
    NoFramework,
    #[error("bytecode is code, and another user could change it: {0}")]
    Untrusted(Io),
    #[error("there is no cache directory: set {0} or HOME")]
    NoCacheDirectory(&'static str),
    #[error("{} contains `..`; use a path without it", .0.display())]
    ParentDirectory(PathBuf),
    #[error("{}: {why}", .path.display())]
    Path { path: PathBuf, why: Io },
}

/// The prefix of a stored refusal about a file that shadows a module; its path follows.
const SHADOWS: &[u8] = b"hides\0";

impl Reason {
    /// The content of the file that keeps a refusal for later starts.
    pub(crate) fn stored(&self) -> Vec<u8> {
        match self {
            Reason::Shadows(path) => [SHADOWS, path.as_os_str().as_bytes()].concat(),
            other => other.to_string().into_bytes(),
        }
    }

    /// The refusal in a file; none in an empty one.
    pub(crate) fn from_stored(content: &[u8]) -> Option<Reason> {
        match content.strip_prefix(SHADOWS) {
            _ if content.is_empty() => None,
            Some(path) => Some(Reason::Shadows(
                std::ffi::OsString::from_vec(path.to_vec()).into(),
            )),
            None => {
                let text = String::from_utf8_lossy(content).into_owned();
                Some(Reason::Stored(text))
            }
        }
    }

    /// Returns whether this is about a file that shadowed a module and no longer exists.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Reason::Shadows(path) if !path.exists())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For assertions; `io::Error` has no comparison.
    impl PartialEq for Reason {
        fn eq(&self, other: &Reason) -> bool {
            self.to_string() == other.to_string()
        }
    }

    #[test]
    fn a_refusal_is_over_when_the_shadowing_file_is_gone() {
        let again = |reason: &Reason| Reason::from_stored(&reason.stored());
        let here = again(&Reason::Shadows("/usr".into())).expect("a reason");
        assert_eq!(here.to_string(), "/usr shadows an installed module");
        assert!(!here.is_over());
        let gone = again(&Reason::Shadows("/no/such/file".into()));
        assert!(gone.is_some_and(|reason| reason.is_over()));
        let other = again(&Reason::FailedToStart).expect("a reason");
        assert_eq!(other.to_string(), "its warm parent failed to start");
        assert!(!other.is_over());
        assert!(Reason::from_stored(b"").is_none());
    }
}
