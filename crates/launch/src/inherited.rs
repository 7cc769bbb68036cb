//! The inherited state that the standard library changes before `main`: it ignores SIGPIPE,
//! and opens /dev/null for closed standard streams. The command gets back the original
//! state.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

static IGNORES_BROKEN_PIPES: AtomicBool = AtomicBool::new(false);
/// A bit for each of the three standard streams.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The loader calls this before the standard library starts.
#[used]
#[unsafe(link_section = ".init_array")]
static CAPTURE: extern "C" fn() = capture;

extern "C" fn capture() {
    // rustix leaves the actions of signals to the C library.
    // SAFETY: a zeroed sigaction is a valid value, and sigaction writes one; fcntl gets
    // only numbers. Nothing here needs the standard library, which has not started yet.
    unsafe {
        let mut pipes: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut pipes) == 0;
        let ignored = known && pipes.sa_sigaction == libc::SIG_IGN;
        IGNORES_BROKEN_PIPES.store(ignored, Ordering::Relaxed);
        for stream in 0..3 {
            if libc::fcntl(stream, libc::F_GETFD) < 0 {
                CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
            }
        }
    }
}

/// Returns whether this process was started with SIGPIPE ignored.
pub fn ignores_broken_pipes() -> bool {
    IGNORES_BROKEN_PIPES.load(Ordering::Relaxed)
}

/// Returns whether this process was started without this standard stream.
pub fn is_closed(stream: libc::c_int) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << stream) != 0
}

/// In the child, before `exec`: closes the standard streams that were closed before, except
/// for those that it was `given`.
pub(crate) fn close_again(given: [bool; 3]) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
    move || {
        for (stream, given) in (0..).zip(given) {
            if is_closed(stream) && !given {
                // SAFETY: close gets only a number. Nothing else in this child uses it: it
                // replaces a stream that was closed.
                unsafe { libc::close(stream) };
            }
        }
        Ok(())
    }
}

// The standard input of later starts: the same as that of the first, if possible.

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
    let Ok(kind) = std::fs::metadata(OWN).map(|input| input.file_type()) else {
        return Input::Shared;
    };
    if kind.is_fifo() || kind.is_socket() {
        return Input::Once;
    }
    if !kind.is_file() {
        return Input::Shared;
    }
    rustix::fs::tell(io::stdin()).map_or(Input::Shared, Input::File)
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
                    let _ = rustix::fs::seek(io::stdin(), rustix::fs::SeekFrom::Start(offset));
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
