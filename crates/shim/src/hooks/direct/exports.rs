//! The names that this library exports in place of others, with all existing versions.
//!
//! Those of the driver are in the `cuda.h` of every toolkit: there is one driver in a
//! process. Several copies of another library may be in one process, each with its own
//! callers.

/// Passes all names to a macro: those of the driver, then those of other libraries.
macro_rules! with_all_names {
    ($macro:ident) => {
        $macro! {
            driver:
                cuArray3DCreate cuArray3DCreate_v2 cuArrayCreate cuArrayCreate_v2
                cuArrayDestroy cuCtxCreate cuCtxCreate_v2 cuCtxCreate_v3 cuCtxCreate_v4
                cuCtxDestroy cuCtxDestroy_v2 cuCtxEnablePeerAccess cuCtxSetLimit
                cuCtxSynchronize cuCtxWaitEvent cuDevicePrimaryCtxRelease
                cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset
                cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain cuEventCreate
                cuEventDestroy cuEventDestroy_v2 cuEventElapsedTime
                cuEventElapsedTime_v2 cuEventRecord cuEventRecordWithFlags
                cuEventRecordWithFlags_ptsz cuEventRecord_ptsz cuEventSynchronize
                cuFuncGetAttribute cuFuncLoad cuFuncSetAttribute cuFuncSetCacheConfig
                cuGetProcAddress cuGetProcAddress_v2
                cuGetProcAddress_v2_ptsz cuGraphExecUpdate cuGraphExecUpdate_v2
                cuGraphInstantiate cuGraphInstantiateWithFlags
                cuGraphInstantiateWithParams cuGraphInstantiateWithParams_ptsz
                cuGraphInstantiate_v2 cuGraphLaunch cuGraphLaunch_ptsz cuGraphUpload
                cuGraphUpload_ptsz cuInit cuKernelGetAttribute cuKernelGetFunction
                cuKernelSetAttribute cuLaunch
                cuLaunchCooperativeKernel cuLaunchCooperativeKernel_ptsz cuLaunchGrid
                cuLaunchGridAsync cuLaunchHostFunc cuLaunchHostFunc_ptsz cuLaunchKernel
                cuLaunchKernelEx cuLaunchKernelEx_ptsz cuLaunchKernel_ptsz
                cuLibraryGetGlobal cuLibraryGetKernel cuLibraryGetModule
                cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLinkAddData
                cuLinkAddData_v2 cuLinkAddFile cuLinkAddFile_v2 cuLinkComplete
                cuLinkCreate cuLinkCreate_v2 cuLinkDestroy cuMemAddressFree
                cuMemAddressReserve cuMemAlloc cuMemAllocAsync cuMemAllocAsync_ptsz
                cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz cuMemAllocHost
                cuMemAllocHost_v2 cuMemAllocManaged cuMemAllocPitch cuMemAllocPitch_v2
                cuMemAlloc_v2 cuMemCreate cuMemFree cuMemFreeAsync cuMemFreeAsync_ptsz
                cuMemFreeHost cuMemFree_v2 cuMemHostAlloc cuMemHostRegister
                cuMemHostRegister_v2 cuMemHostUnregister cuMemMap cuMemPoolCreate
                cuMemPoolTrimTo cuMemPrefetchAsync cuMemPrefetchAsync_ptsz
                cuMemPrefetchAsync_v2 cuMemPrefetchAsync_v2_ptsz cuMemRelease
                cuMemSetAccess cuMemUnmap cuMemcpy cuMemcpy2D cuMemcpy2DAsync
                cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz cuMemcpy2DUnaligned
                cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned_v2_ptds cuMemcpy2D_v2
                cuMemcpy2D_v2_ptds cuMemcpy3D cuMemcpy3DAsync cuMemcpy3DAsync_v2
                cuMemcpy3DAsync_v2_ptsz cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz
                cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz cuMemcpy3DPeer
                cuMemcpy3DPeerAsync cuMemcpy3DPeerAsync_ptsz cuMemcpy3DPeer_ptds
                cuMemcpy3D_v2 cuMemcpy3D_v2_ptds cuMemcpyAsync cuMemcpyAsync_ptsz
                cuMemcpyAtoA cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds cuMemcpyAtoD
                cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds cuMemcpyAtoH cuMemcpyAtoHAsync
                cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz cuMemcpyAtoH_v2
                cuMemcpyAtoH_v2_ptds cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz
                cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz cuMemcpyDtoA
                cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds cuMemcpyDtoD cuMemcpyDtoDAsync
                cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz cuMemcpyDtoD_v2
                cuMemcpyDtoD_v2_ptds cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
                cuMemcpyDtoHAsync_v2_ptsz cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds
                cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoAAsync_v2
                cuMemcpyHtoAAsync_v2_ptsz cuMemcpyHtoA_v2 cuMemcpyHtoA_v2_ptds
                cuMemcpyHtoD cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
                cuMemcpyHtoDAsync_v2_ptsz cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds
                cuMemcpyPeer cuMemcpyPeerAsync cuMemcpyPeerAsync_ptsz cuMemcpyPeer_ptds
                cuMemcpy_ptds cuMemsetD16 cuMemsetD16Async cuMemsetD16Async_ptsz
                cuMemsetD16_v2 cuMemsetD16_v2_ptds cuMemsetD2D16 cuMemsetD2D16Async
                cuMemsetD2D16Async_ptsz cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds
                cuMemsetD2D32 cuMemsetD2D32Async cuMemsetD2D32Async_ptsz
                cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds cuMemsetD2D8 cuMemsetD2D8Async
                cuMemsetD2D8Async_ptsz cuMemsetD2D8_v2 cuMemsetD2D8_v2_ptds cuMemsetD32
                cuMemsetD32Async cuMemsetD32Async_ptsz cuMemsetD32_v2
                cuMemsetD32_v2_ptds cuMemsetD8 cuMemsetD8Async cuMemsetD8Async_ptsz
                cuMemsetD8_v2 cuMemsetD8_v2_ptds cuModuleGetFunction cuModuleGetGlobal
                cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleLoadDataEx
                cuModuleLoadFatBinary cuModuleUnload
                cuOccupancyAvailableDynamicSMemPerBlock
                cuOccupancyMaxActiveBlocksPerMultiprocessor
                cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
                cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialBlockSize
                cuOccupancyMaxPotentialClusterSize cuStreamAddCallback
                cuStreamAddCallback_ptsz cuStreamBeginCapture
                cuStreamBeginCaptureToGraph cuStreamBeginCaptureToGraph_ptsz
                cuStreamBeginCapture_ptsz cuStreamBeginCapture_v2
                cuStreamBeginCapture_v2_ptsz cuStreamCreate cuStreamCreateWithPriority
                cuStreamDestroy cuStreamDestroy_v2 cuStreamEndCapture
                cuStreamEndCapture_ptsz cuStreamSynchronize cuStreamSynchronize_ptsz
                cuStreamWaitEvent cuStreamWaitEvent_ptsz;
            libraries:
                __nvJitLinkAddData_12_0 __nvJitLinkAddData_12_1 __nvJitLinkAddData_12_2
                __nvJitLinkAddData_12_3 __nvJitLinkAddData_12_4 __nvJitLinkAddData_12_5
                __nvJitLinkAddData_12_6 __nvJitLinkAddData_12_7 __nvJitLinkAddData_12_8
                __nvJitLinkAddData_12_9 __nvJitLinkAddData_13_0 __nvJitLinkAddData_13_1
                __nvJitLinkAddData_13_2 __nvJitLinkAddData_13_3 __nvJitLinkAddFile_12_0
                __nvJitLinkAddFile_12_1 __nvJitLinkAddFile_12_2 __nvJitLinkAddFile_12_3
                __nvJitLinkAddFile_12_4 __nvJitLinkAddFile_12_5 __nvJitLinkAddFile_12_6
                __nvJitLinkAddFile_12_7 __nvJitLinkAddFile_12_8 __nvJitLinkAddFile_12_9
                __nvJitLinkAddFile_13_0 __nvJitLinkAddFile_13_1 __nvJitLinkAddFile_13_2
                __nvJitLinkAddFile_13_3 __nvJitLinkComplete_12_0
                __nvJitLinkComplete_12_1 __nvJitLinkComplete_12_2
                __nvJitLinkComplete_12_3 __nvJitLinkComplete_12_4
                __nvJitLinkComplete_12_5 __nvJitLinkComplete_12_6
                __nvJitLinkComplete_12_7 __nvJitLinkComplete_12_8
                __nvJitLinkComplete_12_9 __nvJitLinkComplete_13_0
                __nvJitLinkComplete_13_1 __nvJitLinkComplete_13_2
                __nvJitLinkComplete_13_3 __nvJitLinkCreate_12_0 __nvJitLinkCreate_12_1
                __nvJitLinkCreate_12_2 __nvJitLinkCreate_12_3 __nvJitLinkCreate_12_4
                __nvJitLinkCreate_12_5 __nvJitLinkCreate_12_6 __nvJitLinkCreate_12_7
                __nvJitLinkCreate_12_8 __nvJitLinkCreate_12_9 __nvJitLinkCreate_13_0
                __nvJitLinkCreate_13_1 __nvJitLinkCreate_13_2 __nvJitLinkCreate_13_3
                cublasCreate_v2 cublasLtCreate cublasLtMatmulAlgoGetHeuristic
                cublasSetWorkspace_v2 cudnnBackendFinalize
                cudnnCreate cudnnFindConvolutionBackwardDataAlgorithm
                cudnnFindConvolutionBackwardDataAlgorithmEx
                cudnnFindConvolutionBackwardFilterAlgorithm
                cudnnFindConvolutionBackwardFilterAlgorithmEx
                cudnnFindConvolutionForwardAlgorithm
                cudnnFindConvolutionForwardAlgorithmEx
                cudnnFindRNNForwardTrainingAlgorithmEx
                cudnnGetConvolutionBackwardDataAlgorithm
                cudnnGetConvolutionBackwardDataAlgorithm_v7
                cudnnGetConvolutionBackwardFilterAlgorithm
                cudnnGetConvolutionBackwardFilterAlgorithm_v7
                cudnnGetConvolutionForwardAlgorithm
                cudnnGetConvolutionForwardAlgorithm_v7 cufftMakePlan1d cufftMakePlan2d
                cufftMakePlan3d cufftMakePlanMany cufftMakePlanMany64 cufftPlan1d
                cufftPlan2d cufftPlan3d cufftPlanMany cufftXtMakePlanMany
                curandCreateGenerator curandGenerateSeeds cusolverDnCreate
                cusolverSpCreate cusparseCreate cusparseLtInit cusparseLtMatmulSearch
                cutensorCreate cutensorCreatePlan ncclCommInitAll ncclCommInitRank
                ncclCommInitRankConfig ncclCommInitRankScalable ncclCommSplit
                ncclGetUniqueId nvrtcCompileProgram nvrtcCreateProgram;
        }
    };
}

pub(super) use with_all_names;

macro_rules! list {
    (driver: $($driver:ident)*; libraries: $($library:ident)*;) => {
        /// The numbers of the names.
        #[allow(non_camel_case_types, reason = "they are functions of others")]
        #[derive(Clone, Copy)]
        pub(super) enum Index { $($driver,)* $($library,)* }

        pub(super) static NAMES: [&CStr; COUNT] = [
            $(c_name(concat!(stringify!($driver), "\0")),)*
            $(c_name(concat!(stringify!($library), "\0")),)*
        ];

        /// The number of driver names; they come first.
        pub(super) const DRIVERS: usize = [$(stringify!($driver)),*].len();
        pub(super) const COUNT: usize = DRIVERS + [$(stringify!($library)),*].len();
    };
}

with_all_names!(list);

const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with its only NUL"),
    }
}

use std::ffi::CStr;
