//! Judges iteration times that other tools measured.
//!
//! [`Times`] is the input: the iterations of every start of one benchmark. [`judge`] turns
//! it into a [`Benchmark`]: class, steady start, first, steady, ratio and excess with their
//! intervals, and how many iterations to discard. A [`ClassifyReport`] contains all of them
//! and is the document `preheat.classify/2`.
//!
//! Reading files is the job of `preheat-times`; the statistics come from [`crate::stats`].

mod judge;

pub use judge::judge;
pub(crate) use preheat_model::classify::{Benchmark, Format, Measures, Start, Times};
