//! The nine experiments.

use serde::{Deserialize, Serialize};

/// A lab experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentId {
    /// Driver load, driver init, context, stream, event.
    Init,
    /// First and later allocations.
    Alloc,
    /// Copies in both directions, pageable and pinned.
    Transfer,
    /// Allocations after a large one.
    Prealloc,
    /// A small training loop, from nothing and with the model on the device.
    Train,
    /// The same after device initialization.
    TrainInitialized,
    /// The same without the optimizer, and forward only.
    TrainNoOptimizer,
    /// First and later inferences.
    Infer,
    /// A direct kernel launch, stage by stage.
    Launch,
}

impl ExperimentId {
    /// All experiments, in display order.
    pub const ALL: [ExperimentId; 9] = [
        ExperimentId::Init,
        ExperimentId::Alloc,
        ExperimentId::Transfer,
        ExperimentId::Prealloc,
        ExperimentId::Train,
        ExperimentId::TrainInitialized,
        ExperimentId::TrainNoOptimizer,
        ExperimentId::Infer,
        ExperimentId::Launch,
    ];

    /// The name on the command line and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            ExperimentId::Init => "init",
            ExperimentId::Alloc => "alloc",
            ExperimentId::Transfer => "transfer",
            ExperimentId::Prealloc => "prealloc",
            ExperimentId::Train => "train",
            ExperimentId::TrainInitialized => "train-initialized",
            ExperimentId::TrainNoOptimizer => "train-no-optimizer",
            ExperimentId::Infer => "infer",
            ExperimentId::Launch => "launch",
        }
    }

    /// Parses an [`ExperimentId::id`].
    pub fn from_id(id: &str) -> Option<ExperimentId> {
        ExperimentId::ALL.into_iter().find(|known| known.id() == id)
    }

    /// A one-line description.
    pub fn title(self) -> &'static str {
        match self {
            ExperimentId::Init => "driver load, driver init, context, stream, event",
            ExperimentId::Alloc => "first, later, pooled and trimmed allocations, 4 KiB to 1 GiB",
            ExperimentId::Transfer => {
                "copies both ways, pageable and pinned, and within the device, 4 KiB to 256 MiB"
            }
            ExperimentId::Prealloc => {
                "4 MiB allocations after nothing, after 1 GiB held, after 1 GiB released"
            }
            ExperimentId::Train => {
                "Linear(10,10) training, from nothing and with the model on the device"
            }
            ExperimentId::TrainInitialized => {
                "the same, after a dummy tensor initialized the device"
            }
            ExperimentId::TrainNoOptimizer => "the same without the optimizer, and forward only",
            ExperimentId::Infer => {
                "inference of a small MLP, a conv net and a U-Net, and their memory"
            }
            ExperimentId::Launch => {
                "one kernel from source to steady launch, compile cache empty and filled"
            }
        }
    }
}
