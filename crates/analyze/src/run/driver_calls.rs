//! Maps function names to causes.
//!
//! The table is data. Decisions that need more than a name (the code that was loaded, a
//! kernel's first launch) are in `facts`.

use preheat_model::run::SpanCause;
use preheat_model::run::trace::{Process, base_name};

use super::Cause;
use super::facts::Facts;

/// The meaning of a function name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Time in this function has this cause.
    Is(Cause),
    /// A copy; its addresses decide the direction.
    Copy,
    /// A cheap, frequent call. Within another call, it belongs to that call.
    Plain,
}

/// Functions by full name, without a version suffix.
const NAMES: &[(&str, Cause)] = &[
    ("cuInit", Cause::DriverInit),
    ("clGetPlatformIDs", Cause::DriverInit),
    ("clIcdGetPlatformIDsKHR", Cause::DriverInit),
    ("clGetDeviceIDs", Cause::DriverInit),
    ("cuDevicePrimaryCtxRetain", Cause::ContextCreation),
    ("cuDevicePrimaryCtxReset", Cause::ContextCreation),
    ("cuCtxCreate", Cause::ContextCreation),
    ("cuGreenCtxCreate", Cause::ContextCreation),
    ("cuCtxFromGreenCtx", Cause::ContextCreation),
    ("clCreateContext", Cause::ContextCreation),
    ("clCreateContextFromType", Cause::ContextCreation),
    ("clCreateCommandQueue", Cause::ContextCreation),
    ("clCreateCommandQueueWithProperties", Cause::ContextCreation),
    ("cuModuleGetFunction", Cause::KernelLoading),
    ("cuModuleGetGlobal", Cause::KernelLoading),
    ("cuLibraryGetKernel", Cause::KernelLoading),
    ("cuLibraryGetModule", Cause::KernelLoading),
    ("cuLibraryGetGlobal", Cause::KernelLoading),
    ("cuKernelGetFunction", Cause::KernelLoading),
    ("cuFuncLoad", Cause::KernelLoading),
    ("cuFuncGetModule", Cause::KernelLoading),
    ("clCreateKernel", Cause::KernelLoading),
    ("clCreateKernelsInProgram", Cause::KernelLoading),
    ("clCreateProgramWithBinary", Cause::KernelLoading),
    ("clCreateProgramWithBuiltInKernels", Cause::KernelLoading),
    ("clBuildProgram", Cause::KernelCompilation),
    ("clCompileProgram", Cause::KernelCompilation),
    ("clLinkProgram", Cause::KernelCompilation),
    ("cuMemAllocHost", Cause::PinnedAllocation),
    ("cuMemHostAlloc", Cause::PinnedAllocation),
    ("cuMemHostRegister", Cause::PinnedAllocation),
    ("cuMemHostUnregister", Cause::PinnedAllocation),
    ("cuMemFreeHost", Cause::PinnedAllocation),
    ("clCreateBuffer", Cause::DeviceAllocation),
    ("clCreateBufferWithProperties", Cause::DeviceAllocation),
    ("clCreateSubBuffer", Cause::DeviceAllocation),
    ("clCreateImage", Cause::DeviceAllocation),
    ("clSVMAlloc", Cause::DeviceAllocation),
    ("clSVMFree", Cause::DeviceAllocation),
    ("clReleaseMemObject", Cause::DeviceAllocation),
    ("cuMemCreate", Cause::DeviceAllocation),
    ("cuMemMap", Cause::DeviceAllocation),
    ("cuMemUnmap", Cause::DeviceAllocation),
    ("cuMemRelease", Cause::DeviceAllocation),
    ("cuMemSetAccess", Cause::DeviceAllocation),
    ("cuMemAddressReserve", Cause::DeviceAllocation),
    ("cuMemAddressFree", Cause::DeviceAllocation),
    ("cuMipmappedArrayCreate", Cause::DeviceAllocation),
    ("clFinish", Cause::WaitingForDevice),
    ("clWaitForEvents", Cause::WaitingForDevice),
    ("cuStreamBeginCapture", Cause::GraphCapture),
    ("cuStreamBeginCaptureToGraph", Cause::GraphCapture),
    ("cuStreamEndCapture", Cause::GraphCapture),
    ("cuGraphCreate", Cause::GraphCapture),
    ("cuGraphUpload", Cause::GraphCapture),
    ("cuGraphClone", Cause::GraphCapture),
    ("cuCheckpointProcessRestore", Cause::GpuRestore),
];

/// Functions by name prefix; the first match decides.
const FAMILIES: &[(&str, Cause)] = &[
    ("cuModuleLoad", Cause::KernelLoading),
    ("cuLibraryLoad", Cause::KernelLoading),
    ("cuLink", Cause::KernelCompilation),
    ("nvrtc", Cause::KernelCompilation),
    ("nvJitLink", Cause::KernelCompilation),
    ("nvPTXCompiler", Cause::KernelCompilation),
    ("nvvm", Cause::KernelCompilation),
    ("cuMemAlloc", Cause::DeviceAllocation),
    ("cuMemFree", Cause::DeviceAllocation),
    ("cuMemPool", Cause::DeviceAllocation),
    ("cuArray", Cause::DeviceAllocation),
    ("cuMemcpyHtoD", Cause::HostToDevice),
    ("cuMemcpyHtoA", Cause::HostToDevice),
    ("cuMemcpyDtoH", Cause::DeviceToHost),
    ("cuMemcpyAtoH", Cause::DeviceToHost),
    ("clEnqueueWrite", Cause::HostToDevice),
    ("clEnqueueRead", Cause::DeviceToHost),
    ("clEnqueueMap", Cause::DeviceToHost),
    ("clEnqueueUnmap", Cause::HostToDevice),
    ("cuGraphAdd", Cause::GraphCapture),
    ("cuGraphInstantiate", Cause::GraphCapture),
    ("cuGraphExec", Cause::GraphCapture),
    ("nccl", Cause::CollectiveSetUp),
    ("cublas", Cause::LibrarySetUp),
    ("cudnn", Cause::LibrarySetUp),
    ("cusolver", Cause::LibrarySetUp),
    ("cusparse", Cause::LibrarySetUp),
    ("cufft", Cause::LibrarySetUp),
    ("curand", Cause::LibrarySetUp),
    ("cutensor", Cause::LibrarySetUp),
    ("nvinfer", Cause::LibrarySetUp),
];

/// The meaning of the function `name`.
pub(super) fn meaning(name: &str) -> Meaning {
    let name = base_name(name);
    if let Some((_, cause)) = NAMES.iter().find(|(whole, _)| *whole == name) {
        return Meaning::Is(*cause);
    }
    if let Some((_, cause)) = FAMILIES.iter().find(|(begin, _)| name.starts_with(begin)) {
        return Meaning::Is(*cause);
    }
    if name.starts_with("cu") && name.ends_with("Synchronize") {
        return Meaning::Is(Cause::WaitingForDevice);
    }
    if name.starts_with("cuMemcpy") || name.starts_with("clEnqueueSVMMem") {
        return Meaning::Copy;
    }
    Meaning::Plain
}

/// Returns true if calls with this cause return only after the device has finished its
/// work.
pub(super) fn waits(cause: Cause) -> bool {
    matches!(cause, Cause::WaitingForDevice | Cause::DeviceToHost)
}

/// Returns a function from the spans of `process` to their causes; none for spans that only
/// group others.
pub fn span_causes(process: &Process) -> SpanCause<'_> {
    let facts = Facts::of(process);
    Box::new(move |span| facts.judge(span, None).map(|judged| judged.cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_causes_whatever_their_version() {
        for (name, cause) in [
            ("cuInit", Cause::DriverInit),
            ("cuCtxCreate_v4", Cause::ContextCreation),
            ("cuLibraryLoadData", Cause::KernelLoading),
            ("cuModuleLoadDataEx", Cause::KernelLoading),
            ("nvrtcCompileProgram", Cause::KernelCompilation),
            ("cuLinkAddData_v2", Cause::KernelCompilation),
            ("cublasLtCreate", Cause::LibrarySetUp),
            ("cudnnFindConvolutionForwardAlgorithm", Cause::LibrarySetUp),
            ("cuMemAllocAsync_ptsz", Cause::DeviceAllocation),
            ("cuMemAllocHost_v2", Cause::PinnedAllocation),
            ("cuMemFreeHost", Cause::PinnedAllocation),
            ("cuMemcpyHtoDAsync_v2_ptsz", Cause::HostToDevice),
            ("cuMemcpyDtoH_v2_ptds", Cause::DeviceToHost),
            ("clEnqueueReadBuffer", Cause::DeviceToHost),
            ("cuStreamSynchronize_ptsz", Cause::WaitingForDevice),
            ("cuEventSynchronize", Cause::WaitingForDevice),
            ("ncclCommInitRankConfig", Cause::CollectiveSetUp),
            ("cuGraphInstantiateWithFlags", Cause::GraphCapture),
            ("cuCheckpointProcessRestore", Cause::GpuRestore),
        ] {
            assert_eq!(meaning(name), Meaning::Is(cause), "{name}");
        }
    }

    #[test]
    fn frequent_calls_are_plain() {
        for name in [
            "cuLaunchKernel",
            "cuMemsetD8Async",
            "cuEventRecord",
            "cuStreamWaitEvent",
            "cuGraphLaunch",
            "clEnqueueNDRangeKernel",
            "",
        ] {
            assert_eq!(meaning(name), Meaning::Plain, "{name}");
        }
        assert_eq!(meaning("cuMemcpyAsync_ptsz"), Meaning::Copy);
        assert_eq!(meaning("cuMemcpy2D_v2"), Meaning::Copy);
    }
}
