//! The description of one start.

use std::path::PathBuf;

use preheat_model::lab::ExperimentId;
use serde::{Deserialize, Serialize};

/// The description of one start, passed as JSON in its only argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The variant; empty if there is only one.
    pub variant: String,
    /// `cpu`, `cuda` or `opencl`.
    pub device: String,
    /// If true, run fewer iterations and smaller sweeps.
    pub quick: bool,
    /// The cache directory for compiled kernels; `None` to compile every time.
    pub cache: Option<PathBuf>,
    /// The output file.
    pub output: PathBuf,
}
