//! The request: what to initialize, and in which program. It is read and removed from the
//! environment, so that the program and its children get the user's environment.

use crate::environment::{leave, place, remove, variable};
use preheat_wire::variables;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

/// The maximum length of a path.
const MAX_PATH: usize = 4096;

/// A device and the driver's library.
pub(super) struct Plan {
    device: AtomicI32,
    /// Written once, before the device.
    driver: UnsafeCell<[u8; MAX_PATH]>,
}

// SAFETY: the path is not written after the device was published.
unsafe impl Sync for Plan {}

const NO_DEVICE: i32 = -1;

pub(super) static PLAN: Plan = Plan {
    device: AtomicI32::new(NO_DEVICE),
    driver: UnsafeCell::new([0; MAX_PATH]),
};

impl Plan {
    /// Sets the plan, once, before anything reads it.
    pub(super) fn set(&self, device: u64, driver: &[u8]) -> bool {
        let Ok(device) = i32::try_from(device) else {
            return false;
        };
        let is_free = self.device.load(Ordering::Acquire) == NO_DEVICE;
        if !is_free || driver.first() != Some(&b'/') || driver.len() >= MAX_PATH {
            return false;
        }
        // SAFETY: nothing reads it before the device is published below. This is called
        // before other threads exist, in the constructor, or with Python's global lock
        // held.
        let room = unsafe { &mut *self.driver.get() };
        for (to, &from) in room.iter_mut().zip(driver) {
            *to = from;
        }
        self.device.store(device, Ordering::Release);
        true
    }

    pub(super) fn get(&self) -> Option<(c_int, &CStr)> {
        let device = self.device.load(Ordering::Acquire);
        // SAFETY: published, and therefore no longer written.
        let driver = unsafe { &*self.driver.get() };
        let driver = CStr::from_bytes_until_nul(driver).ok()?;
        (device != NO_DEVICE).then_some((device, driver))
    }
}

/// Returns whether the initialization was requested.
pub(crate) fn is_requested() -> bool {
    PLAN.get().is_some()
}

/// The content of the variable.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    device: u64,
    shim: &'a [u8],
    driver: &'a [u8],
    program: &'a [u8],
}

fn parse(value: &[u8]) -> Option<Request<'_>> {
    let mut lines = value.split(|&byte| byte == b'\n');
    let mut next = || lines.next();
    let request = Request {
        device: std::str::from_utf8(next()?).ok()?.parse().ok()?,
        shim: next()?,
        driver: next()?,
        program: next()?,
    };
    next().is_none().then_some(request)
}

/// Removes the request from the environment, if it is for this program. A recording keeps
/// its variables.
///
/// # Safety
/// `environment` must be null or the array of this process, which nothing else accesses
/// yet.
pub(crate) unsafe fn take(environment: *mut *mut c_char) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(request) = variable(environment, variables::AHEAD).and_then(parse) else {
            return;
        };
        if !is_this_program(request.program) {
            return;
        }
        PLAN.set(request.device, request.driver);
        let is_recorded = variable(environment, variables::DIRECTORY).is_some();
        if let Some(place) = place(environment, "LD_PRELOAD")
            && !is_recorded
        {
            leave(place, request.shim);
        }
        if let Some(place) = place(environment, variables::AHEAD) {
            remove(place);
        }
    }
}

fn is_this_program(path: &[u8]) -> bool {
    let mut room = [0u8; MAX_PATH];
    // SAFETY: the kernel writes at most the length of the buffer.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            c"/proc/self/exe".as_ptr(),
            room.as_mut_ptr(),
            room.len(),
        )
    };
    usize::try_from(length).is_ok_and(|length| room.get(..length) == Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::strings;
    use std::ffi::CString;

    fn left(texts: &[&str]) -> Vec<String> {
        // Leaked: freeing them would use their lengths, which change.
        let texts = texts.iter().map(|text| CString::new(*text).unwrap());
        let mut array: Vec<_> = texts.map(CString::into_raw).collect();
        array.push(std::ptr::null_mut());
        // SAFETY: an array of writable C strings that ends with a null.
        unsafe {
            take(array.as_mut_ptr());
            let left = strings(array.as_ptr()).map(String::from_utf8_lossy);
            left.map(|text| text.into_owned()).collect()
        }
    }

    #[test]
    fn only_a_complete_request_is_parsed() {
        let request = Request {
            device: 3,
            shim: b"/shim",
            driver: b"/driver",
            program: b"/a b",
        };
        assert_eq!(parse(b"3\n/shim\n/driver\n/a b"), Some(request));
        for text in [
            "",
            "3",
            "x\n/s\n/d\n/p",
            "-1\n/s\n/d\n/p",
            "1\n/s\n/d\n/p\n",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn the_request_is_removed_only_in_its_program() {
        let this = std::env::current_exe().unwrap();
        let this = format!("PREHEAT_AHEAD=0\n/shim\n/driver\n{}", this.display());
        let left_of = |preload: &str| left(&["A=1", preload, &this, "B=2"]);
        assert_eq!(left_of("LD_PRELOAD=/shim"), ["A=1", "B=2"]);
        assert_eq!(left_of("LD_PRELOAD=/shim:"), ["A=1", "LD_PRELOAD=", "B=2"]);
        assert_eq!(
            left_of("LD_PRELOAD=/shim:/x.so y.so"),
            ["A=1", "LD_PRELOAD=/x.so y.so", "B=2"]
        );
        assert!(is_requested());
        let recorded = ["LD_PRELOAD=/shim", &this, "PREHEAT_DIRECTORY=/d"];
        assert_eq!(
            left(&recorded),
            ["LD_PRELOAD=/shim", "PREHEAT_DIRECTORY=/d"]
        );
        let other = [
            "LD_PRELOAD=/shim",
            "PREHEAT_AHEAD=0\n/shim\n/driver\n/bin/env",
        ];
        assert_eq!(left(&other), other);
    }
}
