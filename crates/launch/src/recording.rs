//! The directory of a recording: creates and describes it, writes its manifest, and checks
//! what a start has left there.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use preheat_host::files::{Readers, replace};
use preheat_model::run::{Manifest, RECORDING_SCHEMA, RunSettings, Timers};

use crate::request::DEFAULT_STARTS;
use crate::{LaunchError, Request, inject};

/// The process files that a start has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// One of the command's process.
    ByCommand,
    /// Only those of other processes that it started.
    ByOthers,
    /// None.
    Nothing,
}

impl Left {
    /// Inspects the directory of a start; `pid` is the command's process.
    pub(crate) fn in_directory(directory: &Path, pid: u32) -> Left {
        let own = format!("{pid}-");
        let mut left = Left::Nothing;
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".process") && name.starts_with(&own) {
                return Left::ByCommand;
            }
            if name.ends_with(".process") && name != "launcher.process" {
                left = Left::ByOthers;
            }
        }
        left
    }
}

/// Creates an empty directory for the recording. Returns its absolute path, since the
/// command may change directories.
pub(crate) fn prepare(output: &Path) -> Result<PathBuf, LaunchError> {
    let output = std::path::absolute(output).map_err(|why| cannot_create(output, &why))?;
    fs::create_dir_all(&output).map_err(|why| cannot_create(&output, &why))?;
    let mut entries = fs::read_dir(&output).map_err(|why| cannot_create(&output, &why))?;
    if entries.next().is_some() {
        return Err(LaunchError::Usage(format!(
            "{} is not empty; a recording needs an empty directory",
            output.display()
        )));
    }
    Ok(output)
}

/// The error if nothing can be recorded there.
pub(crate) fn cannot_create(directory: &Path, why: &io::Error) -> LaunchError {
    LaunchError::Failed(format!(
        "cannot write the recording to {}: {why}; choose another directory with --output",
        directory.display()
    ))
}

/// The manifest before the first start.
pub(crate) fn describe(request: &Request<'_>) -> Manifest {
    let directory = std::env::current_dir().unwrap_or_default();
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    Manifest {
        schema: RECORDING_SCHEMA.to_owned(),
        preheat: request.preheat.clone(),
        created: request.created.clone(),
        command: request.command.iter().map(text).collect(),
        directory: directory.display().to_string(),
        machine: request.machine.clone(),
        settings: RunSettings {
            iterations: request.iterations.clone(),
            starts: request.starts.unwrap_or(DEFAULT_STARTS).max(1),
            seed: request.seed,
            limit: request.limit,
            synchronize: request.synchronize,
            ended_early: None,
            ended_with: None,
        },
        environment: environment(std::env::vars_os()),
        starts: Vec::new(),
        timers: Timers::default(),
        started_plainly: None,
        optional_imports: Vec::new(),
        shared_imports: Vec::new(),
        notes: inject::notes(|name| std::env::var_os(name)),
    }
}

// `recording.json`, written again after every start, so that an interrupted series keeps
// its results.

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
