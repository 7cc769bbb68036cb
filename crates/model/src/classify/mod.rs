//! Iteration times of other tools, and their classes.

mod report;
mod times;

pub use report::{Benchmark, CLASSIFY_SCHEMA, ClassifyReport, Start, Unread};
pub use times::{Format, MOST_STARTS, Measures, Times};
