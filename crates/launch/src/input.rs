//! What a later start reads: the same as the first one, where that can be had again.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;

/// Standard input, as it was before the first start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A terminal, a device or nothing: every start has it as it is.
    Shared,
    /// A file, read from here on: every start opens it anew.
    File(u64),
    /// A pipe or socket: what the first start has read is gone.
    Once,
}

/// A path to our own standard input that opens it anew.
const OWN: &str = "/proc/self/fd/0";

/// Look at it.
pub(crate) fn look() -> Input {
    // Opening would read nothing, but could block on a pipe: only its kind is asked for.
    let Ok(kind) = std::fs::metadata(OWN).map(|is| is.file_type()) else {
        return Input::Shared;
    };
    if kind.is_fifo() || kind.is_socket() {
        return Input::Once;
    }
    if !kind.is_file() {
        return Input::Shared;
    }
    // SAFETY: lseek takes no pointers; it tells the offset and changes nothing.
    let offset = unsafe { libc::lseek(libc::STDIN_FILENO, 0, libc::SEEK_CUR) };
    u64::try_from(offset).map_or(Input::Shared, Input::File)
}

impl Input {
    /// What the start with this number gets, from 0.
    pub(crate) fn of_start(self, number: usize) -> Stdio {
        match self {
            _ if number == 0 => Stdio::inherit(),
            Input::Shared => Stdio::inherit(),
            Input::Once => Stdio::null(),
            Input::File(offset) => match reopened(offset) {
                Some(file) => file.into(),
                None => {
                    // The same open file then, wound back.
                    // SAFETY: lseek takes no pointers.
                    unsafe {
                        libc::lseek(libc::STDIN_FILENO, offset as libc::off_t, libc::SEEK_SET)
                    };
                    Stdio::inherit()
                }
            },
        }
    }
}

fn reopened(offset: u64) -> Option<File> {
    let mut file = File::open(OWN).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    Some(file)
}
