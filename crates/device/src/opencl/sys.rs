//! Declarations of the OpenCL functions, as in `CL/cl.h` (OpenCL 1.2): types, constants and
//! prototypes, no behavior. Reference: <https://registry.khronos.org/OpenCL/>.

use std::ffi::{c_char, c_void};

use crate::dynlib::functions;

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
