//! Statistics of iteration times: where warm-up ends, the class of a series, and ratios
//! with honest intervals.
//!
//! Everything is pure and seeded. Times are plain numbers in any one unit: nothing here
//! depends on the scale. The flow of a series:
//!
//! - [`summarize_start`] handles one start. Iteration 0 is treated separately; `steady`
//!   finds where the others settle, from changepoints ([`pelt`]) in the logarithms, cleaned
//!   of outliers and compared with their variation (`scatter`).
//! - [`summarize`] handles all starts of a series together: class, consistency, medians
//!   and the ratio with its interval.
//! - [`paired_ratio`], [`unpaired_ratio`] and [`interval`] resample starts and the
//!   iterations within them; claims are based on these. [`mean_interval`] is for amounts
//!   that add up and may be zero or negative.
//! - [`welch`] compares two samples, [`geometric_difference`] gives the difference of two
//!   samples of logarithms in their original unit, and [`holm`] adjusts for many comparisons.
//!
//! Interpreting the numbers for users is not done here.

mod interval;
mod mean;
pub mod pelt;
mod scatter;
mod series;
mod steady;
mod student;
mod welch;

pub use interval::{interval, paired_ratio, starts_to_clear, unpaired_ratio};
pub use mean::mean_interval;
pub(crate) use preheat_model::stats::{
    Class, Consistency, Estimate, MIN_STARTS, MUCH_SLOWER, Rng, geometric_mean, median, quantile,
    quantile_of_sorted,
};
pub use series::{SeriesSummary, StartSummary, firsts, summarize, summarize_on, summarize_start};
pub use welch::{Mean, Welch, by_permutation, geometric_difference, holm, mean, welch};
