//! The functions of the CUDA driver, sorted by name.

use super::{Detail, Entry, HandlePosition, Library, NONE, Then, entry};

const fn hooked(name: &'static str, detail: Detail) -> Entry {
    entry(name, Library::Driver, detail)
}

const fn plain(name: &'static str) -> Entry {
    hooked(name, Detail::Plain)
}

const fn heavy(name: &'static str) -> Entry {
    hooked(name, Detail::Heavy)
}

/// An allocation whose address is stored where the first argument points; its size is the
/// second.
const fn allocates(name: &'static str, stream: u8) -> Entry {
    let mut entry = hooked(
        name,
        Detail::Allocate {
            bytes: 1,
            place: HandlePosition::Out(0),
            stream,
        },
    );
    entry.hot = stream != NONE;
    entry
}

/// A copy with its destination first.
const fn copies(name: &'static str, from: u8, bytes: u8, stream: u8) -> Entry {
    hooked(
        name,
        Detail::Copy {
            bytes,
            to: 0,
            from,
            stream,
        },
    )
}

const fn described(name: &'static str, sizes: u8, stream: u8) -> Entry {
    hooked(name, Detail::CopyDescribed { sizes, stream })
}

const fn loads(name: &'static str, is_file: bool) -> Entry {
    hooked(name, Detail::Module { code: 1, is_file })
}

const LOOKUP: Detail = Detail::Lookup {
    name: 2,
    place: HandlePosition::Out(0),
};

pub(super) static TABLE: &[Entry] = &[
    hooked("cuArray3DCreate", Detail::AllocateArray { sizes: 3 }).old(),
    hooked("cuArrayCreate", Detail::AllocateArray { sizes: 2 }).old(),
    hooked("cuArrayDestroy", Detail::Free(0)),
    heavy("cuCtxCreate").then(Then::Context),
    heavy("cuCtxDestroy"),
    heavy("cuCtxEnablePeerAccess"),
    plain("cuCtxSetLimit"),
    plain("cuCtxSynchronize"),
    plain("cuCtxWaitEvent").often(),
    heavy("cuDevicePrimaryCtxRelease"),
    heavy("cuDevicePrimaryCtxReset"),
    heavy("cuDevicePrimaryCtxRetain").then(Then::Context),
    plain("cuEventCreate"),
    plain("cuEventDestroy"),
    plain("cuEventElapsedTime").often().then(Then::Elapsed),
    plain("cuEventRecord").often().then(Then::EventRecorded),
    plain("cuEventRecordWithFlags")
        .often()
        .then(Then::EventRecorded),
    plain("cuEventSynchronize"),
    hooked("cuFuncGetAttribute", Detail::Once(2)),
    plain("cuFuncLoad"),
    hooked("cuFuncSetAttribute", Detail::Once(0)),
    hooked("cuFuncSetCacheConfig", Detail::Once(0)),
    hooked("cuGetProcAddress", Detail::ProcAddress),
    plain("cuGraphExecUpdate"),
    heavy("cuGraphInstantiate"),
    heavy("cuGraphInstantiateWithFlags"),
    heavy("cuGraphInstantiateWithParams"),
    hooked("cuGraphLaunch", Detail::Launch(0)),
    plain("cuGraphUpload"),
    heavy("cuInit"),
    hooked("cuKernelGetAttribute", Detail::Once(2)),
    hooked("cuKernelGetFunction", Detail::Alias),
    hooked("cuKernelSetAttribute", Detail::Once(2)),
    hooked("cuLaunch", Detail::Launch(0)),
    hooked("cuLaunchCooperativeKernel", Detail::Launch(0)).wide(),
    hooked("cuLaunchGrid", Detail::Launch(0)),
    hooked("cuLaunchGridAsync", Detail::Launch(0)),
    plain("cuLaunchHostFunc").often(),
    hooked("cuLaunchKernel", Detail::Launch(0)).wide(),
    hooked("cuLaunchKernelEx", Detail::Launch(1)),
    plain("cuLibraryGetGlobal"),
    hooked("cuLibraryGetKernel", LOOKUP),
    heavy("cuLibraryGetModule"),
    loads("cuLibraryLoadData", false).wide(),
    loads("cuLibraryLoadFromFile", true).wide(),
    plain("cuLibraryUnload"),
    heavy("cuLinkAddData").wide(),
    heavy("cuLinkAddFile"),
    heavy("cuLinkComplete"),
    heavy("cuLinkCreate"),
    plain("cuLinkDestroy"),
    plain("cuMemAddressFree"),
    plain("cuMemAddressReserve"),
    allocates("cuMemAlloc", NONE).old(),
    allocates("cuMemAllocAsync", 2),
    allocates("cuMemAllocFromPoolAsync", 3),
    allocates("cuMemAllocHost", NONE).old(),
    allocates("cuMemAllocManaged", NONE),
    hooked("cuMemAllocPitch", Detail::AllocatePitch).old(),
    allocates("cuMemCreate", NONE),
    hooked("cuMemFree", Detail::Free(0)).old(),
    hooked("cuMemFreeAsync", Detail::Free(0)),
    hooked("cuMemFreeHost", Detail::Free(0)),
    allocates("cuMemHostAlloc", NONE),
    hooked(
        "cuMemHostRegister",
        Detail::Allocate {
            bytes: 1,
            place: HandlePosition::In(0),
            stream: NONE,
        },
    ),
    hooked("cuMemHostUnregister", Detail::Free(0)),
    plain("cuMemMap"),
    plain("cuMemPoolCreate"),
    plain("cuMemPoolTrimTo"),
    plain("cuMemPrefetchAsync"),
    hooked("cuMemRelease", Detail::Free(0)),
    plain("cuMemSetAccess"),
    plain("cuMemUnmap"),
    copies("cuMemcpy", 1, 2, NONE),
    described("cuMemcpy2D", 2, NONE).old(),
    described("cuMemcpy2DAsync", 2, 1).old(),
    described("cuMemcpy2DUnaligned", 2, NONE).old(),
    described("cuMemcpy3D", 3, NONE).old(),
    described("cuMemcpy3DAsync", 3, 1).old(),
    copies("cuMemcpy3DBatchAsync", NONE, NONE, NONE),
    described("cuMemcpy3DPeer", 3, NONE),
    described("cuMemcpy3DPeerAsync", 3, 1),
    copies("cuMemcpyAsync", 1, 2, 3),
    copies("cuMemcpyAtoA", 2, 4, NONE).old(),
    copies("cuMemcpyAtoD", 1, 3, NONE).old(),
    copies("cuMemcpyAtoH", 1, 3, NONE).old(),
    copies("cuMemcpyAtoHAsync", 1, 3, 4).old(),
    hooked("cuMemcpyBatchAsync", Detail::CopyBatch).wide(),
    copies("cuMemcpyDtoA", 2, 3, NONE).old(),
    copies("cuMemcpyDtoD", 1, 2, NONE).old(),
    copies("cuMemcpyDtoDAsync", 1, 2, 3).old().often(),
    copies("cuMemcpyDtoH", 1, 2, NONE).old(),
    copies("cuMemcpyDtoHAsync", 1, 2, 3).old(),
    copies("cuMemcpyHtoA", 2, 3, NONE).old(),
    copies("cuMemcpyHtoAAsync", 2, 3, 4).old().often(),
    copies("cuMemcpyHtoD", 1, 2, NONE).old(),
    copies("cuMemcpyHtoDAsync", 1, 2, 3).old().often(),
    copies("cuMemcpyPeer", 2, 4, NONE),
    copies("cuMemcpyPeerAsync", 2, 4, 5).often(),
    plain("cuMemsetD16").often(),
    plain("cuMemsetD16Async").often(),
    plain("cuMemsetD2D16").often(),
    plain("cuMemsetD2D16Async").often(),
    plain("cuMemsetD2D32").often(),
    plain("cuMemsetD2D32Async").often(),
    plain("cuMemsetD2D8").often(),
    plain("cuMemsetD2D8Async").often(),
    plain("cuMemsetD32").often(),
    plain("cuMemsetD32Async").often(),
    plain("cuMemsetD8").often(),
    plain("cuMemsetD8Async").often(),
    hooked("cuModuleGetFunction", LOOKUP),
    plain("cuModuleGetGlobal"),
    loads("cuModuleLoad", true),
    loads("cuModuleLoadData", false),
    loads("cuModuleLoadDataEx", false),
    loads("cuModuleLoadFatBinary", false),
    plain("cuModuleUnload"),
    hooked("cuOccupancyAvailableDynamicSMemPerBlock", Detail::Once(1)),
    hooked(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        Detail::Once(1),
    ),
    hooked(
        "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        Detail::Once(1),
    ),
    hooked("cuOccupancyMaxActiveClusters", Detail::Once(1)),
    hooked("cuOccupancyMaxPotentialBlockSize", Detail::Once(2)),
    hooked("cuOccupancyMaxPotentialClusterSize", Detail::Once(1)),
    plain("cuStreamAddCallback").often(),
    plain("cuStreamBeginCapture").then(Then::CaptureBegan),
    plain("cuStreamBeginCaptureToGraph").then(Then::CaptureBegan),
    plain("cuStreamCreate"),
    plain("cuStreamCreateWithPriority"),
    plain("cuStreamDestroy"),
    plain("cuStreamEndCapture").then(Then::CaptureEnded),
    plain("cuStreamSynchronize"),
    plain("cuStreamWaitEvent").often(),
];

/// Functions that are not hooked; `*` matches any suffix. `cuFuncGetAttribute`, the
/// occupancy functions and similar ones are not here: with lazy loading they may load a
/// kernel.
pub(super) const LEFT_ALONE: &[&str] = &[
    "cuCtxGet*",
    "cuCtxPopCurrent",
    "cuCtxPushCurrent",
    "cuCtxSetCurrent",
    "cuDeviceCanAccessPeer",
    "cuDeviceComputeCapability",
    "cuDeviceGet*",
    "cuDevicePrimaryCtxGetState",
    "cuDeviceTotalMem",
    "cuDriverGetVersion",
    "cuEventQuery",
    "cuFuncGetModule",
    "cuFuncGetName",
    "cuFuncGetParamInfo",
    "cuFuncIsLoaded",
    "cuGetError*",
    "cuGetExportTable",
    "cuKernelGetLibrary",
    "cuKernelGetName",
    "cuKernelGetParamInfo",
    "cuMemGetAddressRange",
    "cuMemGetAllocationGranularity",
    "cuMemHostGet*",
    "cuModuleGetLoadingMode",
    "cuPointerGetAttribute*",
    "cuStreamGet*",
    "cuStreamIsCapturing",
    "cuStreamQuery",
    "cuTensorMap*",
    "cuTexRef*",
    "cuThreadExchangeStreamCaptureMode",
];
