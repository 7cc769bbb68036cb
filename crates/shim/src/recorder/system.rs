//! The kernel, asked directly. The recorder must not call the C library's `open` and
//! its like: those are taken by this very library, and a target may have its own.

use std::ffi::c_long;
use std::ptr::null_mut;

/// Puts `errno` back when it is dropped: the target must not see what we did.
pub(crate) struct Errno(i32);

impl Errno {
    pub(crate) fn keep() -> Errno {
        // SAFETY: the location of this thread's errno is always valid.
        Errno(unsafe { *libc::__errno_location() })
    }

    /// What the last failed call on this thread left.
    pub(crate) fn now() -> i32 {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// An open file; closed when dropped.
pub(crate) struct File(i32);

impl File {
    /// Opens the file whose path is the C string at the beginning of `path`.
    pub(crate) fn open(path: &[u8], flags: i32) -> Result<File, i32> {
        if !path.contains(&0) {
            return Err(libc::EINVAL);
        }
        // SAFETY: the path ends with a NUL within its bounds.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_openat,
                c_long::from(libc::AT_FDCWD),
                path.as_ptr(),
                c_long::from(flags | libc::O_CLOEXEC),
                0o600 as c_long,
            )
        };
        if fd < 0 {
            Err(Errno::now())
        } else {
            Ok(File(fd as i32))
        }
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
                    c_long::from(self.0),
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

    /// Makes sure that the file has room on its disk for these bytes, so that writing
    /// to a mapping of them cannot fail.
    pub(crate) fn reserve(&self, at: u64, bytes: usize) -> Result<(), i32> {
        if beyond_the_limit_of_files(at + bytes as u64) {
            // Asking would raise SIGXFSZ, which kills.
            return Err(libc::ENOSPC);
        }
        loop {
            // SAFETY: no memory is involved.
            let result = unsafe {
                libc::syscall(
                    libc::SYS_fallocate,
                    c_long::from(self.0),
                    0 as c_long,
                    at as c_long,
                    bytes as c_long,
                )
            };
            if result == 0 {
                return Ok(());
            }
            match Errno::now() {
                libc::EINTR => {}
                libc::EOPNOTSUPP | libc::ENOSYS => return self.write_zeros(at, bytes),
                other => return Err(other),
            }
        }
    }

    fn write_zeros(&self, at: u64, bytes: usize) -> Result<(), i32> {
        static ZEROS: [u8; 16384] = [0; 16384];
        let mut done = 0;
        while done < bytes {
            let count = (bytes - done).min(ZEROS.len());
            // SAFETY: `count` bytes of the zeros are read.
            let written = unsafe {
                libc::syscall(
                    libc::SYS_pwrite64,
                    c_long::from(self.0),
                    ZEROS.as_ptr(),
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

    /// Maps bytes of the file, shared. Never unmapped: whoever holds a pointer into it
    /// may keep it.
    pub(crate) fn map(&self, at: u64, bytes: usize) -> Result<*mut u8, i32> {
        let within = at as usize & (page_bytes() - 1);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let address = unsafe {
            libc::mmap(
                null_mut(),
                bytes + within,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.0,
                (at as usize - within) as libc::off_t,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(Errno::now());
        }
        // SAFETY: `within` is less than what was mapped.
        Ok(unsafe { address.cast::<u8>().add(within) })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { libc::syscall(libc::SYS_close, c_long::from(self.0)) };
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

/// Private memory that is zero, and that a fork leaves zero in the child where the
/// kernel can do that (Linux 4.14); says whether it can.
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

/// This thread's number.
pub(crate) fn thread_number() -> u32 {
    // SAFETY: no memory is involved.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

/// This process's number, never a cached one.
pub(crate) fn process_number() -> u32 {
    // SAFETY: no memory is involved.
    (unsafe { libc::syscall(libc::SYS_getpid) }) as u32
}
