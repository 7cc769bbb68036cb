//! Calls on processes and memory: new processes, signals, shared memory, and settings of a process.

use std::path::{Path, PathBuf};

use libc::c_int;

use super::{Call, Meaning, acts};
use crate::warm_parent::trial::{rules, tracee};

/// The sizes of the memory that libgcrypt locks at load time, before it holds secrets.
const EMPTY_POOLS: [u64; 2] = [16384, 32768];

/// The meaning of a call on processes or memory; `None` for other calls.
pub(super) fn meaning(call: &Call) -> Option<Meaning> {
    let [first, second, third, ..] = call.arguments;
    let meaning = match call.number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork => starts_process(),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork => Meaning::Starts,
        libc::SYS_mmap => call.shares_memory(),
        // A child would not have this memory, or not its content.
        libc::SYS_madvise
            if [libc::MADV_DONTFORK, libc::MADV_WIPEONFORK].contains(&(third as c_int)) =>
        {
            acts("keeps memory from its children")
        }
        libc::SYS_mlock if EMPTY_POOLS.contains(&second) => Meaning::Nothing,
        libc::SYS_mlock | libc::SYS_mlock2 | libc::SYS_mlockall => acts("locks memory"),
        libc::SYS_shmget | libc::SYS_shmat | libc::SYS_memfd_create => shared_memory(),
        libc::SYS_semget => Meaning::Acts("creates a semaphore that all starts would share".into()),
        libc::SYS_clone => clones(first),
        libc::SYS_clone3 => match tracee::number(call.process, first) {
            Some(flags) => clones(flags),
            None => starts_process(),
        },
        libc::SYS_execve | libc::SYS_execveat => starts_process(),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => call.signals(),
        // Settings of a thread, which its children inherit.
        libc::SYS_prlimit64 if third == 0 || call.is_own(first) => Meaning::Nothing,
        libc::SYS_sched_setaffinity if call.is_own(first) => Meaning::Nothing,
        libc::SYS_prlimit64 | libc::SYS_sched_setaffinity => acts("changes another process"),
        libc::SYS_uname => Meaning::AsksHost,
        libc::SYS_prctl => process_control(first),
        libc::SYS_chdir | libc::SYS_fchdir => acts("changes the current directory"),
        libc::SYS_umask => acts("changes the file mode mask"),
        _ => return None,
    };
    Some(meaning)
}

impl Call {
    /// Mapping a semaphore that has no name yet means nothing: naming it does. Memory without a
    /// file can be made writable later; a file for that must have been opened for writing.
    fn shares_memory(&self) -> Meaning {
        let [_, _, protection, flags, fd, _] = self.arguments;
        let has = |flag: c_int| flags as c_int & flag != 0;
        let is_writable = protection as c_int & libc::PROT_WRITE != 0;
        if !has(libc::MAP_SHARED) || !is_writable && !has(libc::MAP_ANONYMOUS) {
            return Meaning::Nothing;
        }
        match tracee::descriptor(self.process, fd as c_int) {
            Some(path) if rules::is_unnamed_semaphore(&path) => Meaning::Nothing,
            _ => shared_memory(),
        }
    }

    /// The program that this call executes, with its arguments.
    pub(in super::super) fn executes(&self) -> Option<Vec<PathBuf>> {
        /// The most arguments that matter.
        const MAX_ARGUMENTS: u64 = 4;
        let [first, second, ..] = self.arguments;
        if self.number != libc::SYS_execve {
            return None;
        }
        let program = self.path(libc::AT_FDCWD, first)?;
        let arguments = (1..MAX_ARGUMENTS).map_while(|at| {
            let text = tracee::number(self.process, second + 8 * at).filter(|&at| at != 0)?;
            tracee::text(self.process, text).map(|text| rules::path(&text))
        });
        Some(std::iter::once(program).chain(arguments).collect())
    }

    /// Signal 0 only checks that a process exists.
    fn signals(&self) -> Meaning {
        let signal = match self.number {
            libc::SYS_tgkill => self.arguments[2],
            _ => self.arguments[1],
        };
        match signal {
            0 => Meaning::Nothing,
            _ => acts("sends a signal"),
        }
    }

    /// Returns true for the number of a thread of this process; 0 is the calling one.
    fn is_own(&self, thread: u64) -> bool {
        thread == 0 || Path::new(&format!("/proc/{}/task/{thread}", self.process)).exists()
    }
}

pub(super) fn starts_process() -> Meaning {
    acts("starts a process")
}

fn clones(flags: u64) -> Meaning {
    let has = |flag: c_int| flags & flag as u64 != 0;
    match (
        has(libc::CLONE_THREAD),
        has(libc::CLONE_VFORK) && has(libc::CLONE_VM),
    ) {
        (true, _) => Meaning::Nothing,
        (false, true) => Meaning::Starts,
        (false, false) => starts_process(),
    }
}

fn shared_memory() -> Meaning {
    Meaning::Acts("creates memory that all starts would share".into())
}

fn process_control(option: u64) -> Meaning {
    /// Requests for information, and settings that children inherit.
    const HARMLESS_OPTIONS: [c_int; 14] = [
        libc::PR_SET_NAME,
        libc::PR_SET_VMA,
        libc::PR_SET_THP_DISABLE,
        libc::PR_SET_TIMERSLACK,
        libc::PR_CAPBSET_READ,
        libc::PR_SET_DUMPABLE,
        libc::PR_GET_NAME,
        libc::PR_GET_DUMPABLE,
        libc::PR_GET_PDEATHSIG,
        libc::PR_GET_SECCOMP,
        libc::PR_GET_THP_DISABLE,
        libc::PR_GET_NO_NEW_PRIVS,
        libc::PR_GET_TIMERSLACK,
        libc::PR_GET_KEEPCAPS,
    ];
    let option = option as c_int;
    match HARMLESS_OPTIONS.contains(&option) {
        true => Meaning::Nothing,
        false => acts(&format!("controls its process (request {option})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm_parent::trial::calls::tests::{is_act, meaning, number};

    #[test]
    fn processes_are_acts_and_threads_are_not() {
        assert_eq!(meaning(libc::SYS_clone, [0; 6]), starts_process());
        let thread = number(libc::CLONE_THREAD);
        assert_eq!(
            meaning(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]),
            Meaning::Nothing
        );
    }

    #[test]
    fn memory_that_children_miss_or_share_is_an_act() {
        let advice = |advice| meaning(libc::SYS_madvise, [0, 0, number(advice), 0, 0, 0]);
        assert_eq!(advice(libc::MADV_DONTNEED), Meaning::Nothing);
        assert!(matches!(advice(libc::MADV_DONTFORK), Meaning::Acts(_)));
        assert!(is_act(libc::SYS_mlock, [0; 6]));
        let shares = |flags| is_act(libc::SYS_mmap, [0, 1, 0, number(flags), u64::MAX, 0]);
        assert!(shares(libc::MAP_SHARED | libc::MAP_ANONYMOUS));
        assert!(!shares(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS));
    }

    #[test]
    fn limits_of_other_processes_are_acts() {
        let parent = std::os::unix::process::parent_id().into();
        for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
            assert!(is_act(call, [parent, 7, 1, 0, 0, 0]));
            assert!(!is_act(call, [std::process::id().into(), 7, 1, 0, 0, 0]));
        }
        assert!(!is_act(libc::SYS_prlimit64, [parent, 7, 0, 0, 0, 0]));
    }
}
