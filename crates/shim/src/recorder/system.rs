//! Direct system calls. The recorder must not call the C library's `open` and similar
//! functions: this library hooks them, and the program may have its own.

use super::thread::MAX_CHUNK;
use std::cell::UnsafeCell;
use std::ffi::c_long;
use std::ptr::null_mut;

/// One chunk: the kernel then allocates larger pieces of memory for it. In a cell, so that
/// it is not stored in the library; never written.
static ZEROS: Zeros = Zeros(UnsafeCell::new([0; MAX_CHUNK]));

struct Zeros(UnsafeCell<[u8; MAX_CHUNK]>);

// SAFETY: nothing writes it.
unsafe impl Sync for Zeros {}

/// Restores `errno` when dropped: the program must not notice our system calls.
pub(crate) struct Errno(i32);

impl Errno {
    pub(crate) fn keep() -> Errno {
        // SAFETY: the location of this thread's errno is always valid.
        Errno(unsafe { *libc::__errno_location() })
    }

    /// The current `errno` of this thread.
    pub(crate) fn now() -> i32 {
        // SAFETY: same as above.
        unsafe { *libc::__errno_location() }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: same as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// An open file; closed when dropped.
///
/// A program may close descriptors that it does not know, on another thread and at any
/// time, and get its own file under the same number right after. So ours has a number
/// beyond those that programs use, and is checked before each use.
pub(crate) struct File {
    fd: i32,
    /// Device and inode of the file; `None` if unknown.
    identity: Option<(u64, u64)>,
}

/// The first of our descriptors. Not much higher, since the kernel's table grows with it.
const FIRST_DESCRIPTOR: c_long = 960;

// A separate function that all callers share: some have little stack space.
#[inline(never)]
fn identity(fd: i32) -> Option<(u64, u64)> {
    // SAFETY: stat contains only numbers, for which zero is valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one stat.
    let asked = unsafe { libc::syscall(libc::SYS_fstat, c_long::from(fd), &raw mut status) };
    (asked == 0).then_some((status.st_dev, status.st_ino))
}

impl File {
    /// Opens the file whose path is the C string at the beginning of `path`.
    pub(crate) fn open(path: &[u8], flags: i32) -> Result<File, i32> {
        if !path.contains(&0) {
            return Err(libc::EINVAL);
        }
        // SAFETY: the path ends with a NUL within its bounds.
        let low = unsafe {
            libc::syscall(
                libc::SYS_openat,
                c_long::from(libc::AT_FDCWD),
                path.as_ptr(),
                c_long::from(flags | libc::O_CLOEXEC),
                0o600 as c_long,
            )
        };
        if low < 0 {
            return Err(Errno::now());
        }
        let identity = identity(low as i32);
        // SAFETY: no memory is involved; the lower one is ours.
        let fd = unsafe {
            let high = libc::syscall(
                libc::SYS_fcntl,
                low,
                c_long::from(libc::F_DUPFD_CLOEXEC),
                FIRST_DESCRIPTOR,
            );
            if high >= 0 {
                libc::syscall(libc::SYS_close, low);
                high
            } else {
                // The limit on descriptors is lower.
                low
            }
        };
        Ok(File {
            fd: fd as i32,
            identity,
        })
    }

    /// Returns whether the descriptor still refers to the file.
    fn is_ours(&self) -> bool {
        identity(self.fd) == self.identity
    }

    /// Restricts access to the user.
    pub(crate) fn make_private(&self) {
        // SAFETY: no memory is involved.
        unsafe { libc::syscall(libc::SYS_fchmod, c_long::from(self.fd), 0o600 as c_long) };
    }

    /// Reads until `bytes` is full or the file ends.
    pub(crate) fn read(&self, bytes: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..)
            && !rest.is_empty()
        {
            // SAFETY: the kernel writes at most `rest.len()` bytes to `rest`.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_read,
                    c_long::from(self.fd),
                    rest.as_mut_ptr(),
                    rest.len(),
                )
            };
            match got {
                1.. => done += got as usize,
                -1 if Errno::now() == libc::EINTR => {}
                _ => break,
            }
        }
        done
    }

    /// Allocates disk space for these bytes, so that writing to a mapping of them cannot
    /// fail, and brings them into memory: writing them at once costs a third of touching
    /// them page by page (on ext4; about the same in memory).
    pub(crate) fn reserve(&self, at: u64, bytes: usize) -> Result<(), i32> {
        if beyond_the_limit_of_files(at + bytes as u64) {
            // The system call would raise SIGXFSZ, which kills the process.
            return Err(libc::ENOSPC);
        }
        if !self.is_ours() {
            return Err(libc::EBADF);
        }
        loop {
            // SAFETY: no memory is involved.
            let result = unsafe {
                libc::syscall(
                    libc::SYS_fallocate,
                    c_long::from(self.fd),
                    0 as c_long,
                    at as c_long,
                    bytes as c_long,
                )
            };
            match result {
                0 => break,
                _ => match Errno::now() {
                    libc::EINTR => {}
                    libc::EOPNOTSUPP | libc::ENOSYS => break,
                    other => return Err(other),
                },
            }
        }
        self.write_zeros(at, bytes)
    }

    fn write_zeros(&self, at: u64, bytes: usize) -> Result<(), i32> {
        if !self.is_ours() {
            return Err(libc::EBADF);
        }
        let mut done = 0;
        while done < bytes {
            let count = (bytes - done).min(MAX_CHUNK);
            // SAFETY: `count` bytes of the zeros are read.
            let written = unsafe {
                libc::syscall(
                    libc::SYS_pwrite64,
                    c_long::from(self.fd),
                    ZEROS.0.get(),
                    count,
                    (at as usize + done) as c_long,
                )
            };
            match written {
                1.. => done += written as usize,
                0 => return Err(libc::ENOSPC),
                _ if Errno::now() == libc::EINTR => {}
                _ => return Err(Errno::now()),
            }
        }
        Ok(())
    }

    /// Maps bytes of the file, shared. Never unmapped, so that pointers into it stay valid.
    pub(crate) fn map(&self, at: u64, bytes: usize) -> Result<*mut u8, i32> {
        if !self.is_ours() {
            return Err(libc::EBADF);
        }
        let within = at as usize & (page_bytes() - 1);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let address = unsafe {
            libc::mmap(
                null_mut(),
                bytes + within,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.fd,
                (at as usize - within) as libc::off_t,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(Errno::now());
        }
        // SAFETY: `within` is less than the mapped length.
        Ok(unsafe { address.cast::<u8>().add(within) })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: the descriptor is ours.
            unsafe { libc::syscall(libc::SYS_close, c_long::from(self.fd)) };
        }
    }
}

fn page_bytes() -> usize {
    // SAFETY: no memory is involved.
    match unsafe { libc::sysconf(libc::_SC_PAGESIZE) } {
        bytes @ 1.. => bytes as usize,
        _ => 4096,
    }
}

fn beyond_the_limit_of_files(end: u64) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes one rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur != libc::RLIM_INFINITY && end > limit.rlim_cur
}

/// Private zeroed memory, which is zero again in a forked child if the kernel supports that
/// (Linux 4.14). Also returns whether it does.
pub(crate) fn private_memory(bytes: usize) -> Option<(*mut u8, bool)> {
    // SAFETY: a new mapping at an address that the kernel chooses.
    let address = unsafe {
        libc::mmap(
            null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the advice is for the mapping that was just made.
    let wiped = unsafe { libc::madvise(address, bytes, libc::MADV_WIPEONFORK) } == 0;
    Some((address.cast(), wiped))
}

/// The id of this thread.
pub(crate) fn thread_number() -> u32 {
    // SAFETY: no memory is involved.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

/// The id of this process, never cached.
pub(crate) fn process_number() -> u32 {
    // SAFETY: no memory is involved.
    (unsafe { libc::syscall(libc::SYS_getpid) }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_with_our_descriptor_is_left_alone() {
        let file = File::open(b"/proc/self/stat\0", libc::O_RDONLY).unwrap();
        assert!(file.is_ours());
        let other = File::open(b"/dev/null\0", libc::O_RDWR).unwrap();
        let (ours, theirs) = (file.fd, other.fd);
        // SAFETY: both descriptors belong to this test.
        assert_eq!(unsafe { libc::dup2(theirs, ours) }, ours);
        assert!(!file.is_ours());
        assert_eq!(file.reserve(0, 4096), Err(libc::EBADF));
        assert_eq!(file.map(0, 4096), Err(libc::EBADF));
        drop(file);
        assert_eq!(identity(ours), other.identity);
        // SAFETY: nothing else uses it.
        unsafe { libc::close(ours) };
    }
}
