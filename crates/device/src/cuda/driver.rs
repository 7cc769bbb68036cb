//! The NVIDIA driver: declarations of its functions as in `cuda.h` (types, constants and
//! prototypes), the loaded library, and its error codes as errors.
//!
//! The symbols carry the version suffixes that `cuda.h` adds by macro (`_v2`): the
//! bare names are older prototypes with 32-bit sizes.
//! Reference: <https://docs.nvidia.com/cuda/cuda-driver-api/> and
//! <https://docs.nvidia.com/cuda/nvrtc/>.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use crate::dynlib::{Library, candidates, functions};
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
        // SAFETY: this is the NVIDIA driver, and the declarations follow its cuda.h.
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
            SUCCESS => Ok(()),
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
            SUCCESS => Ok(()),
            _ => Err(Error::failed(call, self.describe(code))),
        }
    }

    /// Like [`Driver::check`], for a call that allocates `requested` bytes.
    pub fn check_allocation(&self, call: &str, code: Code, requested: usize) -> Result<()> {
        match code {
            OUT_OF_MEMORY => Err(Error::OutOfMemory {
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
            let known = unsafe { function(code, &raw mut text) } == SUCCESS && !text.is_null();
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
        NO_DEVICE | INVALID_DEVICE => {
            "check `nvidia-smi` and CUDA_VISIBLE_DEVICES; in a container pass the GPU through (--gpus all)"
        }
        STUB_LIBRARY => {
            "remove the toolkit's `stubs` directory from LD_LIBRARY_PATH, so that the real driver is found"
        }
        SYSTEM_NOT_READY => {
            "start the required system services first (nvidia-fabricmanager on NVSwitch machines)"
        }
        SYSTEM_DRIVER_MISMATCH | COMPAT_NOT_SUPPORTED_ON_DEVICE => {
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
