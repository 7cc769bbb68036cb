//! Background processes that are reparented to init: the program that this process executes
//! must not find a child that it did not start.
//!
//! Orphans are adopted by process 1 of a container, or by a subreaper. If that is this
//! process, nothing can run in the background; nor if its children are created in another
//! namespace, of which the first becomes process 1.
//!
//! Forks, `exec` and the actions of signals go through libc: rustix leaves them to the C library.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use preheat_launch::{LaunchError, inherited};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, child_subreaper, setpgid, setsid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::reason::Reason;

/// The reason why this process can leave nothing in the background, if there is one.
pub(crate) fn obstacle() -> Option<Reason> {
    if std::process::id() == 1 {
        Some(Reason::ProcessOne)
    } else if child_subreaper().is_ok_and(|adopts| adopts.is_some()) {
        Some(Reason::Adopts)
    } else if creates_children_elsewhere() {
        Some(Reason::ChildrenElsewhere)
    } else {
        None
    }
}

/// Returns true after `unshare` of a namespace that only children enter.
fn creates_children_elsewhere() -> bool {
    let kinds = ["pid", "time"];
    kinds.into_iter().any(|kind| {
        let own = format!("/proc/self/ns/{kind}");
        let of_children = format!("{own}_for_children");
        // Older kernels do not have it. One without a process cannot be read.
        fs::symlink_metadata(&of_children).is_ok()
            && fs::read_link(&of_children).ok() != fs::read_link(&own).ok()
    })
}

/// Runs `work` in a separate process, which exits afterwards.
pub(crate) fn run(work: impl FnOnce()) -> io::Result<()> {
    if let Some(why) = obstacle() {
        return Err(io::Error::other(why));
    }
    // SAFETY: this process has one thread, so a forked child may do anything that it may do.
    // The child exits at once and is waited for; the grandchild is reparented to init.
    unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                if libc::fork() == 0 {
                    work();
                }
                libc::_exit(0);
            }
            child => {
                // If SIGCHLD is ignored, it waits too, but then there is no status: that is an error.
                let ended = || waitpid(Pid::from_raw(child), WaitOptions::empty());
                while matches!(ended(), Err(Errno::INTR)) {}
            }
        }
    }
    Ok(())
}

/// Detaches from the user's start: closes all descriptors except `keep`, and leaves the
/// session, or with `terminal` only the job of the shell.
pub(crate) fn detach(keep: &[RawFd], terminal: bool) {
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let _ = match terminal {
        true => setpgid(None, None),
        false => setsid().map(drop),
    };
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        for stream in 0..3 {
            let _ = redirect(stream, &null);
        }
    }
    for fd in open {
        if fd > 2 && !keep.contains(&fd) {
            // Not by rustix, which requires open ones: that of the list is closed already.
            // SAFETY: close takes a number. This process does not use the descriptors that it
            // inherited, and exits without running destructors.
            unsafe { libc::close(fd) };
        }
    }
    // SAFETY: these take numbers, or a pointer to a set, of which zeroes are a valid value. No
    // handler is set.
    unsafe {
        for signal in 1..65 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Makes a standard stream refer to another open file.
pub(crate) fn redirect(stream: RawFd, to: impl AsFd) -> rustix::io::Result<()> {
    match stream {
        0 => dup2_stdin(to),
        1 => dup2_stdout(to),
        _ => dup2_stderr(to),
    }
}

// Starts a command plainly: this process executes it, with everything that was inherited
// restored.

/// Variables to set for this start, overriding the user's.
pub(crate) type Variables<'a> = &'a [(&'a str, OsString)];

/// Executes the command; returns only on failure.
pub(crate) fn exec(path: &Path, words: &[OsString], variables: Variables<'_>) -> LaunchError {
    let strings = |words: Vec<&[u8]>| -> Result<Vec<CString>, LaunchError> {
        let made: Result<_, _> = words.into_iter().map(CString::new).collect();
        made.map_err(|_| LaunchError::Failed("an argument contains a NUL byte".into()))
    };
    let arguments = match strings(words.iter().map(|word| word.as_bytes()).collect()) {
        Ok(arguments) => arguments,
        Err(why) => return why,
    };
    let Ok(path_string) = CString::new(path.as_os_str().as_bytes()) else {
        return LaunchError::NotFound("a path cannot contain a NUL byte".into());
    };
    for (name, value) in variables {
        // SAFETY: this process has one thread, and is about to execute another program.
        unsafe { std::env::set_var(name, value) };
    }
    let mut pointers: Vec<*const libc::c_char> = arguments.iter().map(|one| one.as_ptr()).collect();
    pointers.push(std::ptr::null());
    restore_inherited();
    // SAFETY: the path and all arguments end with NULs and live until the call, and so
    // does the array, which ends with a null pointer.
    unsafe { libc::execv(path_string.as_ptr(), pointers.as_ptr()) };
    let mut why = io::Error::last_os_error();
    if why.raw_os_error() == Some(libc::ENOEXEC) {
        // A script without a `#!` line is run by the shell, as `execvp` does.
        let shell = c"/bin/sh";
        let rest = pointers.get(1..).unwrap_or(&[]);
        let by_shell = [&[shell.as_ptr(), path_string.as_ptr()], rest].concat();
        // SAFETY: as above; the array ends with the null pointer of the other one.
        unsafe { libc::execv(shell.as_ptr(), by_shell.as_ptr()) };
        why = io::Error::last_os_error();
    }
    match why.kind() {
        io::ErrorKind::NotFound => {
            LaunchError::NotFound(format!("{} cannot be started: {why}", path.display()))
        }
        _ => LaunchError::CannotExecute(format!("{} cannot be executed: {why}", path.display())),
    }
}

/// Undoes what the standard library does before `main`.
fn restore_inherited() {
    // SAFETY: signal and close take numbers. A standard stream that was closed is now open
    // on /dev/null, by the standard library, and is no longer used.
    unsafe {
        let pipes = match inherited::ignores_broken_pipes() {
            true => libc::SIG_IGN,
            false => libc::SIG_DFL,
        };
        libc::signal(libc::SIGPIPE, pipes);
        for stream in 0..3 {
            if inherited::is_closed(stream) {
                libc::close(stream);
            }
        }
    }
}
