//! The quantities of a start, which budgets limit and comparisons judge.

use serde::{Deserialize, Serialize};

use crate::units::Unit;

/// A quantity of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// From `exec` to the end of the first iteration.
    TimeToFirst,
    /// The first iteration.
    First,
    /// The steady iteration.
    Steady,
    /// first ÷ steady.
    Ratio,
    /// Iterations before the steady state.
    Warmup,
    /// The cost of warm-up beyond steady.
    Excess,
    /// The peak device memory.
    DeviceMemory,
    /// Peak host memory: the largest resident size of a process.
    HostMemory,
}

impl Quantity {
    /// All quantities, in display order.
    pub const ALL: [Quantity; 8] = [
        Quantity::TimeToFirst,
        Quantity::First,
        Quantity::Steady,
        Quantity::Ratio,
        Quantity::Warmup,
        Quantity::Excess,
        Quantity::DeviceMemory,
        Quantity::HostMemory,
    ];

    /// The id in comparisons, and the value of `--gate`.
    pub fn id(self) -> &'static str {
        match self {
            Quantity::TimeToFirst => "time-to-first",
            Quantity::First => "first",
            Quantity::Steady => "steady",
            Quantity::Ratio => "ratio",
            Quantity::Warmup => "warmup",
            Quantity::Excess => "excess",
            Quantity::DeviceMemory => "device-memory",
            Quantity::HostMemory => "host-memory",
        }
    }

    /// The key in a budget.
    pub fn key(self) -> &'static str {
        match self {
            Quantity::TimeToFirst => "time_to_first",
            Quantity::First => "first",
            Quantity::Steady => "steady",
            Quantity::Ratio => "first_ratio",
            Quantity::Warmup => "warmup",
            Quantity::Excess => "excess",
            Quantity::DeviceMemory => "device_memory",
            Quantity::HostMemory => "host_memory",
        }
    }

    /// The human-readable name.
    pub fn title(self) -> &'static str {
        match self {
            Quantity::TimeToFirst => "time to first",
            Quantity::First => "first iteration",
            Quantity::Steady => "steady iteration",
            Quantity::Ratio => "first ÷ steady",
            Quantity::Warmup => "warm-up",
            Quantity::Excess => "excess",
            Quantity::DeviceMemory => "peak device memory",
            Quantity::HostMemory => "peak host memory",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Quantity::TimeToFirst | Quantity::First | Quantity::Steady | Quantity::Excess => {
                Unit::Seconds
            }
            Quantity::Ratio => Unit::Ratio,
            Quantity::Warmup => Unit::Iterations,
            Quantity::DeviceMemory | Quantity::HostMemory => Unit::Bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_names_in_documents() {
        for quantity in Quantity::ALL {
            let name = serde_json::to_value(quantity).unwrap();
            assert_eq!(name, quantity.id());
        }
    }
}
