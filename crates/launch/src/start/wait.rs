//! Waits for the command: its stops, its end, and its total usage.

use std::io;

use crate::signals;

/// Blocks until the process has ended. It is not reaped, so that it can be sampled once
/// more and its pid is not reused.
pub(super) fn until_ended(pid: u32) {
    loop {
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        match wait(pid, options) {
            Ok((libc::CLD_STOPPED, signal)) => {
                // Consumes the event, so that it is not reported again.
                let _ = wait(pid, libc::WSTOPPED | libc::WNOHANG);
                signals::stop_too(pid, signal);
            }
            Ok(_) => return,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            // There is nothing to wait for.
            Err(_) => return,
        }
    }
}

/// The event of the process, and its signal or exit code.
fn wait(pid: u32, options: libc::c_int) -> io::Result<(libc::c_int, libc::c_int)> {
    // SAFETY: a zeroed siginfo_t is a valid value, and waitid writes one, with the
    // fields of a child.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        match libc::waitid(libc::P_PID, pid, &mut info, options) {
            0 => Ok((info.si_code, info.si_status())),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Reaps a process that has ended. Returns its exit code (128 + n for signal n), and the
/// peak resident size of it and of the children that it waited for, in bytes.
pub(super) fn reap(pid: u32) -> io::Result<(i32, u64)> {
    let mut status = 0;
    // SAFETY: a zeroed rusage is a valid value; wait4 writes one and a status.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        while libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            let why = io::Error::last_os_error();
            if why.kind() != io::ErrorKind::Interrupted {
                return Err(why);
            }
        }
        usage
    };
    let code = match libc::WIFSIGNALED(status) {
        true => 128 + libc::WTERMSIG(status),
        false => libc::WEXITSTATUS(status),
    };
    Ok((code, peak_resident(&usage)))
}

/// The peak resident size of this process.
pub(super) fn own_peak_resident() -> u64 {
    // SAFETY: a zeroed rusage is a valid value, and getrusage writes one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    peak_resident(&usage)
}

fn peak_resident(usage: &libc::rusage) -> u64 {
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024
}
