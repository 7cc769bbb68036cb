//! Functions of the libraries above the driver that set something up, search or compile,
//! sorted by name. Their work on the device goes through the driver and is recorded there.
//!
//! Functions that are called for every operation, such as the heuristic of cuBLASLt, are
//! recorded only with their duration, and hardly at all once they are always quick, so that
//! a steady iteration is not slowed down.

use super::{Detail, Entry, Library, Width, entry};

const fn heavy(name: &'static str, library: Library) -> Entry {
    entry(name, library, Detail::Heavy).wide()
}

const fn usual(name: &'static str, library: Library) -> Entry {
    entry(name, library, Detail::Usual).wide()
}

/// Passes a structure of 128 bytes by value.
const fn with_identity(name: &'static str) -> Entry {
    let mut entry = heavy(name, Library::Nccl);
    entry.width = Width::TwentyTwo;
    entry
}

pub(super) static TABLE: &[Entry] = &[
    heavy("cublasCreate", Library::Cublas),
    heavy("cublasLtCreate", Library::CublasLt),
    usual("cublasLtMatmulAlgoGetHeuristic", Library::CublasLt),
    usual("cublasSetWorkspace", Library::Cublas),
    usual("cudnnBackendFinalize", Library::Cudnn),
    heavy("cudnnCreate", Library::Cudnn),
    heavy("cudnnFindConvolutionBackwardDataAlgorithm", Library::Cudnn),
    heavy(
        "cudnnFindConvolutionBackwardDataAlgorithmEx",
        Library::Cudnn,
    ),
    heavy(
        "cudnnFindConvolutionBackwardFilterAlgorithm",
        Library::Cudnn,
    ),
    heavy(
        "cudnnFindConvolutionBackwardFilterAlgorithmEx",
        Library::Cudnn,
    ),
    heavy("cudnnFindConvolutionForwardAlgorithm", Library::Cudnn),
    heavy("cudnnFindConvolutionForwardAlgorithmEx", Library::Cudnn),
    heavy("cudnnFindRNNForwardTrainingAlgorithmEx", Library::Cudnn),
    usual("cudnnGetConvolutionBackwardDataAlgorithm", Library::Cudnn),
    usual("cudnnGetConvolutionBackwardFilterAlgorithm", Library::Cudnn),
    usual("cudnnGetConvolutionForwardAlgorithm", Library::Cudnn),
    heavy("cufftMakePlan1d", Library::Cufft),
    heavy("cufftMakePlan2d", Library::Cufft),
    heavy("cufftMakePlan3d", Library::Cufft),
    heavy("cufftMakePlanMany", Library::Cufft),
    heavy("cufftMakePlanMany64", Library::Cufft),
    heavy("cufftPlan1d", Library::Cufft),
    heavy("cufftPlan2d", Library::Cufft),
    heavy("cufftPlan3d", Library::Cufft),
    heavy("cufftPlanMany", Library::Cufft),
    heavy("cufftXtMakePlanMany", Library::Cufft),
    heavy("curandCreateGenerator", Library::Curand),
    heavy("curandGenerateSeeds", Library::Curand),
    heavy("cusolverDnCreate", Library::Cusolver),
    heavy("cusolverSpCreate", Library::Cusolver),
    heavy("cusparseCreate", Library::Cusparse),
    heavy("cusparseLtInit", Library::CusparseLt),
    heavy("cusparseLtMatmulSearch", Library::CusparseLt),
    heavy("cutensorCreate", Library::Cutensor),
    heavy("cutensorCreatePlan", Library::Cutensor),
    heavy("ncclCommInitAll", Library::Nccl),
    with_identity("ncclCommInitRank"),
    with_identity("ncclCommInitRankConfig"),
    heavy("ncclCommInitRankScalable", Library::Nccl),
    heavy("ncclCommSplit", Library::Nccl),
    heavy("ncclGetUniqueId", Library::Nccl),
    heavy("nvJitLinkAddData", Library::NvJitLink),
    heavy("nvJitLinkAddFile", Library::NvJitLink),
    heavy("nvJitLinkComplete", Library::NvJitLink),
    heavy("nvJitLinkCreate", Library::NvJitLink),
    heavy("nvPTXCompilerCompile", Library::NvPtxCompiler),
    heavy("nvrtcCompileProgram", Library::Nvrtc),
    heavy("nvrtcCreateProgram", Library::Nvrtc),
];
