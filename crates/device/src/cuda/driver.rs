//! The loaded driver; converts its error codes to errors.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::sys::{self, Code, Functions};
use crate::dynlib::{Library, candidates};
use crate::{Error, Kind, Result};

/// Library names; the second is a symlink that only development packages have.
pub(super) const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// The loaded driver.
pub(super) struct Driver {
    pub cu: Functions,
}

impl Driver {
    /// Loads the library and binds its functions, without calling any.
    pub fn load() -> Result<Driver> {
        let library = Library::open(&candidates(NAMES)).map_err(|answer| {
            unavailable(
                format!("libcuda.so.1 cannot be loaded ({answer})"),
                "install the NVIDIA driver, or in a container pass the GPU through (--gpus all)",
            )
        })?;
        // SAFETY: this is the NVIDIA driver, and sys.rs follows its cuda.h.
        let cu = unsafe { Functions::bind(&library) }.map_err(|symbol| {
            unavailable(
                format!("libcuda.so.1 has no {symbol}"),
                "update the NVIDIA driver: CUDA 11.0 or later is required",
            )
        })?;
        Ok(Driver { cu })
    }

    /// Calls `cuInit`; any failure means that no device is usable.
    pub fn initialize(&self) -> Result<()> {
        // SAFETY: flags must be 0.
        let code = unsafe { (self.cu.init)(0) };
        match code {
            sys::SUCCESS => Ok(()),
            _ => Err(self.no_device("cuInit", code)),
        }
    }

    /// The error for a machine with a driver but no usable device.
    pub fn no_device(&self, call: &str, code: Code) -> Error {
        unavailable(
            format!("{call} returned {}", self.describe(code)),
            hint_for(code),
        )
    }

    /// Converts the result of `call` to an error unless it succeeded.
    pub fn check(&self, call: &str, code: Code) -> Result<()> {
        match code {
            sys::SUCCESS => Ok(()),
            _ => Err(Error::failed(call, self.describe(code))),
        }
    }

    /// Like [`Driver::check`], for a call that allocates `requested` bytes.
    pub fn check_allocation(&self, call: &str, code: Code, requested: usize) -> Result<()> {
        match code {
            sys::OUT_OF_MEMORY => Err(Error::OutOfMemory {
                requested,
                detail: format!("{call} returned {}", self.describe(code)),
            }),
            _ => self.check(call, code),
        }
    }

    fn describe(&self, code: Code) -> String {
        let ask = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = ptr::null();
            // SAFETY: the function writes null or the address of a static string.
            let known = unsafe { function(code, &raw mut text) } == sys::SUCCESS && !text.is_null();
            // SAFETY: not null, so a NUL-terminated static string.
            known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        sentence(
            ask(self.cu.get_error_name).as_deref(),
            ask(self.cu.get_error_string).as_deref(),
            code,
        )
    }
}

fn sentence(name: Option<&str>, text: Option<&str>, code: Code) -> String {
    match (name, text) {
        (Some(name), Some(text)) => format!("{name} ({text})"),
        (Some(name), None) => name.to_owned(),
        _ => format!("error {code}, unknown to this driver"),
    }
}

fn hint_for(code: Code) -> &'static str {
    match code {
        sys::NO_DEVICE | sys::INVALID_DEVICE => {
            "check `nvidia-smi` and CUDA_VISIBLE_DEVICES; in a container pass the GPU through (--gpus all)"
        }
        sys::STUB_LIBRARY => {
            "remove the toolkit's `stubs` directory from LD_LIBRARY_PATH, so that the real driver is found"
        }
        sys::SYSTEM_NOT_READY => {
            "start the required system services first (nvidia-fabricmanager on NVSwitch machines)"
        }
        sys::SYSTEM_DRIVER_MISMATCH | sys::COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "libcuda and the kernel driver differ: reboot after a driver update, or remove the CUDA compat library from LD_LIBRARY_PATH"
        }
        _ => "check whether `nvidia-smi` works here, and look for NVRM in `dmesg`",
    }
}

/// The error for a machine without a CUDA device, with a hint.
pub(super) fn unavailable(because: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::Unavailable {
        kind: Kind::Cuda,
        because: because.into(),
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_named_if_known() {
        let name = Some("CUDA_ERROR_NO_DEVICE");
        assert_eq!(
            sentence(name, Some("no CUDA-capable device is detected"), 100),
            "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
        );
        assert_eq!(sentence(name, None, 100), "CUDA_ERROR_NO_DEVICE");
        assert!(sentence(None, None, 4711).contains("4711"));
    }

    #[test]
    fn every_failure_to_initialize_has_a_hint() {
        for code in [34, 100, 101, 802, 803, 804, 999] {
            assert!(!hint_for(code).is_empty());
        }
    }
}
