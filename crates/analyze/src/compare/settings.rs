//! The definition of a regression.

use preheat_model::Quantity;

use super::{CompareKind, Compared, Floors, QuantityChange};

/// The quantities that can fail a comparison by default. The ratio follows from first and
/// steady, and a warm-up with more iterations may be shorter in time.
pub const DEFAULT_GATE: [Quantity; 5] = [
    Quantity::TimeToFirst,
    Quantity::First,
    Quantity::Steady,
    Quantity::DeviceMemory,
    Quantity::HostMemory,
];

/// The quantities of iterations.
pub(super) const OF_ITERATIONS: [Quantity; 5] = [
    Quantity::First,
    Quantity::Steady,
    Quantity::Ratio,
    Quantity::Warmup,
    Quantity::Excess,
];

/// The definition of a regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Changes within ± this fraction are ignored.
    pub max_regression: f64,
    /// Changes smaller than this are ignored too.
    pub floors: Floors,
    /// The quantities that can fail the comparison. Lab quantities measured once
    /// per start, the `value`s, count as `first`.
    pub gate: Vec<Compared>,
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
            gate: DEFAULT_GATE.map(Compared::Quantity).to_vec(),
            preheat: preheat.to_owned(),
        }
    }

    /// The settings without these quantities in the gate.
    pub(super) fn without(&self, quantities: &[Quantity]) -> Settings {
        let mut settings = self.clone();
        let gate = &mut settings.gate;
        gate.retain(|id| !quantities.iter().any(|quantity| id == quantity));
        settings
    }

    /// The quantities in the gate that were not judged: neither side has them, or they differ in
    /// kind. The default gate only covers what exists: a program without a device has no
    /// device memory, which is not a problem.
    pub(super) fn unjudged(&self, quantities: &[QuantityChange]) -> Vec<Compared> {
        let usual = DEFAULT_GATE.iter().all(|of| self.gates((*of).into()));
        if usual && self.gate.len() == DEFAULT_GATE.len() {
            return Vec::new();
        }
        let judged = |id: &Compared| {
            let mut gated = quantities.iter().filter(|quantity| quantity.gated);
            gated.any(|quantity| as_gated(quantity.id) == *id)
        };
        let gate = self.gate.iter().copied();
        gate.filter(|id| !judged(id)).collect()
    }

    /// The whole of which the allowed regression is the floor of times.
    pub(super) fn least_whole(&self) -> f64 {
        match self.max_regression > 0.0 {
            true => self.floors.seconds / self.max_regression,
            false => self.floors.seconds,
        }
    }

    pub(super) fn gates(&self, id: Compared) -> bool {
        self.gate.contains(&as_gated(id))
    }
}

/// The quantity in a gate that decides about another: a lab value counts as `first`.
fn as_gated(id: Compared) -> Compared {
    match id {
        Compared::Value => Quantity::First.into(),
        Compared::Region | Compared::Quantity(_) => id,
    }
}
