//! One timed sample.

use std::time::Instant;

/// Returns the duration of `work` in seconds, and its result. All native samples are timed
/// here; `benches/sample.rs` measures the overhead.
pub fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
    let start = Instant::now();
    let value = work()?;
    Ok((start.elapsed().as_secs_f64(), value))
}
