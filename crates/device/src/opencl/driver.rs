//! The loaded ICD loader (the library that forwards calls to vendor drivers); converts its
//! error codes to errors.

use super::sys::{self, Code, Functions};
use crate::dynlib::{Library, candidates};
use crate::{Error, Kind, Result};

/// Library names; the second is a symlink that only development packages have.
pub(super) const NAMES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

/// The hint for machines without OpenCL.
pub(super) const HINT: &str =
    "install a vendor's OpenCL driver, or PoCL for the CPU (`apt install pocl-opencl-icd`)";

/// The loaded ICD loader.
pub(super) struct Driver {
    pub cl: Functions,
}

impl Driver {
    /// Loads the library and binds its functions, without calling any.
    pub fn load() -> Result<Driver> {
        let library = Library::open(&candidates(NAMES))
            .map_err(|answer| unavailable(format!("libOpenCL.so.1 cannot be loaded ({answer})")))?;
        // SAFETY: this is an OpenCL loader, and sys.rs follows CL/cl.h.
        let cl = unsafe { Functions::bind(&library) }.map_err(|symbol| {
            unavailable(format!("libOpenCL.so.1 has no {symbol} (OpenCL 1.2)"))
        })?;
        Ok(Driver { cl })
    }
}

/// Converts the result of `call` to an error unless it succeeded.
pub(super) fn check(call: &str, code: Code) -> Result<()> {
    match code {
        sys::SUCCESS => Ok(()),
        _ => Err(Error::failed(call, describe(code))),
    }
}

/// Like [`check`], for a call that allocates `requested` bytes.
pub(super) fn check_allocation(call: &str, code: Code, requested: usize) -> Result<()> {
    if sys::MEMORY_CODES.contains(&code) {
        return Err(out_of_memory(
            requested,
            format!("{call} returned {}", describe(code)),
        ));
    }
    check(call, code)
}

/// Creates an out-of-memory error.
pub(super) fn out_of_memory(requested: usize, detail: impl Into<String>) -> Error {
    Error::OutOfMemory {
        requested,
        detail: detail.into(),
    }
}

/// The error for a machine without an OpenCL device.
pub(super) fn unavailable(because: impl Into<String>) -> Error {
    Error::Unavailable {
        kind: Kind::OpenCl,
        because: because.into(),
        hint: HINT.to_owned(),
    }
}

fn describe(code: Code) -> String {
    match CODE_NAMES.iter().find(|(known, _)| *known == code) {
        Some((_, name)) => format!("CL_{name}"),
        None => format!("error {code}, unknown to OpenCL 1.2"),
    }
}

/// OpenCL has no function that returns the names of error codes.
const CODE_NAMES: &[(Code, &str)] = &[
    (-1, "DEVICE_NOT_FOUND"),
    (-2, "DEVICE_NOT_AVAILABLE"),
    (-3, "COMPILER_NOT_AVAILABLE"),
    (-4, "MEM_OBJECT_ALLOCATION_FAILURE"),
    (-5, "OUT_OF_RESOURCES"),
    (-6, "OUT_OF_HOST_MEMORY"),
    (-11, "BUILD_PROGRAM_FAILURE"),
    (-12, "MAP_FAILURE"),
    (-13, "MISALIGNED_SUB_BUFFER_OFFSET"),
    (-15, "COMPILE_PROGRAM_FAILURE"),
    (-16, "LINKER_NOT_AVAILABLE"),
    (-17, "LINK_PROGRAM_FAILURE"),
    (-30, "INVALID_VALUE"),
    (-32, "INVALID_PLATFORM"),
    (-33, "INVALID_DEVICE"),
    (-34, "INVALID_CONTEXT"),
    (-36, "INVALID_COMMAND_QUEUE"),
    (-37, "INVALID_HOST_PTR"),
    (-38, "INVALID_MEM_OBJECT"),
    (-43, "INVALID_BUILD_OPTIONS"),
    (-44, "INVALID_PROGRAM"),
    (-45, "INVALID_PROGRAM_EXECUTABLE"),
    (-46, "INVALID_KERNEL_NAME"),
    (-47, "INVALID_KERNEL_DEFINITION"),
    (-48, "INVALID_KERNEL"),
    (-49, "INVALID_ARG_INDEX"),
    (-50, "INVALID_ARG_VALUE"),
    (-51, "INVALID_ARG_SIZE"),
    (-52, "INVALID_KERNEL_ARGS"),
    (-53, "INVALID_WORK_DIMENSION"),
    (-54, "INVALID_WORK_GROUP_SIZE"),
    (-55, "INVALID_WORK_ITEM_SIZE"),
    (-58, "INVALID_EVENT"),
    (-59, "INVALID_OPERATION"),
    (-61, "INVALID_BUFFER_SIZE"),
    (-63, "INVALID_GLOBAL_WORK_SIZE"),
    (-66, "INVALID_COMPILER_OPTIONS"),
    (-67, "INVALID_LINKER_OPTIONS"),
    (-1001, "PLATFORM_NOT_FOUND_KHR"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_are_named() {
        let error = check("clFinish", -36).expect_err("not success");
        assert_eq!(
            error.to_string(),
            "clFinish failed: CL_INVALID_COMMAND_QUEUE"
        );
        assert!(describe(-4711).contains("-4711"));
        check("clFinish", 0).expect("success");
    }

    #[test]
    fn only_allocations_can_be_out_of_memory() {
        for code in [-4, -5, -6, -61] {
            let error = check_allocation("clCreateBuffer", code, 9).expect_err("not success");
            assert!(error.is_out_of_memory(), "{error}");
            assert!(
                !check("clFinish", code)
                    .expect_err("same")
                    .is_out_of_memory()
            );
        }
        let other = check_allocation("clCreateBuffer", -34, 9).expect_err("not success");
        assert!(!other.is_out_of_memory());
    }
}
