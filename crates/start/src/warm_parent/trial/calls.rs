//! Classifies the system calls of traced processes ([`Meaning`]): no effect, a question whose
//! answer is an input, a write or a new process that may be harmless, or an act, which has an
//! effect outside the process. Unknown calls are acts.
//!
//! Each submodule classifies one subject. A call that none of them knows is harmless if it is
//! listed here.

mod files;
mod processes;
mod sockets;

use std::path::PathBuf;

use libc::{c_int, c_long, pid_t};

use super::tracee;
use crate::warm_parent::ledger::Question;
use files::is_momentary;

pub(super) use files::kernel_file_question;

/// A system call of a traced thread, as it begins.
pub(super) struct Call {
    pub process: pid_t,
    pub number: c_long,
    pub arguments: [u64; 6],
}

/// The meaning of a system call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It affects only this process, or state that its children inherit.
    Nothing,
    /// It asks questions about paths.
    Asks(Vec<(PathBuf, Question)>),
    /// It asks if a standard stream is a terminal, or for its width.
    AsksTerminal(c_int),
    /// It asks for the host name.
    AsksHost,
    /// It creates, changes or removes files at these paths: an act, unless it is harmless.
    Writes(Vec<PathBuf>, &'static str),
    /// It starts a process that shares its memory until it executes a program: an act, unless
    /// that program is harmless.
    Starts,
    /// It has effects outside the process, described by a predicate.
    Acts(String),
}

/// The kind of file that a call creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creates {
    Nothing,
    File,
    Directory,
    /// A file without a name, which exists as long as it is open.
    Unnamed,
}

impl Call {
    pub(super) fn meaning(&self) -> Meaning {
        let known = files::meaning(self)
            .or_else(|| sockets::meaning(self))
            .or_else(|| processes::meaning(self));
        known.unwrap_or_else(|| match self.number {
            number if HARMLESS.contains(&number) => Meaning::Nothing,
            #[cfg(target_arch = "x86_64")]
            number if HARMLESS_LEGACY.contains(&number) => Meaning::Nothing,
            number => acts(&format!("makes system call {number}")),
        })
    }

    /// The meaning of a call by the program's code: an act, unless it is known to affect only
    /// the memory of the process.
    pub(super) fn meaning_in_program(&self) -> Meaning {
        let first = self.arguments[0];
        let is_stream = first <= 2;
        match self.number {
            libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv if first == 0 => {
                return Meaning::Acts("reads standard input".into());
            }
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev => {
                return match tracee::descriptor(self.process, first as c_int) {
                    Some(path) if !is_stream => Meaning::Writes(vec![path], "writes"),
                    _ => Meaning::Acts("prints".into()),
                };
            }
            libc::SYS_statfs => return Meaning::Acts("reads how full a disk is".into()),
            _ => {}
        }
        match self.meaning() {
            Meaning::Asks(asked) => match asked.iter().find(|(path, _)| is_momentary(path)) {
                Some((path, _)) => Meaning::Acts(format!("reads {}", path.display())),
                None => Meaning::Asks(asked),
            },
            Meaning::Nothing => match self.number {
                libc::SYS_prlimit64 if self.arguments[2] == 0 => Meaning::Nothing,
                // Without a path, newfstatat and statx query a descriptor.
                libc::SYS_fstat
                | libc::SYS_newfstatat
                | libc::SYS_statx
                | libc::SYS_lseek
                | libc::SYS_fcntl
                | libc::SYS_ioctl
                    if is_stream =>
                {
                    Meaning::Acts("inspects a standard stream".into())
                }
                libc::SYS_getrandom => Meaning::Acts("draws random bytes".into()),
                libc::SYS_getpid | libc::SYS_getppid | libc::SYS_gettid => {
                    Meaning::Acts("reads its process ID".into())
                }
                libc::SYS_rt_sigaction => Meaning::Acts("handles signals".into()),
                libc::SYS_pipe2 => Meaning::Acts("opens a pipe".into()),
                libc::SYS_socket | libc::SYS_socketpair => Meaning::Acts("opens a socket".into()),
                libc::SYS_clone | libc::SYS_clone3 => Meaning::Acts("starts a thread".into()),
                number if HARMLESS_IN_PROGRAM.contains(&number) => Meaning::Nothing,
                number => Meaning::Acts(format!("makes system call {number}")),
            },
            Meaning::Starts => processes::starts_process(),
            other => other,
        }
    }

    /// Returns true for reads of a standard stream. Questions about its type and position are seen in
    /// Python (`draws.py`): the Fortran runtime and LLVM ask them, too.
    pub(super) fn reads_stream(&self) -> bool {
        const READS: [c_long; 7] = [
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_pread64,
            libc::SYS_preadv,
            libc::SYS_preadv2,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
        ];
        self.arguments[0] <= 2 && READS.contains(&self.number)
    }

    fn path(&self, directory: c_int, at: u64) -> Option<PathBuf> {
        tracee::path(self.process, directory, at)
    }
}

fn acts(what: &str) -> Meaning {
    Meaning::Acts(format!("{what} when it is imported"))
}

/// Calls of the program that affect only the memory of the process and its descriptors.
const HARMLESS_IN_PROGRAM: [c_long; 34] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_fadvise64,
    libc::SYS_getcwd,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_membarrier,
    libc::SYS_get_robust_list,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
];

/// Legacy harmless calls, which exist only on older architectures.
#[cfg(target_arch = "x86_64")]
const HARMLESS_LEGACY: [c_long; 15] = [
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_create,
    libc::SYS_eventfd,
    libc::SYS_signalfd,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_inotify_init,
    libc::SYS_arch_prctl,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_time,
    libc::SYS_getpgrp,
    libc::SYS_pause,
];

/// Calls that affect only the process, or state that its children inherit. They cannot affect other
/// processes, shared memory or shared descriptors: it has no children to wait for, and futexes are
/// in its own memory.
const HARMLESS: [c_long; 98] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    // To descriptors that the process has opened, or to its output, which is captured. Opening
    // something for writing is an act, as is connecting to something.
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fgetxattr,
    libc::SYS_lseek,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_getcwd,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_timerfd_create,
    libc::SYS_signalfd4,
    libc::SYS_inotify_init1,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_socketpair,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_shutdown,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_munlock,
    libc::SYS_munlockall,
    libc::SYS_msync,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_mbind,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_getcpu,
    libc::SYS_getpriority,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_sysinfo,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
];

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn meaning(number: c_long, arguments: [u64; 6]) -> Meaning {
        let process = std::process::id() as pid_t;
        Call {
            process,
            number,
            arguments,
        }
        .meaning()
    }

    pub(super) fn is_act(number: c_long, arguments: [u64; 6]) -> bool {
        matches!(meaning(number, arguments), Meaning::Acts(_))
    }

    /// A number as an argument of a call.
    pub(super) fn number(value: c_int) -> u64 {
        value as u64
    }

    #[test]
    fn unknown_calls_are_acts() {
        assert!(is_act(100_000, [0; 6]) && is_act(libc::SYS_setsid, [0; 6]));
        for harmless in [libc::SYS_read, libc::SYS_futex, libc::SYS_wait4] {
            assert_eq!(meaning(harmless, [0; 6]), Meaning::Nothing, "{harmless}");
        }
        #[cfg(target_arch = "x86_64")]
        assert_eq!(meaning(libc::SYS_poll, [0; 6]), Meaning::Nothing);
    }

    #[test]
    fn most_calls_of_the_program_are_acts() {
        let to_program = |number: c_long, first: u64| {
            let process = std::process::id() as pid_t;
            let arguments = [first, 0, 0, 0, 0, 0];
            Call {
                process,
                number,
                arguments,
            }
            .meaning_in_program()
        };
        for number in [libc::SYS_brk, libc::SYS_futex, libc::SYS_getcwd] {
            assert_eq!(to_program(number, 7), Meaning::Nothing, "{number}");
        }
        assert_eq!(to_program(libc::SYS_read, 7), Meaning::Nothing);
        for (number, first) in [
            (libc::SYS_read, 0),
            (libc::SYS_fstat, 1),
            (libc::SYS_write, 2),
            (libc::SYS_getrandom, 7),
            (libc::SYS_getpid, 7),
            (libc::SYS_clock_gettime, 7),
            (libc::SYS_rt_sigaction, 7),
            (libc::SYS_clone, libc::CLONE_THREAD as u64),
        ] {
            let meaning = to_program(number, first);
            assert!(matches!(meaning, Meaning::Acts(_)), "{number}: {meaning:?}");
        }
    }
}
