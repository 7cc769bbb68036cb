//! One timed sample.

use std::time::Instant;

/// How long `work` took in seconds, and what it gave. Every native sample is taken
/// here; what this costs itself is in `benches/sample.rs`.
pub fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
    let start = Instant::now();
    let value = work()?;
    Ok((start.elapsed().as_secs_f64(), value))
}
