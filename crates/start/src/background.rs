//! Background processes that are reparented to init: the program that this process executes
//! must not find a child that it did not start.
//!
//! Orphans are adopted by process 1 of a container, or by a subreaper. If that is this
//! process, nothing can run in the background.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use crate::reason::Reason;

/// The reason why orphaned processes become children of this process, if they do.
pub(crate) fn adopts() -> Option<Reason> {
    let mut adopts: libc::c_int = 0;
    // SAFETY: prctl writes one number, to a valid location.
    let asked = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) } == 0;
    if std::process::id() == 1 {
        Some(Reason::ProcessOne)
    } else if asked && adopts != 0 {
        Some(Reason::Adopts)
    } else {
        None
    }
}

/// Runs `work` in a separate process, which exits afterwards.
pub(crate) fn run(work: impl FnOnce()) -> io::Result<()> {
    if let Some(why) = adopts() {
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
            child => while libc::waitpid(child, std::ptr::null_mut(), 0) < 0 {},
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
    // SAFETY: all of these take numbers, or pointers to valid sets. This process does not
    // use the descriptors that it inherited, and exits without running destructors.
    unsafe {
        if terminal {
            libc::setpgid(0, 0);
        } else {
            libc::setsid();
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for stream in 0..3 {
            libc::dup2(null, stream);
        }
        for fd in open {
            if fd > 2 && !keep.contains(&fd) && fd != null {
                libc::close(fd);
            }
        }
        if null > 2 {
            libc::close(null);
        }
        for signal in 1..65 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}
