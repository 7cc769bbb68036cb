//! Estimates and classes, and the seeded random numbers behind orders and resampling.

mod class;
mod interval;
mod order;
mod rng;

pub use class::{Class, Consistency};
pub use interval::Interval;
pub use order::{geometric_mean, median, quantile, quantile_of_sorted};
pub use rng::Rng;

/// The minimum number of starts for an interval.
pub const FEWEST: usize = 3;
