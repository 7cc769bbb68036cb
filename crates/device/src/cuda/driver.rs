//! The loaded driver, and the one place where its answers become errors.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::sys::{self, Code, Functions};
use crate::dynlib::{Library, candidates};
use crate::{Error, Kind, Result};

/// The library's names; the second is the link that only developers' packages have.
pub(super) const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// The loaded driver.
pub(super) struct Driver {
    /// Its functions.
    pub cu: Functions,
}

impl Driver {
    /// Load the library and bind its functions, without calling one.
    pub fn load() -> Result<Driver> {
        let library = Library::open(&candidates(NAMES)).map_err(|answer| {
            unavailable(
                format!("libcuda.so.1 cannot be loaded ({answer})"),
                "install NVIDIA's driver, or in a container pass the GPU through (--gpus all)",
            )
        })?;
        // SAFETY: this is NVIDIA's driver, and sys.rs follows its cuda.h.
        let cu = unsafe { Functions::bind(&library) }.map_err(|symbol| {
            unavailable(
                format!("its libcuda.so.1 has no {symbol}"),
                "update NVIDIA's driver: CUDA 11.0 or later is needed",
            )
        })?;
        Ok(Driver { cu })
    }

    /// `cuInit`, whose failures all mean that there is no usable device.
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
            format!("{call} answered {}", self.describe(code)),
            hint_for(code),
        )
    }

    /// Success, or the driver's answer to `call` as an error.
    pub fn check(&self, call: &str, code: Code) -> Result<()> {
        match code {
            sys::SUCCESS => Ok(()),
            _ => Err(Error::failed(call, self.describe(code))),
        }
    }

    /// As [`Driver::check`], for a call that was to give `requested` bytes.
    pub fn check_allocation(&self, call: &str, code: Code, requested: usize) -> Result<()> {
        match code {
            sys::OUT_OF_MEMORY => Err(Error::OutOfMemory {
                requested,
                detail: format!("{call} answered {}", self.describe(code)),
            }),
            _ => self.check(call, code),
        }
    }

    fn describe(&self, code: Code) -> String {
        let ask = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = ptr::null();
            // SAFETY: the function writes null or the address of a static string.
            let known = unsafe { function(code, &raw mut text) } == sys::SUCCESS && !text.is_null();
            // SAFETY: not null, so a NUL-terminated string that lives for ever.
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
        _ => format!("error {code}, which this driver does not know by name"),
    }
}

fn hint_for(code: Code) -> &'static str {
    match code {
        sys::NO_DEVICE | sys::INVALID_DEVICE => {
            "look at `nvidia-smi` and at CUDA_VISIBLE_DEVICES; in a container pass the GPU through (--gpus all)"
        }
        sys::STUB_LIBRARY => {
            "take the toolkit's `stubs` directory out of LD_LIBRARY_PATH, so that the real driver is found"
        }
        sys::SYSTEM_NOT_READY => {
            "start what the system needs first (nvidia-fabricmanager on NVSwitch machines)"
        }
        sys::SYSTEM_DRIVER_MISMATCH | sys::COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "libcuda and the kernel driver differ: reboot after a driver update, or take the CUDA compat library out of LD_LIBRARY_PATH"
        }
        _ => "see whether `nvidia-smi` works here, and what `dmesg` says of NVRM",
    }
}

/// Why there is no CUDA device, and what would change that.
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
    fn answers_are_named_as_far_as_they_are_known() {
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
