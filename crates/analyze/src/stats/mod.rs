//! Statistics of iteration times: where warm-up ends, what class a series has, and
//! ratios with honest intervals.
//!
//! Everything is pure and seeded. Times are plain numbers of any one unit: nothing
//! here depends on the scale. The path of a series:
//!
//! - [`summarize_start`] takes one start. Iteration 0 stands apart; `steady` finds
//!   where the others settle, from changepoints ([`pelt`]) in the logarithms, cleaned
//!   of outliers (`outliers`) and judged against their own scatter (`scatter`).
//! - [`summarize`] takes all starts of a series together: class, consistency, medians
//!   and the ratio with its interval.
//! - [`paired_ratio`], [`unpaired_ratio`] and [`interval`] resample starts and the
//!   iterations within them; claims rest on these. [`mean_interval`] is for what
//!   adds up and may be zero or below.
//! - [`welch`] compares two samples, [`geometric_difference`] tells how far apart they are
//!   where that is known of their logarithms, and [`holm`] judges many such comparisons together.
//!
//! What a number means for a user is not decided here.

mod beta;
mod class;
mod holm;
mod interval;
mod mean;
mod moments;
mod mover;
mod order;
mod outliers;
pub mod pelt;
mod resample;
mod rng;
mod scatter;
mod series;
mod start;
mod steady;
mod student;
mod sums;
mod welch;

pub use class::{Class, Consistency};
pub use holm::holm;
pub use interval::{Interval, interval, paired_ratio, starts_to_clear, unpaired_ratio};
pub use mean::mean_interval;
pub use mover::geometric_difference;
pub use order::{geometric_mean, median, quantile};
pub use rng::Rng;
pub use series::{SeriesSummary, summarize, summarize_on};
pub use start::{StartSummary, firsts, summarize_start};
pub use welch::{Mean, Welch, by_permutation, mean, welch};

/// From how many starts on there is an interval.
pub const FEWEST: usize = 3;
