//! Measured remedies.

mod report;

pub use report::{Holds, Kept, NotTried, TRIED_SCHEMA, Tried, TriedReport, TriedVariant};
