//! `prealloc`: does one large allocation make later small ones cheaper?

use preheat_model::lab::names;

use super::{Bench, Result, TENSOR, timed};

/// 2²⁸ float32 elements.
const BIG: usize = 1 << 30;

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    let (_, context) = bench.bring_up()?;
    let context = context.as_ref();
    let held = if bench.variant == names::AFTER_NOTHING {
        None
    } else {
        let (seconds, block) = timed(|| context.allocate_pooled(BIG))?;
        bench.recorder.stage(names::BIG_BLOCK, seconds)?;
        // When freed, it returns to the pool and not to the driver.
        (bench.variant == names::AFTER_HELD).then_some(block)
    };

    let count = bench.pick(20, 10);
    let mut kept = Vec::with_capacity(count);
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let (seconds, buffer) = timed(|| context.allocate_pooled(TENSOR))?;
        kept.push(buffer);
        times.push(seconds);
    }
    bench.recorder.iterations(names::ALLOCATE_4_MIB, times)?;
    drop(held);
    Ok(())
}
