//! `recording.json`, written again after every start, so that an interrupted series keeps
//! its results.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use preheat_host::files::{Readers, replace};
use preheat_model::run::Manifest;

/// The file name in the directory of the recording.
pub(crate) const NAME: &str = "recording.json";

/// Prefixes of variables that affect a cold start.
const MATTER: [&str; 33] = [
    "ACPP_",
    "AMD_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "CUPY_",
    "GLIBC_TUNABLES",
    "GPU_",
    "HIP_",
    "HSA_",
    "JAX_",
    "KERAS_",
    "LD_",
    "MALLOC_",
    "MIOPEN_",
    "MKL_",
    "NCCL_",
    "NUMBA_",
    "NVIDIA_",
    "NVTX_",
    "OCL_ICD_",
    "OMP_",
    "OPENBLAS_",
    "OPENCL_",
    "ORT_",
    "POCL_",
    "PYOPENCL_",
    "PYTHON",
    "PYTORCH_",
    "TF_",
    "TORCH",
    "TRITON_",
    "XLA_",
];

/// Parts of names whose values must not be recorded.
const SECRET: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "API_KEY"];

/// Variables that container images set about themselves; programs ignore them.
const IMAGE: [&str; 5] = [
    "CUDA_VERSION",
    "NCCL_VERSION",
    "NVIDIA_PRODUCT_NAME",
    "NVIDIA_REQUIRE_",
    "TF_CLI_",
];

/// The variables that affect a cold start, sorted by name.
pub(crate) fn environment(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = all
        .filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let matters = MATTER.iter().any(|begin| name.starts_with(begin))
                && !SECRET.iter().any(|part| name.contains(part))
                && !IMAGE.iter().any(|begin| name.starts_with(begin));
            matters.then(|| (name, value.to_string_lossy().into_owned()))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Writes the manifest atomically; on errors the previous one stays.
pub fn save(manifest: &Manifest, recording: &Path) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    text.push(b'\n');
    replace(&recording.join(NAME), &text, Readers::All)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevant_variables_are_kept_without_secrets() {
        let all = [
            ("TORCH_HOME", "/t"),
            ("CUDA_MODULE_LOADING", "EAGER"),
            ("HOME", "/h"),
            ("TF_API_KEY", "x"),
            ("JAX_TOKEN", "x"),
            ("NVIDIA_REQUIRE_CUDA", "cuda>=13.0"),
        ];
        let kept = environment(all.iter().map(|(name, value)| (name.into(), value.into())));
        let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["CUDA_MODULE_LOADING", "TORCH_HOME"]);
    }
}
