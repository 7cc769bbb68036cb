//! Starts a command plainly: this process becomes it, with everything as it was given to
//! us.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use preheat_launch::{LaunchError, inherited};

/// Variables to set instead of the user's, for this start.
pub(crate) type Variables<'a> = &'a [(&'a str, OsString)];

/// Become the command; returns only if that cannot be.
pub(crate) fn exec(path: &Path, words: &[OsString], variables: Variables<'_>) -> LaunchError {
    let strings = |words: Vec<&[u8]>| -> Result<Vec<CString>, LaunchError> {
        let made: Result<_, _> = words.into_iter().map(CString::new).collect();
        made.map_err(|_| LaunchError::Failed("an argument has a NUL in it".into()))
    };
    let arguments = match strings(words.iter().map(|word| word.as_bytes()).collect()) {
        Ok(arguments) => arguments,
        Err(why) => return why,
    };
    let Ok(path_string) = CString::new(path.as_os_str().as_bytes()) else {
        return LaunchError::NotFound("a path cannot have a NUL in it".into());
    };
    for (name, value) in variables {
        // SAFETY: this process has one thread, and becomes another program now.
        unsafe { std::env::set_var(name, value) };
    }
    let mut pointers: Vec<*const libc::c_char> = arguments.iter().map(|one| one.as_ptr()).collect();
    pointers.push(std::ptr::null());
    as_given();
    // SAFETY: the path and all arguments end with NULs and live until the call, and so
    // does the array, which ends with a null.
    unsafe { libc::execv(path_string.as_ptr(), pointers.as_ptr()) };
    let mut why = io::Error::last_os_error();
    if why.raw_os_error() == Some(libc::ENOEXEC) {
        // It does not say who is to run it: shells do then, and so does `execvp`.
        let shell = c"/bin/sh";
        let rest = pointers.get(1..).unwrap_or(&[]);
        let by_shell = [&[shell.as_ptr(), path_string.as_ptr()], rest].concat();
        // SAFETY: as above; the array ends with the null of the other.
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

/// Undo what the standard library does before `main`.
fn as_given() {
    // SAFETY: signal and close take numbers. A standard stream that was closed is one that
    // the standard library opened to nowhere, and nobody uses it any more.
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
