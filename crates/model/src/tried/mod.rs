//! Measured remedies.

mod report;

pub use report::{Kept, NotTried, TRIED_SCHEMA, Tried, TriedReport, TriedVariant};
