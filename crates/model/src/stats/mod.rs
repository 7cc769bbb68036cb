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

/// A first iteration that is slower by this factor is not like a typical one, even if some
/// later iterations are as slow.
pub const MUCH_SLOWER: f64 = 1.5;
