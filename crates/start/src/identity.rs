//! The identity of a start: the properties that two starts must share to use the same warm
//! parent. These are inherited by a process and cannot be changed after a fork, or may
//! already matter while modules are imported.
//!
//! Each start supplies the rest (streams, arguments, umask, signals). Of the environment,
//! only the variables that the imports read must be equal.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use twox_hash::XxHash64;

use crate::invocation::{Invocation, Main};
use crate::reason::Reason;
use crate::warm_parent::root;

/// Lines of `/proc/self/status` with privileges, restrictions and affinity.
pub(crate) const STATUS: [&str; 15] = [
    "Uid",
    "Gid",
    "Groups",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
    "Speculation_Store_Bypass",
    "SpeculationIndirectBranch",
    "Cpus_allowed",
    "Mems_allowed",
];

/// Links in `/proc/self` that name the namespaces of a process.
pub(crate) const NAMESPACES: [&str; 10] = [
    "ns/cgroup",
    "ns/ipc",
    "ns/mnt",
    "ns/net",
    "ns/pid",
    "ns/pid_for_children",
    "ns/time",
    "ns/time_for_children",
    "ns/user",
    "ns/uts",
];

/// The identity of a start, as text: starts with equal texts may share a parent.
pub(crate) struct Identity {
    /// The program, equal for all users who run it from this directory.
    pub program: Vec<u8>,
    /// The program, followed by the properties of the process.
    pub whole: Vec<u8>,
    /// There is a controlling terminal; the parent then belongs to its session.
    pub terminal: bool,
    /// The session keyring, which a program inherits and may find keys in. It is not a part of
    /// the text: each login has another, and parents must not pile up.
    pub keyring: String,
}

impl Identity {
    /// The identity of a start of `invocation` by this process; fails if /proc is unreadable.
    pub(crate) fn of(invocation: &Invocation) -> Result<Identity, Reason> {
        let program = program(invocation);
        let mut text = Text(program.clone());
        text.put("exactly", stamp(&invocation.interpreter).as_bytes());
        let terminal = has_terminal();
        if terminal {
            // Not by rustix, in which a process ID is never 0: it is 0 for a session of another
            // namespace.
            // SAFETY: getsid takes a number and cannot fail for this process.
            text.put("session", unsafe { libc::getsid(0) }.to_string().as_bytes());
        }
        process(&mut text).map_err(|why| Reason::Proc(why.into()))?;
        Ok(Identity {
            program,
            whole: text.0,
            terminal,
            keyring: session_keyring(),
        })
    }
}

/// The name of a program, independent of the process that runs it.
pub(crate) fn name_of(invocation: &Result<Invocation, Reason>, path: &Path) -> String {
    name(&match invocation {
        Ok(invocation) => program(invocation),
        Err(_) => {
            let mut text = Text(Vec::new());
            text.path("file", &fs::canonicalize(path).unwrap_or_default());
            text.path("directory", &std::env::current_dir().unwrap_or_default());
            text.0
        }
    })
}

/// A short name for a text, its XXH64 hash. Names can collide, so readers must compare the
/// text too.
pub(crate) fn name(text: &[u8]) -> String {
    format!("{:016x}", XxHash64::oneshot(0, text))
}

/// A stamp that changes when the file does, even if its time of modification is set back; empty
/// if the file is missing. The format equals the one in `python/state.py`.
pub(crate) fn stamp(path: &Path) -> String {
    fs::metadata(path).map_or_else(
        |_| String::new(),
        |file| {
            let time = |seconds, rest| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
            let modified = time(file.mtime(), file.mtime_nsec());
            let changed = time(file.ctime(), file.ctime_nsec());
            let (size, inode, device) = (file.size(), file.ino(), file.dev());
            format!("{modified} {changed} {size} {inode} {device}")
        },
    )
}

/// A stamp for what is kept: the number of a device may be another after a restart, or in
/// another container with the same files.
pub(crate) fn lasting_stamp(path: &Path) -> String {
    fs::metadata(path).map_or_else(
        |_| String::new(),
        |file| {
            let time = i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec());
            format!("{time} {} {}", file.size(), file.ino())
        },
    )
}

/// Lines of a name and a value, with the length of the value, since it may contain line
/// breaks.
struct Text(Vec<u8>);

impl Text {
    fn put(&mut self, name: &str, value: &[u8]) {
        let head = format!("{name} {} ", value.len());
        self.0.extend_from_slice(head.as_bytes());
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }

    fn path(&mut self, name: &str, path: &Path) {
        self.put(name, path.as_os_str().as_bytes());
    }
}

fn program(invocation: &Invocation) -> Vec<u8> {
    let mut text = Text(Vec::new());
    text.put("preheat", crate::directories::version().as_bytes());
    text.path("interpreter", &invocation.interpreter);
    let file = fs::canonicalize(&invocation.interpreter).unwrap_or_default();
    text.path("file", &file);
    text.put("stamp", lasting_stamp(&file).as_bytes());
    for word in &invocation.words[..invocation.leading] {
        text.put("word", word.as_bytes());
    }
    text.put("name", invocation.name.as_bytes());
    match &invocation.main {
        Main::Code(code) => text.put("code", code.as_bytes()),
        Main::Input(content) => {
            let head = format!("{} {}", content.len(), name(content));
            text.put("input", head.as_bytes());
        }
        Main::Script(_) | Main::Module(_) => {}
    }
    // Relative paths of scripts, in PYTHONPATH and in modules start at this directory.
    text.path("directory", &std::env::current_dir().unwrap_or_default());
    text.0
}

/// Adds the properties of this process, except the session. Restrictions must be readable:
/// two sandboxes that hide them cannot be assumed to be the same.
fn process(text: &mut Text) -> io::Result<()> {
    let status = fs::read("/proc/self/status")?;
    for line in status.split(|&byte| byte == b'\n') {
        let (name, value) = line.split_at(line.iter().position(|&byte| byte == b':').unwrap_or(0));
        if let Some(name) = STATUS.iter().find(|known| known.as_bytes() == name) {
            text.put(name, value);
        }
    }
    // Control groups are omitted: a child is moved to those of the start.
    for file in [
        "personality",
        "oom_score_adj",
        "attr/current",
        "loginuid",
        "timerslack_ns",
        "coredump_filter",
    ] {
        let path = Path::new("/proc/self").join(file);
        text.put(file, &fs::read(path).unwrap_or_default());
    }
    text.put("root", root(Path::new("/"))?.as_bytes());
    for link in NAMESPACES {
        match fs::read_link(Path::new("/proc/self").join(link)) {
            Ok(path) => text.path(link, &path),
            // Older kernels have fewer namespaces.
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
    }
    for kind in 0..16 {
        let mut limit = MaybeUninit::<libc::rlimit>::uninit();
        // By number: a kernel may know more or fewer resources than rustix names.
        // SAFETY: getrlimit writes one struct if it returns 0; resources that the kernel
        // does not know are an error.
        let limit = unsafe {
            match libc::getrlimit(kind, limit.as_mut_ptr()) {
                0 => limit.assume_init(),
                _ => continue,
            }
        };
        text.put(
            "limit",
            format!("{kind} {} {}", limit.rlim_cur, limit.rlim_max).as_bytes(),
        );
    }
    // SAFETY: these take numbers only.
    let (nice, policy) = unsafe {
        (
            libc::getpriority(libc::PRIO_PROCESS, 0),
            libc::sched_getscheduler(0),
        )
    };
    text.put("nice", format!("{nice} {policy}").as_bytes());
    text.put("kernel", in_kernel().join(" ").as_bytes());
    Ok(())
}

/// Properties that only system calls return: priorities, the memory policy, restrictions that
/// `prctl` has set. If a call is forbidden or unknown, its error is used instead. rustix has only
/// some of these calls, and it checks their results, which may be of a newer kernel.
fn in_kernel() -> Vec<String> {
    const GET_SPECULATION: libc::c_int = 52;
    const GET_IO_FLUSHER: libc::c_int = 58;
    /// Store bypass, indirect branches, flushing of the cache.
    const SPECULATIONS: std::ops::Range<libc::c_long> = 0..3;
    const OF_PROCESS: libc::c_int = 1;
    const NODES: usize = 4096;
    let shown = |value: libc::c_long| match value {
        -1 => io::Error::last_os_error().to_string(),
        value => value.to_string(),
    };
    // SAFETY: zeroed parameters are valid values, and each call writes no more than its
    // buffers hold: one struct; one number and NODES bits; one number. The others take numbers
    // only.
    unsafe {
        let mut realtime: libc::sched_param = std::mem::zeroed();
        let realtime = match libc::sched_getparam(0, &mut realtime) {
            0 => realtime.sched_priority.to_string(),
            _ => shown(-1),
        };
        let (mut mode, mut nodes) = (0 as libc::c_int, [0u64; NODES / 64]);
        let (nowhere, none) = (std::ptr::null::<libc::c_void>(), 0 as libc::c_long);
        let policy = libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            nodes.as_mut_ptr(),
            NODES as libc::c_ulong,
            nowhere,
            none,
        );
        let policy = match policy {
            0 => format!("{mode} {nodes:x?}"),
            _ => shown(policy),
        };
        let asked = |what, of: libc::c_long| {
            let none: libc::c_long = 0;
            shown(libc::prctl(what, of, none, none, none).into())
        };
        let mut tsc: libc::c_int = 0;
        let read = libc::prctl(libc::PR_GET_TSC, &raw mut tsc);
        let tsc = if read == 0 {
            shown(tsc.into())
        } else {
            shown(-1)
        };
        let mut all = vec![
            shown(libc::syscall(libc::SYS_ioprio_get, OF_PROCESS, 0)),
            realtime,
            policy,
            asked(libc::PR_GET_SECUREBITS, 0),
            asked(libc::PR_GET_THP_DISABLE, 0),
            asked(libc::PR_GET_MDWE, 0),
            asked(GET_IO_FLUSHER, 0),
            tsc,
        ];
        all.extend(SPECULATIONS.map(|kind| asked(GET_SPECULATION, kind)));
        all
    }
}

/// The serial number of the session keyring, or the error: containers often forbid to ask.
///
/// A process without a session keyring gets the one of its user when it asks. That must not
/// happen to the process that becomes the program, so a child asks.
fn session_keyring() -> String {
    /// Writes the number, or the error as a negative one.
    extern "C" fn ask(to: *mut libc::c_void) -> libc::c_int {
        const GET_KEYRING_ID: libc::c_long = 0;
        const SESSION: libc::c_long = -3;
        const CREATES_NONE: libc::c_long = 0;
        // SAFETY: this command takes numbers only, and `to` is a number that the waiting
        // caller owns.
        unsafe {
            let answer = libc::syscall(libc::SYS_keyctl, GET_KEYRING_ID, SESSION, CREATES_NONE);
            *to.cast::<i64>() = match answer {
                -1 => -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
                serial => serial,
            };
        }
        0
    }
    let mut stack = [0u128; 4096];
    let mut answer = 0i64;
    // SAFETY: this process waits until the child, which shares its memory, has exited. Until
    // then the child has a separate stack, aligned to 16 bytes, and `answer`.
    let child = unsafe {
        let end = stack.as_mut_ptr_range().end.cast();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK;
        match libc::clone(ask, end, flags, (&raw mut answer).cast()) {
            -1 => Err(io::Error::last_os_error()),
            child => Ok(libc::waitpid(child, std::ptr::null_mut(), libc::__WALL)),
        }
    };
    match child {
        Err(why) => why.to_string(),
        Ok(_) if answer <= 0 => {
            io::Error::from_raw_os_error(answer.unsigned_abs() as i32).to_string()
        }
        Ok(_) => answer.to_string(),
    }
}

/// Returns true if this process has a controlling terminal.
fn has_terminal() -> bool {
    let stat = fs::read("/proc/self/stat").unwrap_or_default();
    // The name, in brackets, may contain any bytes; the terminal is the fifth field after it.
    let end = stat.iter().rposition(|&byte| byte == b')').unwrap_or(0);
    let terminal = stat[end..]
        .split(|&byte| byte == b' ')
        .nth(5)
        .unwrap_or(b"0");
    OsStr::from_bytes(terminal) != "0"
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    fn of(line: &str) -> Identity {
        let words: Vec<_> = line.split(' ').map(Into::into).collect();
        Identity::of(&Invocation {
            interpreter: "/bin/sh".into(),
            leading: words.len(),
            words,
            main: Main::Script("x.py".into()),
            name: "sh".into(),
        })
        .expect("/proc can be read")
    }

    #[test]
    fn only_equal_starts_have_equal_identities() {
        assert_eq!(of("python x.py").whole, of("python x.py").whole);
        assert_ne!(of("python x.py").whole, of("python -u x.py").whole);
        assert_ne!(of("a b").program, of("ab").program);
        assert!(
            of("python x.py")
                .whole
                .starts_with(&of("python x.py").program)
        );
    }

    #[test]
    fn the_identity_includes_privileges_and_limits() {
        let text = String::from_utf8_lossy(&of("python x.py").whole).into_owned();
        for name in [
            "Uid",
            "CapEff",
            "ns/mnt",
            "root",
            "limit",
            "nice",
            "Cpus_allowed",
        ] {
            assert!(text.contains(&format!("\n{name} ")), "{name}: {text}");
        }
    }

    #[test]
    fn the_identity_includes_the_io_priority() {
        let before = of("python x.py").whole;
        // The priority belongs to the thread.
        let lowered = std::thread::spawn(|| {
            let lowest: libc::c_int = (2 << 13) | 7;
            // SAFETY: ioprio_set takes numbers only.
            let set = unsafe { libc::syscall(libc::SYS_ioprio_set, 1, 0, lowest) } == 0;
            set.then(|| of("python x.py").whole)
        });
        if let Some(lowered) = lowered.join().expect("the thread does not panic") {
            assert_ne!(lowered, before);
        }
    }

    #[test]
    fn stamps_of_an_unchanged_file_are_equal() {
        assert_eq!(stamp(Path::new("/nowhere")), "");
        assert_eq!(stamp(Path::new("/bin/sh")), stamp(Path::new("/bin/sh")));
    }

    #[test]
    fn a_stamp_changes_with_a_file_whose_time_is_set_back() {
        let scratch = Scratch::new("stamp").expect("a directory for the test");
        let path = scratch.path().join("file");
        fs::write(&path, "one").expect("it is written");
        let before = stamp(&path);
        let file = fs::File::options().write(true).open(&path);
        let file = file.expect("it is ours");
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        // Until the clock of the file system has advanced.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, "two").expect("it is written");
        file.set_modified(modified.expect("it has one"))
            .expect("it is ours");
        assert_eq!(lasting_stamp(&path), before_lasting(&before));
        assert_ne!(stamp(&path), before);
    }

    /// The parts of a stamp that a lasting one has.
    fn before_lasting(stamp: &str) -> String {
        let parts: Vec<&str> = stamp.split(' ').collect();
        [parts[0], parts[2], parts[3]].join(" ")
    }
}
