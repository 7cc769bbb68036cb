//! `alloc`: the first allocation, later ones, the pool, and a sweep over sizes. `prealloc`: one
//! large allocation before small ones.

use preheat_device::Context;
use preheat_model::lab::names;

use super::{Bench, Result, TENSOR, repetitions, sizes, timed};

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    let (setup, context) = bench.bring_up()?;
    let context = context.as_ref();
    if bench.variant == names::SWEEP {
        return sweep(bench, context);
    }
    bench.recorder.stage(names::INITIALIZE, setup)?;
    let count = bench.pick(30, 12);

    // All are kept until the end of this block, so that each needs new memory.
    {
        let mut kept = Vec::with_capacity(count);
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let (seconds, buffer) = timed(|| context.allocate(TENSOR))?;
            kept.push(buffer);
            times.push(seconds);
        }
        bench
            .recorder
            .iterations(names::CONTEXT_READY, times.clone())?;
        // The same series as a fresh program sees it: its first allocation includes device
        // initialization.
        times[0] += setup;
        bench.recorder.iterations(names::FROM_NOTHING, times)?;
    }

    let mut buffer = context.allocate(TENSOR)?;
    let mut again = Vec::with_capacity(count);
    for _ in 0..count {
        drop(buffer);
        let (seconds, next) = timed(|| context.allocate(TENSOR))?;
        buffer = next;
        again.push(seconds);
    }
    drop(buffer);
    bench.recorder.iterations(names::FREE_AND_AGAIN, again)?;

    pool(bench, context, count)
}

fn pool(bench: &mut Bench<'_>, context: &dyn Context, count: usize) -> Result {
    let pooled = || timed(|| context.allocate_pooled(TENSOR)).map(|(seconds, _)| seconds);
    let from_pool = match (0..count).map(|_| pooled()).collect::<Result<Vec<_>, _>>() {
        Ok(times) => times,
        Err(why) => {
            bench.recorder.skip(names::FROM_POOL, why.to_string())?;
            return Ok(());
        }
    };
    bench.recorder.iterations(names::FROM_POOL, from_pool)?;
    let mut after_trim = Vec::with_capacity(count);
    for _ in 0..count {
        context.trim_pool()?;
        after_trim.push(pooled()?);
    }
    bench.recorder.iterations(names::AFTER_TRIM, after_trim)?;
    context.trim_pool()?;
    Ok(())
}

fn sweep(bench: &mut Bench<'_>, context: &dyn Context) -> Result {
    for size in sizes(bench.pick(1 << 30, 64 << 20)) {
        let count = repetitions(size, 512 << 20, 3, bench.pick(20, 8));
        let times: Result<Vec<f64>, _> = (0..count)
            .map(|_| timed(|| context.allocate(size)).map(|(seconds, _)| seconds))
            .collect();
        match times {
            Ok(times) => bench.recorder.sweep(names::ALLOCATE, size, times)?,
            Err(why) if why.is_out_of_memory() => {
                // Larger ones would fail too; keep the results so far.
                let what = format!("{} of {} MiB and more", names::ALLOCATE, size >> 20);
                bench.recorder.skip(what, why.to_string())?;
                break;
            }
            Err(why) => return Err(why.into()),
        }
    }
    Ok(())
}

// `prealloc`: does one large allocation make later small ones cheaper?

/// 2²⁸ float32 elements.
const BIG: usize = 1 << 30;

pub(super) fn preallocate(bench: &mut Bench<'_>) -> Result {
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
