//! The ICD loader (the library that forwards calls to vendor drivers): declarations of its
//! functions as in `CL/cl.h` (OpenCL 1.2: types, constants and prototypes), the loaded library,
//! and its error codes as errors. Reference: <https://registry.khronos.org/OpenCL/>.

use std::ffi::{c_char, c_void};

use crate::dynlib::{Library, candidates, functions};
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
        // SAFETY: this is an OpenCL loader, and the declarations follow CL/cl.h.
        let cl = unsafe { Functions::bind(&library) }.map_err(|symbol| {
            unavailable(format!("libOpenCL.so.1 has no {symbol} (OpenCL 1.2)"))
        })?;
        Ok(Driver { cl })
    }
}

/// Converts the result of `call` to an error unless it succeeded.
pub(super) fn check(call: &str, code: Code) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        _ => Err(Error::failed(call, describe(code))),
    }
}

/// Like [`check`], for a call that allocates `requested` bytes.
pub(super) fn check_allocation(call: &str, code: Code, requested: usize) -> Result<()> {
    if MEMORY_CODES.contains(&code) {
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

/// `cl_int` as an error code: 0 is success.
pub(super) type Code = i32;
/// `cl_platform_id`, `cl_device_id`, `cl_context`, `cl_command_queue`, `cl_mem`,
/// `cl_program`, `cl_kernel`, `cl_event`: all opaque pointers.
pub(super) type Opaque = *mut c_void;
/// `cl_bitfield`
pub(super) type Bits = u64;
/// A callback that is never passed.
type NoCallback = *const c_void;

pub(super) const SUCCESS: Code = 0;
pub(super) const DEVICE_NOT_FOUND: Code = -1;
pub(super) const PLATFORM_NOT_FOUND: Code = -1001;
/// The error codes that mean out of memory when returned by an allocation.
pub(super) const MEMORY_CODES: [Code; 4] = [-4, -5, -6, -61];

pub(super) const TRUE: u32 = 1;
/// The status of an event whose work is complete.
pub(super) const COMPLETE: i32 = 0;
pub(super) const DEVICE_TYPE_CPU: Bits = 1 << 1;
pub(super) const DEVICE_TYPE_GPU: Bits = 1 << 2;
pub(super) const DEVICE_TYPE_ACCELERATOR: Bits = 1 << 3;
pub(super) const DEVICE_TYPE_ALL: Bits = 0xFFFF_FFFF;
pub(super) const PLATFORM_NAME: u32 = 0x0902;
pub(super) const DEVICE_TYPE: u32 = 0x1000;
pub(super) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub(super) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
pub(super) const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
pub(super) const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
pub(super) const DEVICE_NAME: u32 = 0x102B;
pub(super) const DRIVER_VERSION: u32 = 0x102D;
pub(super) const DEVICE_VERSION: u32 = 0x102F;
pub(super) const MEM_READ_WRITE: Bits = 1;
pub(super) const MEM_ALLOC_HOST_PTR: Bits = 1 << 4;
pub(super) const MAP_READ: Bits = 1;
pub(super) const MAP_WRITE: Bits = 1 << 1;
pub(super) const PROGRAM_BUILD_LOG: u32 = 0x1183;
pub(super) const BUFFER_CREATE_TYPE_REGION: u32 = 0x1220;

/// `cl_buffer_region`
#[repr(C)]
pub(super) struct Region {
    pub origin: usize,
    pub size: usize,
}

functions! {
    /// `CL/cl.h`
    struct Functions {
        required {
            get_platforms = "clGetPlatformIDs"
                (room: u32, platforms: *mut Opaque, count: *mut u32) -> Code;
            get_platform_info = "clGetPlatformInfo"
                (platform: Opaque, what: u32, room: usize, value: *mut c_void, bytes: *mut usize)
                -> Code;
            get_devices = "clGetDeviceIDs"
                (platform: Opaque, kind: Bits, room: u32, devices: *mut Opaque, count: *mut u32)
                -> Code;
            get_device_info = "clGetDeviceInfo"
                (device: Opaque, what: u32, room: usize, value: *mut c_void, bytes: *mut usize)
                -> Code;
            create_context = "clCreateContext"
                (properties: *const isize, count: u32, devices: *const Opaque,
                 notify: NoCallback, data: *mut c_void, code: *mut Code) -> Opaque;
            release_context = "clReleaseContext" (context: Opaque) -> Code;
            create_queue = "clCreateCommandQueue"
                (context: Opaque, device: Opaque, properties: Bits, code: *mut Code) -> Opaque;
            release_queue = "clReleaseCommandQueue" (queue: Opaque) -> Code;
            finish = "clFinish" (queue: Opaque) -> Code;
            create_user_event = "clCreateUserEvent" (context: Opaque, code: *mut Code) -> Opaque;
            set_user_event_status = "clSetUserEventStatus" (event: Opaque, status: i32) -> Code;
            release_event = "clReleaseEvent" (event: Opaque) -> Code;

            create_buffer = "clCreateBuffer"
                (context: Opaque, flags: Bits, bytes: usize, host: *mut c_void, code: *mut Code)
                -> Opaque;
            create_sub_buffer = "clCreateSubBuffer"
                (buffer: Opaque, flags: Bits, kind: u32, what: *const c_void, code: *mut Code)
                -> Opaque;
            release_memory = "clReleaseMemObject" (memory: Opaque) -> Code;
            fill_buffer = "clEnqueueFillBuffer"
                (queue: Opaque, buffer: Opaque, pattern: *const c_void, pattern_bytes: usize,
                 offset: usize, bytes: usize, waits: u32, wait: *const Opaque, event: *mut Opaque)
                -> Code;
            write_buffer = "clEnqueueWriteBuffer"
                (queue: Opaque, buffer: Opaque, blocking: u32, offset: usize, bytes: usize,
                 source: *const c_void, waits: u32, wait: *const Opaque, event: *mut Opaque)
                -> Code;
            read_buffer = "clEnqueueReadBuffer"
                (queue: Opaque, buffer: Opaque, blocking: u32, offset: usize, bytes: usize,
                 target: *mut c_void, waits: u32, wait: *const Opaque, event: *mut Opaque)
                -> Code;
            copy_buffer = "clEnqueueCopyBuffer"
                (queue: Opaque, source: Opaque, target: Opaque, source_offset: usize,
                 target_offset: usize, bytes: usize, waits: u32, wait: *const Opaque,
                 event: *mut Opaque) -> Code;
            map_buffer = "clEnqueueMapBuffer"
                (queue: Opaque, buffer: Opaque, blocking: u32, flags: Bits, offset: usize,
                 bytes: usize, waits: u32, wait: *const Opaque, event: *mut Opaque,
                 code: *mut Code) -> *mut c_void;
            unmap_memory = "clEnqueueUnmapMemObject"
                (queue: Opaque, memory: Opaque, mapped: *mut c_void, waits: u32,
                 wait: *const Opaque, event: *mut Opaque) -> Code;

            create_program = "clCreateProgramWithSource"
                (context: Opaque, count: u32, texts: *const *const c_char, lengths: *const usize,
                 code: *mut Code) -> Opaque;
            build_program = "clBuildProgram"
                (program: Opaque, count: u32, devices: *const Opaque, options: *const c_char,
                 notify: NoCallback, data: *mut c_void) -> Code;
            compile_program = "clCompileProgram"
                (program: Opaque, count: u32, devices: *const Opaque, options: *const c_char,
                 headers: u32, header_programs: *const Opaque, names: *const *const c_char,
                 notify: NoCallback, data: *mut c_void) -> Code;
            link_program = "clLinkProgram"
                (context: Opaque, count: u32, devices: *const Opaque, options: *const c_char,
                 inputs: u32, programs: *const Opaque, notify: NoCallback, data: *mut c_void,
                 code: *mut Code) -> Opaque;
            release_program = "clReleaseProgram" (program: Opaque) -> Code;
            get_build_info = "clGetProgramBuildInfo"
                (program: Opaque, device: Opaque, what: u32, room: usize, value: *mut c_void,
                 bytes: *mut usize) -> Code;
            create_kernel = "clCreateKernel"
                (program: Opaque, name: *const c_char, code: *mut Code) -> Opaque;
            release_kernel = "clReleaseKernel" (kernel: Opaque) -> Code;
            set_kernel_arg = "clSetKernelArg"
                (kernel: Opaque, index: u32, bytes: usize, value: *const c_void) -> Code;
            enqueue_kernel = "clEnqueueNDRangeKernel"
                (queue: Opaque, kernel: Opaque, dimensions: u32, offset: *const usize,
                 global: *const usize, local: *const usize, waits: u32, wait: *const Opaque,
                 event: *mut Opaque) -> Code;
        }
        optional {}
    }
}

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
