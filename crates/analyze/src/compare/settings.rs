//! What counts as a regression.

use super::{CompareKind, Floors, Quantity};

/// Every quantity of a run, by its id, in the order in which they are shown.
pub const QUANTITIES: [&str; 9] = [
    "time-to-first",
    "first",
    "steady",
    "ratio",
    "warmup",
    "excess",
    "device-memory",
    "host-memory",
    "region",
];

/// Those that can fail a comparison unless others are named. The ratio follows from first
/// and steady, and a warm-up that is longer in iterations may be shorter in time.
pub const DEFAULT_GATE: [&str; 5] = [
    "time-to-first",
    "first",
    "steady",
    "device-memory",
    "host-memory",
];

/// What counts as a regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A change within ± this part is none.
    pub max_regression: f64,
    /// Neither is one that is smaller than this.
    pub floors: Floors,
    /// The quantities that can fail the comparison, by their ids. What the lab measures once
    /// a start, its `value`s, counts as `first`.
    pub gate: Vec<String>,
    /// The version of preheat that compares.
    pub preheat: String,
}

impl Settings {
    /// Five percent, and floors that suit what is compared: a start of a program takes
    /// milliseconds at least, an experiment of the lab may take microseconds.
    pub fn new(kind: CompareKind, preheat: &str) -> Settings {
        let seconds = match kind {
            CompareKind::Runs => 1e-3,
            CompareKind::Lab => 10e-6,
        };
        Settings {
            max_regression: 0.05,
            floors: Floors {
                seconds,
                steady: 10e-6,
                bytes: f64::from(1 << 20),
            },
            gate: DEFAULT_GATE.map(str::to_owned).to_vec(),
            preheat: preheat.to_owned(),
        }
    }

    /// Without what is only told of iterations.
    pub(super) fn without_iterations(&self) -> Settings {
        let of_iterations = ["first", "steady", "ratio", "warmup", "excess"];
        let mut settings = self.clone();
        settings
            .gate
            .retain(|id| !of_iterations.contains(&id.as_str()));
        settings
    }

    /// What the gate names and nothing was judged of, by its id: neither side has it, or it is
    /// not of the same thing on both. The gate that nobody named asks for what there is: a
    /// program without a device has no device memory, and that is no doubt.
    pub(super) fn unjudged<'a>(&'a self, quantities: &[Quantity]) -> Vec<&'a str> {
        let usual = DEFAULT_GATE.iter().all(|id| self.gates(id));
        if usual && self.gate.len() == DEFAULT_GATE.len() {
            return Vec::new();
        }
        let judged = |asked: &str| {
            let mut gated = quantities.iter().filter(|quantity| quantity.gated);
            gated.any(|quantity| {
                quantity.id == asked || (quantity.id == "value" && asked == "first")
            })
        };
        let asked = self.gate.iter().map(String::as_str);
        asked.filter(|asked| !judged(asked)).collect()
    }

    pub(super) fn gates(&self, id: &str) -> bool {
        let id = if id == "value" { "first" } else { id };
        self.gate.iter().any(|gated| gated == id)
    }
}
