//! The standard input of later starts: the same as that of the first, if possible.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;

/// Standard input before the first start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A terminal, a device or nothing: every start inherits it unchanged.
    Shared,
    /// A file, read from this offset: every start opens it again.
    File(u64),
    /// A pipe or socket: data that the first start has read is gone.
    Once,
}

/// A path that opens our standard input again.
const OWN: &str = "/proc/self/fd/0";

/// Inspects standard input.
pub(crate) fn inspect() -> Input {
    // Only its type is queried: opening a pipe could block.
    let Ok(kind) = std::fs::metadata(OWN).map(|is| is.file_type()) else {
        return Input::Shared;
    };
    if kind.is_fifo() || kind.is_socket() {
        return Input::Once;
    }
    if !kind.is_file() {
        return Input::Shared;
    }
    // SAFETY: lseek gets no pointers; it returns the offset and changes nothing.
    let offset = unsafe { libc::lseek(libc::STDIN_FILENO, 0, libc::SEEK_CUR) };
    u64::try_from(offset).map_or(Input::Shared, Input::File)
}

impl Input {
    /// The input of the start with this number, from 0.
    pub(crate) fn of_start(self, number: usize) -> Stdio {
        match self {
            _ if number == 0 => Stdio::inherit(),
            Input::Shared => Stdio::inherit(),
            Input::Once => Stdio::null(),
            Input::File(offset) => match reopened(offset) {
                Some(file) => file.into(),
                None => {
                    // Use the same open file then, rewound.
                    // SAFETY: lseek gets no pointers.
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
