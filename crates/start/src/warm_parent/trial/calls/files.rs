//! Calls on files and descriptors: questions about paths, changes, locks, requests to devices.

use std::path::{Path, PathBuf};

use libc::{c_int, pid_t};

use super::{Call, Creates, Meaning, acts};
use crate::warm_parent::ledger::Question;
use crate::warm_parent::trial::tracee;

/// Requests that only ask. Since glibc 2.42, `tcgetattr` and `isatty` make TCGETS2.
const TERMINAL_QUERIES: [u64; 3] = [libc::TCGETS, libc::TCGETS2, libc::TIOCGWINSZ];

/// The meaning of a call on files; `None` for other calls.
pub(super) fn meaning(call: &Call) -> Option<Meaning> {
    let [first, second, third, fourth, ..] = call.arguments;
    let here = libc::AT_FDCWD;
    #[cfg(target_arch = "x86_64")]
    if let Some(meaning) = of_older(call) {
        return Some(meaning);
    }
    let meaning = match call.number {
        libc::SYS_openat => call.opens(first as c_int, second, third),
        libc::SYS_openat2 => match tracee::number(call.process, third) {
            Some(flags) => call.opens(first as c_int, second, flags),
            None => Meaning::Nothing,
        },
        libc::SYS_newfstatat if fourth & libc::AT_SYMLINK_NOFOLLOW as u64 != 0 => {
            call.asks(first as c_int, second, Question::Link)
        }
        libc::SYS_statx if third & libc::AT_SYMLINK_NOFOLLOW as u64 != 0 => {
            call.asks(first as c_int, second, Question::Link)
        }
        libc::SYS_newfstatat | libc::SYS_statx => call.asks(first as c_int, second, Question::File),
        libc::SYS_faccessat | libc::SYS_faccessat2 => {
            call.asks(first as c_int, second, Question::Rights)
        }
        libc::SYS_readlinkat => call.asks(first as c_int, second, Question::Link),
        libc::SYS_getxattr | libc::SYS_listxattr | libc::SYS_statfs => {
            call.asks(here, first, Question::File)
        }
        libc::SYS_lgetxattr | libc::SYS_llistxattr => call.asks(here, first, Question::Link),
        libc::SYS_getdents64 => call.lists(first),
        libc::SYS_mkdirat => call.makes_directory(first as c_int, second),
        libc::SYS_unlinkat => call.writes(&[(first as c_int, second)], "removes"),
        libc::SYS_renameat | libc::SYS_renameat2 => call.writes(
            &[(first as c_int, second), (third as c_int, fourth)],
            "renames",
        ),
        // Without a path, they change an open file, which may be open for reading only.
        libc::SYS_fchownat | libc::SYS_utimensat if call.path(first as c_int, second).is_none() => {
            call.changes(first)
        }
        libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_utimensat => {
            call.writes(&[(first as c_int, second)], "changes")
        }
        libc::SYS_linkat => call.writes(&[(third as c_int, fourth)], "creates"),
        libc::SYS_symlinkat => call.writes(&[(second as c_int, third)], "creates"),
        libc::SYS_mknodat => call.writes(&[(first as c_int, second)], "creates"),
        libc::SYS_truncate => call.writes(&[(here, first)], "changes"),
        libc::SYS_ftruncate
        | libc::SYS_fchmod
        | libc::SYS_fchown
        | libc::SYS_fallocate
        | libc::SYS_fsync
        | libc::SYS_fdatasync => call.changes(first),
        libc::SYS_ioctl if TERMINAL_QUERIES.contains(&second) && first <= 2 => {
            Meaning::AsksTerminal(first as c_int)
        }
        // Children of the parent share these flags with their clients.
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
        libc::SYS_inotify_add_watch => call.asks(here, second, Question::File),
        _ => return None,
    };
    Some(meaning)
}

/// The meaning of a call without a directory, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn of_older(call: &Call) -> Option<Meaning> {
    let [first, second, ..] = call.arguments;
    let here = libc::AT_FDCWD;
    let meaning = match call.number {
        libc::SYS_open => call.opens(here, first, second),
        libc::SYS_creat => call.writes(&[(here, first)], "writes"),
        libc::SYS_stat => call.asks(here, first, Question::File),
        libc::SYS_access => call.asks(here, first, Question::Rights),
        libc::SYS_lstat | libc::SYS_readlink => call.asks(here, first, Question::Link),
        libc::SYS_mkdir => call.makes_directory(here, first),
        libc::SYS_rmdir | libc::SYS_unlink => call.writes(&[(here, first)], "removes"),
        libc::SYS_rename => call.writes(&[(here, first), (here, second)], "renames"),
        libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_utime
        | libc::SYS_utimes => call.writes(&[(here, first)], "changes"),
        libc::SYS_link | libc::SYS_symlink => call.writes(&[(here, second)], "creates"),
        libc::SYS_mknod => call.writes(&[(here, first)], "creates"),
        libc::SYS_getdents => call.lists(first),
        libc::SYS_futimesat if second == 0 => call.changes(first),
        libc::SYS_futimesat => call.writes(&[(first as c_int, second)], "changes"),
        _ => return None,
    };
    Some(meaning)
}

impl Call {
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
        match tracee::descriptor(self.process, fd as c_int) {
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
        match tracee::descriptor(self.process, fd as c_int) {
            Some(path) if path.is_absolute() && path.exists() => {
                Meaning::Writes(vec![path], "changes")
            }
            _ => Meaning::Nothing,
        }
    }

    /// Creating a directory that already exists only checks that it exists.
    fn makes_directory(&self, directory: c_int, at: u64) -> Meaning {
        match self.path(directory, at) {
            Some(path) if path.symlink_metadata().is_ok() => {
                Meaning::Asks(vec![(path, Question::File)])
            }
            _ => self.writes(&[(directory, at)], "creates"),
        }
    }

    /// Removes the file of a semaphore that this call would have named if it had not been killed.
    pub(in super::super) fn discard_semaphore(&self, created: &[PathBuf]) {
        if let Some(file) = self.linked().filter(|file| created.contains(file)) {
            let _ = std::fs::remove_file(file);
        }
    }

    /// The file that this call gives another name.
    pub(in super::super) fn linked(&self) -> Option<PathBuf> {
        let [first, second, ..] = self.arguments;
        match self.number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => self.path(libc::AT_FDCWD, first),
            libc::SYS_linkat => self.path(first as c_int, second),
            _ => None,
        }
    }

    pub(in super::super) fn links_symbolically(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.number == libc::SYS_symlink {
            return true;
        }
        self.number == libc::SYS_symlinkat
    }

    /// The object that this call creates, if the call fails when the object already exists
    /// (`O_EXCL`).
    pub(in super::super) fn creates(&self) -> Creates {
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
}

fn is_flag(request: u64) -> bool {
    [libc::FIOCLEX, libc::FIONCLEX, libc::FIONBIO, libc::FIONREAD].contains(&request)
}

/// The question for a path in /proc or /sys, where times are meaningless. `None` if the
/// content changes all the time or belongs to the process.
pub(in super::super) fn kernel_file_question(
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
    !UNAWARE.iter().any(|known| path == Path::new(known)) && is_special(&path)
}

/// Returns true for paths whose content may differ at each start without its metadata changing.
pub(super) fn is_momentary(path: &Path) -> bool {
    if path.starts_with("/proc") || path.starts_with("/sys") {
        return kernel_file_question(path, Question::File, 0).is_none();
    }
    is_special(path)
}

fn is_special(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm_parent::trial::calls::tests::{is_act, meaning, number};

    #[test]
    fn reading_is_a_question_and_writing_an_act() {
        let path = c"/etc/passwd".as_ptr() as u64;
        let here = number(libc::AT_FDCWD);
        let asked = |question| Meaning::Asks(vec![("/etc/passwd".into(), question)]);
        let opened = |flags| meaning(libc::SYS_openat, [here, path, number(flags), 0, 0, 0]);
        assert_eq!(
            opened(libc::O_RDONLY | libc::O_CLOEXEC),
            asked(Question::File)
        );
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT] {
            assert!(matches!(opened(flags), Meaning::Writes(..)), "{flags:o}");
        }
        let links = number(libc::AT_SYMLINK_NOFOLLOW);
        let stat = |flags| meaning(libc::SYS_newfstatat, [here, path, 0, flags, 0, 0]);
        assert_eq!(stat(links), asked(Question::Link));
        assert_eq!(stat(0), asked(Question::File));
    }

    #[test]
    fn devices_and_standard_streams_are_shared_with_others() {
        let flags = |fd, command| is_act(libc::SYS_fcntl, [fd, number(command), 0, 0, 0, 0]);
        assert!(flags(1, libc::F_SETFL) && !flags(9, libc::F_SETFL));
        assert!(is_act(libc::SYS_ioctl, [0, libc::FIONBIO, 0, 0, 0, 0]));
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
    fn creating_an_existing_directory_is_a_question() {
        let path = c"/proc".as_ptr() as u64;
        let here = number(libc::AT_FDCWD);
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

    #[test]
    fn momentary_contents_are_recognized() {
        assert!(is_momentary(Path::new("/proc/loadavg")) && is_momentary(Path::new("/dev/null")));
        assert!(!is_momentary(Path::new("/etc/passwd")));
    }
}
