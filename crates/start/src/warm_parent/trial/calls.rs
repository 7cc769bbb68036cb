//! Classifies the system calls of traced processes ([`Meaning`]): no effect, a question whose
//! answer is an input, a write or a new process that may be harmless, or an act, which has an
//! effect outside the process. Unknown calls are acts.

use std::path::{Path, PathBuf};

use libc::{c_int, c_long, pid_t};

use super::{breakpoints, rules};
use crate::warm_parent::ledger::Question;

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

/// A new file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creates {
    Nothing,
    File,
    Directory,
    /// A file without a name, which exists as long as it is open.
    Unnamed,
}

/// Requests that only ask. `tcgetattr` and `isatty` make the second one since glibc 2.42.
const TERMINAL_QUERIES: [u64; 3] = [libc::TCGETS, libc::TCGETS2, libc::TIOCGWINSZ];

impl Call {
    pub(super) fn meaning(&self) -> Meaning {
        let [first, second, third, fourth, ..] = self.arguments;
        let here = libc::AT_FDCWD;
        #[cfg(target_arch = "x86_64")]
        match self.number {
            libc::SYS_open => return self.opens(here, first, second),
            libc::SYS_creat => return self.writes(&[(here, first)], "writes"),
            libc::SYS_stat => return self.asks(here, first, Question::File),
            libc::SYS_access => return self.asks(here, first, Question::Rights),
            libc::SYS_lstat | libc::SYS_readlink => {
                return self.asks(here, first, Question::Link);
            }
            libc::SYS_mkdir => return self.makes_directory(here, first),
            libc::SYS_rmdir | libc::SYS_unlink => return self.writes(&[(here, first)], "removes"),
            libc::SYS_rename => return self.writes(&[(here, first), (here, second)], "renames"),
            libc::SYS_chmod
            | libc::SYS_chown
            | libc::SYS_lchown
            | libc::SYS_utime
            | libc::SYS_utimes => return self.writes(&[(here, first)], "changes"),
            libc::SYS_link | libc::SYS_symlink => {
                return self.writes(&[(here, second)], "creates");
            }
            libc::SYS_mknod => return self.writes(&[(here, first)], "creates"),
            libc::SYS_fork => return starts_process(),
            libc::SYS_vfork => return Meaning::Starts,
            libc::SYS_getdents => return self.lists(first),
            libc::SYS_futimesat if second == 0 => return self.changes(first),
            libc::SYS_futimesat => return self.writes(&[(first as c_int, second)], "changes"),
            libc::SYS_poll
            | libc::SYS_select
            | libc::SYS_epoll_wait
            | libc::SYS_epoll_create
            | libc::SYS_eventfd
            | libc::SYS_signalfd
            | libc::SYS_pipe
            | libc::SYS_dup2
            | libc::SYS_inotify_init
            | libc::SYS_arch_prctl
            | libc::SYS_getrlimit
            | libc::SYS_setrlimit
            | libc::SYS_time
            | libc::SYS_getpgrp
            | libc::SYS_pause => {
                return Meaning::Nothing;
            }
            _ => {}
        }
        match self.number {
            libc::SYS_openat => self.opens(first as c_int, second, third),
            libc::SYS_openat2 => match breakpoints::number(self.process, third) {
                Some(flags) => self.opens(first as c_int, second, flags),
                None => Meaning::Nothing,
            },
            libc::SYS_newfstatat if fourth & libc::AT_SYMLINK_NOFOLLOW as u64 != 0 => {
                self.asks(first as c_int, second, Question::Link)
            }
            libc::SYS_statx if third & libc::AT_SYMLINK_NOFOLLOW as u64 != 0 => {
                self.asks(first as c_int, second, Question::Link)
            }
            libc::SYS_newfstatat | libc::SYS_statx => {
                self.asks(first as c_int, second, Question::File)
            }
            libc::SYS_faccessat | libc::SYS_faccessat2 => {
                self.asks(first as c_int, second, Question::Rights)
            }
            libc::SYS_readlinkat => self.asks(first as c_int, second, Question::Link),
            libc::SYS_getxattr | libc::SYS_listxattr | libc::SYS_statfs => {
                self.asks(here, first, Question::File)
            }
            libc::SYS_lgetxattr | libc::SYS_llistxattr => self.asks(here, first, Question::Link),
            libc::SYS_getdents64 => self.lists(first),
            libc::SYS_mkdirat => self.makes_directory(first as c_int, second),
            libc::SYS_unlinkat => self.writes(&[(first as c_int, second)], "removes"),
            libc::SYS_renameat | libc::SYS_renameat2 => self.writes(
                &[(first as c_int, second), (third as c_int, fourth)],
                "renames",
            ),
            // Without a path, they change an open file, which may be open for reading only.
            libc::SYS_fchownat | libc::SYS_utimensat
                if self.path(first as c_int, second).is_none() =>
            {
                self.changes(first)
            }
            libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_utimensat => {
                self.writes(&[(first as c_int, second)], "changes")
            }
            libc::SYS_linkat => self.writes(&[(third as c_int, fourth)], "creates"),
            libc::SYS_symlinkat => self.writes(&[(second as c_int, third)], "creates"),
            libc::SYS_mknodat => self.writes(&[(first as c_int, second)], "creates"),
            libc::SYS_truncate => self.writes(&[(here, first)], "changes"),
            libc::SYS_ftruncate
            | libc::SYS_fchmod
            | libc::SYS_fchown
            | libc::SYS_fallocate
            | libc::SYS_fsync
            | libc::SYS_fdatasync => self.changes(first),
            libc::SYS_ioctl if TERMINAL_QUERIES.contains(&second) && first <= 2 => {
                Meaning::AsksTerminal(first as c_int)
            }
            // Its children get their standard streams, with these flags, from their clients.
            libc::SYS_ioctl if is_flag(second) && first <= 2 => acts("changes a standard stream"),
            // Flags of a descriptor, or terminal requests for another descriptor.
            libc::SYS_ioctl if TERMINAL_QUERIES.contains(&second) || is_flag(second) => {
                Meaning::Nothing
            }
            libc::SYS_ioctl => acts(&format!("controls a device (request {second:#x})")),
            libc::SYS_fcntl => match second as c_int {
                libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
                    acts("locks a file")
                }
                libc::F_SETFD | libc::F_SETFL if first <= 2 => acts("changes a standard stream"),
                libc::F_DUPFD
                | libc::F_DUPFD_CLOEXEC
                | libc::F_GETFD
                | libc::F_SETFD
                | libc::F_GETFL
                | libc::F_SETFL
                | libc::F_GETLK
                | libc::F_OFD_GETLK
                | libc::F_GETOWN
                | libc::F_GETLEASE
                | libc::F_GETPIPE_SZ
                | libc::F_GET_SEALS => Meaning::Nothing,
                // Leases, notifications, signals of descriptors, and unknown commands.
                command => acts(&format!("changes a descriptor (command {command})")),
            },
            libc::SYS_flock => acts("locks a file"),
            libc::SYS_mmap => self.shares_memory(),
            // A child would not have this memory, or not its content.
            libc::SYS_madvise
                if [libc::MADV_DONTFORK, libc::MADV_WIPEONFORK].contains(&(third as c_int)) =>
            {
                acts("keeps memory from its children")
            }
            libc::SYS_mlock if EMPTY_POOLS.contains(&second) => Meaning::Nothing,
            libc::SYS_mlock | libc::SYS_mlock2 | libc::SYS_mlockall => acts("locks memory"),
            libc::SYS_shmget | libc::SYS_shmat | libc::SYS_memfd_create => shared_memory(),
            libc::SYS_semget => {
                Meaning::Acts("creates a semaphore that all starts would share".into())
            }
            libc::SYS_clone => clones(first),
            libc::SYS_clone3 => match breakpoints::number(self.process, first) {
                Some(flags) => clones(flags),
                None => starts_process(),
            },
            libc::SYS_execve | libc::SYS_execveat => starts_process(),
            libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => self.signals(),
            libc::SYS_connect => self.connects(second),
            libc::SYS_bind => self.binds(second),
            libc::SYS_sendto if self.arguments[4] != 0 => acts("sends to a socket"),
            libc::SYS_sendmsg => self.sends_message(second),
            libc::SYS_sendmmsg => acts("sends to a socket"),
            libc::SYS_socket => opens_socket(first),
            libc::SYS_setsockopt => changes_socket(second, third),
            libc::SYS_listen | libc::SYS_accept | libc::SYS_accept4 => acts("listens on a socket"),
            libc::SYS_inotify_add_watch => self.asks(here, second, Question::File),
            // Settings of a thread, which its children inherit.
            libc::SYS_prlimit64 if third == 0 || self.is_own(first) => Meaning::Nothing,
            libc::SYS_sched_setaffinity if self.is_own(first) => Meaning::Nothing,
            libc::SYS_prlimit64 | libc::SYS_sched_setaffinity => acts("changes another process"),
            libc::SYS_uname => Meaning::AsksHost,
            libc::SYS_prctl => process_control(first),
            libc::SYS_chdir | libc::SYS_fchdir => acts("changes the current directory"),
            libc::SYS_umask => acts("changes the file mode mask"),
            number if HARMLESS.contains(&number) => Meaning::Nothing,
            number => acts(&format!("makes system call {number}")),
        }
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
                return match breakpoints::descriptor(self.process, first as c_int) {
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
            Meaning::Starts => starts_process(),
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
        breakpoints::path(self.process, directory, at)
    }

    fn asks(&self, directory: c_int, at: u64, question: Question) -> Meaning {
        match self.path(directory, at) {
            Some(path) => Meaning::Asks(vec![(path, question)]),
            None => Meaning::Nothing,
        }
    }

    fn opens(&self, directory: c_int, at: u64, flags: u64) -> Meaning {
        let flags = flags as c_int;
        let creates = libc::O_CREAT | libc::O_TRUNC;
        if flags & libc::O_ACCMODE != libc::O_RDONLY || flags & creates != 0 {
            return self.writes(&[(directory, at)], "writes");
        }
        if flags & libc::O_PATH == 0 && self.path(directory, at).is_some_and(is_device) {
            return acts("opens a device or a named pipe");
        }
        self.asks(directory, at, Question::File)
    }

    fn lists(&self, fd: u64) -> Meaning {
        match breakpoints::descriptor(self.process, fd as c_int) {
            Some(path) => Meaning::Asks(vec![(path, Question::Listing)]),
            None => Meaning::Nothing,
        }
    }

    fn writes(&self, paths: &[(c_int, u64)], what: &'static str) -> Meaning {
        let paths = paths.iter();
        Meaning::Writes(
            paths
                .filter_map(|&(at, path)| self.path(at, path))
                .collect(),
            what,
        )
    }

    fn changes(&self, fd: u64) -> Meaning {
        match breakpoints::descriptor(self.process, fd as c_int) {
            Some(path) if path.is_absolute() && path.exists() => {
                Meaning::Writes(vec![path], "changes")
            }
            _ => Meaning::Nothing,
        }
    }

    /// Creating a directory that exists only asks for it.
    fn makes_directory(&self, directory: c_int, at: u64) -> Meaning {
        match self.path(directory, at) {
            Some(path) if path.symlink_metadata().is_ok() => {
                Meaning::Asks(vec![(path, Question::File)])
            }
            _ => self.writes(&[(directory, at)], "creates"),
        }
    }

    /// Mapping a semaphore that has no name yet means nothing: naming it does. Memory without a
    /// file can be made writable later; a file for that must have been opened for writing.
    fn shares_memory(&self) -> Meaning {
        let [_, _, protection, flags, fd, _] = self.arguments;
        let has = |flag: c_int| flags as c_int & flag != 0;
        let is_writable = protection as c_int & libc::PROT_WRITE != 0;
        if !has(libc::MAP_SHARED) || !is_writable && !has(libc::MAP_ANONYMOUS) {
            return Meaning::Nothing;
        }
        match breakpoints::descriptor(self.process, fd as c_int) {
            Some(path) if rules::is_unnamed_semaphore(&path) => Meaning::Nothing,
            _ => shared_memory(),
        }
    }

    /// Removes the file of a semaphore that this call would have named, and will not.
    pub(super) fn discard_semaphore(&self, created: &[PathBuf]) {
        if let Some(file) = self.linked().filter(|file| created.contains(file)) {
            let _ = std::fs::remove_file(file);
        }
    }

    /// The file to which this call gives another name.
    pub(super) fn linked(&self) -> Option<PathBuf> {
        let [first, second, ..] = self.arguments;
        match self.number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => self.path(libc::AT_FDCWD, first),
            libc::SYS_linkat => self.path(first as c_int, second),
            _ => None,
        }
    }

    pub(super) fn links_symbolically(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.number == libc::SYS_symlink {
            return true;
        }
        self.number == libc::SYS_symlinkat
    }

    /// The object that this call creates, if it fails where one exists.
    pub(super) fn creates(&self) -> Creates {
        let flags = match self.number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => return Creates::Directory,
            libc::SYS_mkdirat => return Creates::Directory,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => self.arguments[1] as c_int,
            libc::SYS_openat => self.arguments[2] as c_int,
            _ => 0,
        };
        let exclusively = libc::O_CREAT | libc::O_EXCL;
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            Creates::Unnamed
        } else if flags & exclusively == exclusively {
            Creates::File
        } else {
            Creates::Nothing
        }
    }

    /// The program that this call executes, with its arguments.
    pub(super) fn executes(&self) -> Option<Vec<PathBuf>> {
        /// The most arguments that matter.
        const MAX_ARGUMENTS: u64 = 4;
        let [first, second, ..] = self.arguments;
        if self.number != libc::SYS_execve {
            return None;
        }
        let program = self.path(libc::AT_FDCWD, first)?;
        let arguments = (1..MAX_ARGUMENTS).map_while(|at| {
            let text = breakpoints::number(self.process, second + 8 * at).filter(|&at| at != 0)?;
            breakpoints::text(self.process, text).map(|text| rules::path(&text))
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

    /// Sending a message without an address only reaches sockets of this process: connecting to
    /// others is an act.
    fn sends_message(&self, message: u64) -> Meaning {
        // The address is the first field.
        match breakpoints::number(self.process, message) {
            Some(0) => Meaning::Nothing,
            _ => acts("sends to a socket"),
        }
    }

    /// Connecting to a missing local socket only asks for its presence; the C library does
    /// this to find a daemon.
    fn connects(&self, address: u64) -> Meaning {
        let head = breakpoints::bytes(self.process, address, 2);
        if head == (libc::AF_UNIX as u16).to_ne_bytes()
            && let Some(path) = self.path(libc::AT_FDCWD, address + 2)
            && !path.exists()
        {
            return Meaning::Asks(vec![(path, Question::Presence)]);
        }
        acts("connects to a socket")
    }

    /// Libraries bind any port of the loopback interface to test for IPv6. Sockets that stay
    /// open are found later.
    fn binds(&self, address: u64) -> Meaning {
        let bytes = breakpoints::bytes(self.process, address, 24);
        let family = bytes
            .get(..2)
            .map(|two| u16::from_ne_bytes([two[0], two[1]]));
        let is_any_port = bytes.get(2..4) == Some(&[0, 0]);
        let is_loopback = match family.map(c_int::from) {
            Some(libc::AF_INET) => bytes.get(4) == Some(&127),
            Some(libc::AF_INET6) => {
                bytes.get(8..24) == Some(&std::net::Ipv6Addr::LOCALHOST.octets()[..])
            }
            _ => false,
        };
        if is_any_port && is_loopback {
            return Meaning::Asks(vec![(
                "/proc/sys/net/ipv6/conf/lo/disable_ipv6".into(),
                Question::Content,
            )]);
        }
        acts("binds a socket")
    }
}

fn acts(what: &str) -> Meaning {
    Meaning::Acts(format!("{what} when it is imported"))
}

fn starts_process() -> Meaning {
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

/// Sockets of these families reach nobody before they are connected or bound. A netlink socket
/// reaches the kernel.
fn opens_socket(family: u64) -> Meaning {
    match [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].contains(&(family as c_int)) {
        true => Meaning::Nothing,
        false => acts("opens a socket of the kernel"),
    }
}

/// Options of other levels may join a group in the network, or change a firewall.
fn changes_socket(level: u64, option: u64) -> Meaning {
    match (level as c_int, option as c_int) {
        (libc::SOL_SOCKET | libc::IPPROTO_TCP, _) | (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => {
            Meaning::Nothing
        }
        _ => acts("configures a socket"),
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

fn is_flag(request: u64) -> bool {
    [libc::FIOCLEX, libc::FIONCLEX, libc::FIONBIO, libc::FIONREAD].contains(&request)
}

/// The question for a path in /proc or /sys, where times are meaningless. `None` if the
/// content changes all the time or belongs to the process.
pub(super) fn kernel_file_question(
    path: &Path,
    question: Question,
    process: pid_t,
) -> Option<(PathBuf, Question)> {
    /// Files that show the momentary state of a process or the machine; arguments and
    /// variables are tracked elsewhere.
    const MOMENTARY: [&str; 18] = [
        "/proc/self/maps",
        "/proc/self/smaps",
        "/proc/self/smaps_rollup",
        "/proc/self/io",
        "/proc/self/stat",
        "/proc/self/statm",
        "/proc/self/status",
        "/proc/self/auxv",
        "/proc/self/exe",
        "/proc/self/environ",
        "/proc/self/cmdline",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/loadavg",
        "/proc/uptime",
        "/proc/vmstat",
        "/proc/self/fd",
        "/proc/self/task",
    ];
    let of_process = Path::new("/proc").join(process.to_string());
    let path = match path.strip_prefix(&of_process) {
        Ok(rest) => Path::new("/proc/self").join(rest),
        Err(_) => path.to_owned(),
    };
    let is_below = |above: &str| path.starts_with(above);
    // The memory usage of a NUMA node.
    let is_usage = is_below("/sys/devices/system/node")
        && ["meminfo", "numastat", "vmstat"]
            .iter()
            .any(|known| path.ends_with(known));
    if MOMENTARY.iter().any(|known| is_below(known)) || is_usage || path == Path::new("/proc") {
        return None;
    }
    let question = match question {
        Question::Listing => Question::Names,
        Question::File if path.is_file() => Question::Content,
        _ => Question::Presence,
    };
    Some((path, question))
}

/// Returns true for devices, which may notice that they are opened, and named pipes, whose writers
/// do.
fn is_device(path: PathBuf) -> bool {
    const UNAWARE: [&str; 5] = [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
    ];
    !UNAWARE.iter().any(|known| path == Path::new(known))
        && path
            .metadata()
            .is_ok_and(|is| !is.is_file() && !is.is_dir())
}

/// Returns true for paths whose content may differ at each start without a trace.
fn is_momentary(path: &Path) -> bool {
    if path.starts_with("/proc") || path.starts_with("/sys") {
        return kernel_file_question(path, Question::File, 0).is_none();
    }
    path.metadata()
        .is_ok_and(|is| !is.is_file() && !is.is_dir())
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

/// The sizes of the memory for secrets that libgcrypt locks as soon as it is loaded, while there are
/// none.
const EMPTY_POOLS: [u64; 2] = [16384, 32768];

/// Calls that affect only the process, or state that its children inherit. Processes, memory that
/// others share, and descriptors that others have cannot be reached by them: it has no children to
/// wait for, and futexes are in its own memory.
const HARMLESS: [c_long; 99] = [
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
    libc::SYS_clone,
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

    fn meaning(number: c_long, arguments: [u64; 6]) -> Meaning {
        let process = std::process::id() as pid_t;
        Call {
            process,
            number,
            arguments,
        }
        .meaning()
    }

    #[test]
    fn reading_is_a_question_and_writing_an_act() {
        let path = c"/etc/passwd".as_ptr() as u64;
        let here = libc::AT_FDCWD as u64;
        let asked = |question| Meaning::Asks(vec![("/etc/passwd".into(), question)]);
        let opened = |flags: c_int| meaning(libc::SYS_openat, [here, path, flags as u64, 0, 0, 0]);
        assert_eq!(
            opened(libc::O_RDONLY | libc::O_CLOEXEC),
            asked(Question::File)
        );
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT] {
            assert!(matches!(opened(flags), Meaning::Writes(..)), "{flags:o}");
        }
        let links = libc::AT_SYMLINK_NOFOLLOW as u64;
        let stat = |flags| meaning(libc::SYS_newfstatat, [here, path, 0, flags, 0, 0]);
        assert_eq!(stat(links), asked(Question::Link));
        assert_eq!(stat(0), asked(Question::File));
    }

    #[test]
    fn unknown_calls_are_acts() {
        assert!(matches!(meaning(100_000, [0; 6]), Meaning::Acts(_)));
        assert!(matches!(
            meaning(libc::SYS_setsid, [0; 6]),
            Meaning::Acts(_)
        ));
        assert_eq!(meaning(libc::SYS_clone, [0; 6]), starts_process());
        let advice = |number: c_int| meaning(libc::SYS_madvise, [0, 0, number as u64, 0, 0, 0]);
        assert_eq!(advice(libc::MADV_DONTNEED), Meaning::Nothing);
        assert!(matches!(advice(libc::MADV_DONTFORK), Meaning::Acts(_)));
        assert!(matches!(meaning(libc::SYS_mlock, [0; 6]), Meaning::Acts(_)));
        let thread = libc::CLONE_THREAD as u64;
        assert_eq!(
            meaning(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]),
            Meaning::Nothing
        );
    }

    #[test]
    fn sending_is_an_act_where_an_address_is_given() {
        let is_act = |number, arguments| matches!(meaning(number, arguments), Meaning::Acts(_));
        let name = b"listens";
        // SAFETY: zeroes are a valid value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        let at = |message: &libc::msghdr| [3, std::ptr::from_ref(message) as u64, 0, 0, 0, 0];
        assert!(!is_act(libc::SYS_sendmsg, at(&message)));
        message.msg_name = name.as_ptr().cast_mut().cast();
        assert!(is_act(libc::SYS_sendmsg, at(&message)));
        // It cannot be read.
        assert!(is_act(libc::SYS_sendmsg, [3, 8, 0, 0, 0, 0]));
        assert!(is_act(libc::SYS_sendmmsg, at(&message)));
        let address = name.as_ptr() as u64;
        assert!(is_act(libc::SYS_sendto, [3, address, 1, 0, address, 9]));
        assert!(!is_act(libc::SYS_sendto, [3, address, 1, 0, 0, 0]));
    }

    #[test]
    fn calls_that_reach_others_are_acts() {
        let is_act = |number, arguments| matches!(meaning(number, arguments), Meaning::Acts(_));
        let number = |value: c_int| value as u64;
        let socket = |family| is_act(libc::SYS_socket, [number(family), 2, 0, 0, 0, 0]);
        assert!(socket(libc::AF_NETLINK) && !socket(libc::AF_INET6));
        let option = |level, option| {
            let (level, option) = (number(level), number(option));
            is_act(libc::SYS_setsockopt, [3, level, option, 0, 0, 0])
        };
        assert!(option(libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP));
        assert!(!option(libc::SOL_SOCKET, libc::SO_REUSEADDR));
        let parent = std::os::unix::process::parent_id().into();
        for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
            assert!(is_act(call, [parent, 7, 1, 0, 0, 0]));
            assert!(!is_act(call, [std::process::id().into(), 7, 1, 0, 0, 0]));
        }
        assert!(!is_act(libc::SYS_prlimit64, [parent, 7, 0, 0, 0, 0]));
        let flags = |fd, command| is_act(libc::SYS_fcntl, [fd, number(command), 0, 0, 0, 0]);
        assert!(flags(1, libc::F_SETFL) && !flags(9, libc::F_SETFL));
        assert!(is_act(libc::SYS_ioctl, [0, libc::FIONBIO, 0, 0, 0, 0]));
        let shares = |flags| is_act(libc::SYS_mmap, [0, 1, 0, number(flags), u64::MAX, 0]);
        assert!(shares(libc::MAP_SHARED | libc::MAP_ANONYMOUS));
        assert!(!shares(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS));
        let here = number(libc::AT_FDCWD);
        let opens = |path: &std::ffi::CStr| {
            is_act(libc::SYS_openat, [here, path.as_ptr() as u64, 0, 0, 0, 0])
        };
        assert!(opens(c"/dev/ptmx") && !opens(c"/dev/urandom") && !opens(c"/proc"));
        // `futimens` of a file that is open for reading.
        let file = std::fs::File::open("/proc/self/exe").expect("it exists");
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as u64;
        let changed = meaning(libc::SYS_utimensat, [fd, 0, 0, 0, 0, 0]);
        assert!(matches!(changed, Meaning::Writes(paths, _) if paths.len() == 1));
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
        assert!(is_momentary(Path::new("/proc/loadavg")) && is_momentary(Path::new("/dev/null")));
        assert!(!is_momentary(Path::new("/etc/passwd")));
    }

    #[test]
    fn creating_an_existing_directory_is_a_question() {
        let path = c"/proc".as_ptr() as u64;
        let here = libc::AT_FDCWD as u64;
        let made = meaning(libc::SYS_mkdirat, [here, path, 0, 0, 0, 0]);
        assert_eq!(made, Meaning::Asks(vec![("/proc".into(), Question::File)]));
    }

    #[test]
    fn files_of_the_kernel_are_compared_by_content() {
        let of = |path: &str| kernel_file_question(Path::new(path), Question::File, 7);
        assert_eq!(of("/proc/7/maps"), None);
        assert_eq!(of("/proc/self/task/8/comm"), None);
        assert_eq!(
            of("/proc/version"),
            Some(("/proc/version".into(), Question::Content))
        );
        assert_eq!(
            of("/proc/7/cgroup"),
            Some(("/proc/self/cgroup".into(), Question::Content))
        );
        let listed = kernel_file_question(Path::new("/sys/class"), Question::Listing, 7);
        assert_eq!(listed, Some(("/sys/class".into(), Question::Names)));
    }
}
