//! Starts a command plainly: this process executes it, with everything that was inherited
//! restored.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use preheat_launch::{LaunchError, inherited};

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
