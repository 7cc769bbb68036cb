//! The definition of a regression.

use super::{CompareKind, Floors, Quantity};

/// The ids of all quantities of a run, in display order.
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

/// The quantities that can fail a comparison by default. The ratio follows from first and
/// steady, and a warm-up with more iterations may be shorter in time.
pub const DEFAULT_GATE: [&str; 5] = [
    "time-to-first",
    "first",
    "steady",
    "device-memory",
    "host-memory",
];

/// The quantities of iterations.
pub(super) const OF_ITERATIONS: [&str; 5] = ["first", "steady", "ratio", "warmup", "excess"];

/// The definition of a regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Changes within ± this fraction are ignored.
    pub max_regression: f64,
    /// Changes smaller than this are ignored too.
    pub floors: Floors,
    /// The ids of the quantities that can fail the comparison. Lab quantities measured once
    /// per start, the `value`s, count as `first`.
    pub gate: Vec<String>,
    /// The version of preheat that compares.
    pub preheat: String,
}

impl Settings {
    /// Five percent, with floors that suit the measurements: a start of a program takes at
    /// least milliseconds, a lab experiment may last microseconds.
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

    /// The settings without these quantities in the gate.
    pub(super) fn without(&self, ids: &[&str]) -> Settings {
        let mut settings = self.clone();
        settings.gate.retain(|id| !ids.contains(&id.as_str()));
        settings
    }

    /// The ids in the gate that were not judged: neither side has them, or they differ in
    /// kind. The default gate only covers what exists: a program without a device has no
    /// device memory, which is not a problem.
    pub(super) fn unjudged<'a>(&'a self, quantities: &[Quantity]) -> Vec<&'a str> {
        let usual = DEFAULT_GATE.iter().all(|id| self.gates(id));
        if usual && self.gate.len() == DEFAULT_GATE.len() {
            return Vec::new();
        }
        let judged = |id: &str| {
            let mut gated = quantities.iter().filter(|quantity| quantity.gated);
            gated.any(|quantity| quantity.id == id || (quantity.id == "value" && id == "first"))
        };
        let ids = self.gate.iter().map(String::as_str);
        ids.filter(|id| !judged(id)).collect()
    }

    /// The whole of which the allowed regression is the floor of times.
    pub(super) fn least_whole(&self) -> f64 {
        match self.max_regression > 0.0 {
            true => self.floors.seconds / self.max_regression,
            false => self.floors.seconds,
        }
    }

    pub(super) fn gates(&self, id: &str) -> bool {
        let id = if id == "value" { "first" } else { id };
        self.gate.iter().any(|gated| gated == id)
    }
}
