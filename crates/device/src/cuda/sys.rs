//! Declarations of driver and NVRTC functions, as in their headers: types, constants and
//! prototypes, no behavior.
//!
//! The symbols carry the version suffixes that `cuda.h` adds by macro (`_v2`): the
//! bare names are older prototypes with 32-bit sizes.
//! Reference: <https://docs.nvidia.com/cuda/cuda-driver-api/> and
//! <https://docs.nvidia.com/cuda/nvrtc/>.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::dynlib::functions;

/// `CUresult`: 0 is success.
pub(crate) type Code = c_int;
/// `CUdevice`, an ordinal.
pub(crate) type RawDevice = c_int;
/// `CUdeviceptr`, an address on the device.
pub(crate) type DevicePointer = u64;
/// `CUcontext`, `CUstream`, `CUevent`, `CUmodule`, `CUfunction`, `CUmemoryPool`,
/// `CUlinkState`, `nvrtcProgram`: all opaque pointers.
pub(crate) type Opaque = *mut c_void;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const STUB_LIBRARY: Code = 34;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_DEVICE: Code = 101;
pub(crate) const SYSTEM_NOT_READY: Code = 802;
pub(crate) const SYSTEM_DRIVER_MISMATCH: Code = 803;
pub(crate) const COMPAT_NOT_SUPPORTED_ON_DEVICE: Code = 804;

/// `CUdevice_attribute`
pub(crate) const ATTRIBUTE_MAX_GRID_DIM_X: c_int = 5;
pub(crate) const ATTRIBUTE_MULTIPROCESSOR_COUNT: c_int = 16;
pub(crate) const ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
pub(crate) const ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_int = 76;
pub(crate) const ATTRIBUTE_MEMORY_POOLS_SUPPORTED: c_int = 115;

/// `CU_STREAM_NON_BLOCKING`: does not wait for the legacy default stream.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, a `cuuint64_t`.
pub(crate) const POOL_RELEASE_THRESHOLD: c_int = 4;
/// `CUjitInputType`
pub(crate) const JIT_INPUT_PTX: c_int = 1;
/// `CUjit_option`
pub(crate) const JIT_ERROR_LOG_BUFFER: c_int = 5;
pub(crate) const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

functions! {
    /// `cuda.h`
    struct Functions {
        required {
            get_error_name = "cuGetErrorName" (error: Code, text: *mut *const c_char) -> Code;
            get_error_string = "cuGetErrorString" (error: Code, text: *mut *const c_char) -> Code;
            init = "cuInit" (flags: c_uint) -> Code;
            driver_get_version = "cuDriverGetVersion" (version: *mut c_int) -> Code;

            device_get = "cuDeviceGet" (device: *mut RawDevice, ordinal: c_int) -> Code;
            device_get_name = "cuDeviceGetName"
                (name: *mut c_char, length: c_int, device: RawDevice) -> Code;
            device_total_mem = "cuDeviceTotalMem_v2" (bytes: *mut usize, device: RawDevice) -> Code;
            device_get_attribute = "cuDeviceGetAttribute"
                (value: *mut c_int, attribute: c_int, device: RawDevice) -> Code;
            device_get_pci_bus_id = "cuDeviceGetPCIBusId"
                (text: *mut c_char, length: c_int, device: RawDevice) -> Code;

            primary_ctx_retain = "cuDevicePrimaryCtxRetain"
                (context: *mut Opaque, device: RawDevice) -> Code;
            primary_ctx_release = "cuDevicePrimaryCtxRelease_v2" (device: RawDevice) -> Code;
            ctx_create = "cuCtxCreate_v2"
                (context: *mut Opaque, flags: c_uint, device: RawDevice) -> Code;
            ctx_destroy = "cuCtxDestroy_v2" (context: Opaque) -> Code;
            ctx_set_current = "cuCtxSetCurrent" (context: Opaque) -> Code;
            ctx_pop_current = "cuCtxPopCurrent_v2" (context: *mut Opaque) -> Code;

            stream_create = "cuStreamCreate" (stream: *mut Opaque, flags: c_uint) -> Code;
            stream_destroy = "cuStreamDestroy_v2" (stream: Opaque) -> Code;
            stream_synchronize = "cuStreamSynchronize" (stream: Opaque) -> Code;
            event_create = "cuEventCreate" (event: *mut Opaque, flags: c_uint) -> Code;
            event_destroy = "cuEventDestroy_v2" (event: Opaque) -> Code;

            mem_get_info = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize) -> Code;
            mem_alloc = "cuMemAlloc_v2" (pointer: *mut DevicePointer, bytes: usize) -> Code;
            mem_free = "cuMemFree_v2" (pointer: DevicePointer) -> Code;
            mem_host_alloc = "cuMemHostAlloc"
                (pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code;
            mem_free_host = "cuMemFreeHost" (pointer: *mut c_void) -> Code;
            memcpy_htod_async = "cuMemcpyHtoDAsync_v2"
                (target: DevicePointer, source: *const c_void, bytes: usize, stream: Opaque) -> Code;
            memcpy_dtoh_async = "cuMemcpyDtoHAsync_v2"
                (target: *mut c_void, source: DevicePointer, bytes: usize, stream: Opaque) -> Code;
            memcpy_dtod_async = "cuMemcpyDtoDAsync_v2"
                (target: DevicePointer, source: DevicePointer, bytes: usize, stream: Opaque) -> Code;

            module_load_data = "cuModuleLoadData"
                (module: *mut Opaque, image: *const c_void) -> Code;
            module_unload = "cuModuleUnload" (module: Opaque) -> Code;
            module_get_function = "cuModuleGetFunction"
                (function: *mut Opaque, module: Opaque, name: *const c_char) -> Code;
            link_create = "cuLinkCreate_v2"
                (count: c_uint, options: *mut c_int, values: *mut *mut c_void, state: *mut Opaque)
                -> Code;
            link_add_data = "cuLinkAddData_v2"
                (state: Opaque, kind: c_int, data: *mut c_void, bytes: usize, name: *const c_char,
                 count: c_uint, options: *mut c_int, values: *mut *mut c_void) -> Code;
            link_complete = "cuLinkComplete"
                (state: Opaque, cubin: *mut *mut c_void, bytes: *mut usize) -> Code;
            link_destroy = "cuLinkDestroy" (state: Opaque) -> Code;
            launch_kernel = "cuLaunchKernel"
                (function: Opaque,
                 grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
                 block_x: c_uint, block_y: c_uint, block_z: c_uint,
                 shared_bytes: c_uint, stream: Opaque,
                 parameters: *mut *mut c_void, extra: *mut *mut c_void) -> Code;
        }
        optional {
            // Since CUDA 11.2.
            mem_alloc_async = "cuMemAllocAsync"
                (pointer: *mut DevicePointer, bytes: usize, stream: Opaque) -> Code;
            mem_free_async = "cuMemFreeAsync" (pointer: DevicePointer, stream: Opaque) -> Code;
            device_get_default_mem_pool = "cuDeviceGetDefaultMemPool"
                (pool: *mut Opaque, device: RawDevice) -> Code;
            mem_pool_set_attribute = "cuMemPoolSetAttribute"
                (pool: Opaque, attribute: c_int, value: *mut c_void) -> Code;
            mem_pool_trim_to = "cuMemPoolTrimTo" (pool: Opaque, keep: usize) -> Code;
            // Since CUDA 12.4.
            func_load = "cuFuncLoad" (function: Opaque) -> Code;
        }
    }
}

functions! {
    /// `nvrtc.h`
    struct NvrtcFunctions {
        required {
            get_error_string = "nvrtcGetErrorString" (error: Code) -> *const c_char;
            version = "nvrtcVersion" (major: *mut c_int, minor: *mut c_int) -> Code;
            create_program = "nvrtcCreateProgram"
                (program: *mut Opaque, source: *const c_char, name: *const c_char,
                 count: c_int, headers: *const *const c_char, names: *const *const c_char) -> Code;
            destroy_program = "nvrtcDestroyProgram" (program: *mut Opaque) -> Code;
            compile_program = "nvrtcCompileProgram"
                (program: Opaque, count: c_int, options: *const *const c_char) -> Code;
            get_ptx_size = "nvrtcGetPTXSize" (program: Opaque, bytes: *mut usize) -> Code;
            get_ptx = "nvrtcGetPTX" (program: Opaque, text: *mut c_char) -> Code;
            get_log_size = "nvrtcGetProgramLogSize" (program: Opaque, bytes: *mut usize) -> Code;
            get_log = "nvrtcGetProgramLog" (program: Opaque, text: *mut c_char) -> Code;
        }
        optional {
            // Since CUDA 11.2.
            get_supported_count = "nvrtcGetNumSupportedArchs" (count: *mut c_int) -> Code;
            get_supported = "nvrtcGetSupportedArchs" (architectures: *mut c_int) -> Code;
        }
    }
}
