//! What one start is to do.

use std::path::PathBuf;

use preheat_analyze::lab::ExperimentId;
use serde::{Deserialize, Serialize};

/// One start's orders, handed over as JSON in its only argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Which experiment.
    pub experiment: ExperimentId,
    /// Which variant of it; empty where there are none.
    pub variant: String,
    /// `cpu`, `cuda` or `opencl`.
    pub device: String,
    /// Fewer iterations and smaller sweeps.
    pub quick: bool,
    /// Where compiled kernels are kept; none to compile every time.
    pub cache: Option<PathBuf>,
    /// The file to write lines to.
    pub output: PathBuf,
}
