//! Iteration times that other tools measured, judged.
//!
//! [`Times`] is what was read: the iterations of every start of one benchmark. [`judge`]
//! makes a [`Benchmark`] of it: class, where steady begins, first, steady, ratio and excess
//! with their intervals, and how many iterations to discard. A [`ClassifyReport`] is all of
//! them, the document `preheat.classify/1`.
//!
//! How files are read is for `preheat-times`; the statistics are those of
//! [`crate::stats`].

mod discard;
mod judge;
mod report;
mod times;

pub use judge::judge;
pub use report::{Benchmark, CLASSIFY_SCHEMA, ClassifyReport, Start, Unread};
pub use times::{Format, MOST_STARTS, Measures, Times};
