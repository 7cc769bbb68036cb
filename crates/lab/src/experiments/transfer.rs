//! `transfer`: copies in both directions, from pageable and page-locked memory, and within
//! the device.

use preheat_device::{Buffer, Context, HostBuffer};
use preheat_model::lab::names;

use super::{Bench, Result, TENSOR, repetitions, sizes, timed};

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    let (_, context) = bench.bring_up()?;
    let context = context.as_ref();
    let mut can_pin = true;
    let sweep = bench.variant == names::SWEEP;
    for size in sizes(bench.pick(256 << 20, 16 << 20)).filter(|&size| (size != TENSOR) == sweep) {
        let buffer = match context.allocate(size) {
            Ok(buffer) => buffer,
            Err(why) if why.is_out_of_memory() => {
                let what = format!("copies of {} MiB and more", size >> 20);
                bench.recorder.skip(what, why.to_string())?;
                break;
            }
            Err(why) => return Err(why.into()),
        };
        let count = repetitions(size, bench.pick(256, 64) << 20, 4, bench.pick(30, 10));

        // Written once before timing, so that a copy does not pay for page faults on its
        // host side.
        let mut pageable = vec![1_u8; size];
        copies(
            bench,
            context,
            buffer.as_ref(),
            &mut pageable,
            count,
            [names::H2D_PAGEABLE, names::D2H_PAGEABLE],
        )?;
        within(bench, context, buffer.as_ref(), count)?;
        if can_pin {
            can_pin = pinned(bench, context, buffer.as_ref(), count)?;
        }
    }
    Ok(())
}

/// Copies from one device buffer to another.
fn within(
    bench: &mut Bench<'_>,
    context: &dyn Context,
    source: &dyn Buffer,
    count: usize,
) -> Result {
    let size = source.bytes();
    let target = match context.allocate(size) {
        Ok(target) => target,
        Err(why) if why.is_out_of_memory() => {
            let what = format!("copies of {} MiB within the device", size >> 20);
            bench.recorder.skip(what, why.to_string())?;
            return Ok(());
        }
        Err(why) => return Err(why.into()),
    };
    let times: Result<Vec<f64>, _> = (0..count)
        .map(|_| timed(|| context.copy(target.as_ref(), source)).map(|(seconds, ())| seconds))
        .collect();
    bench.recorder.sweep(names::D2D, size, times?)?;
    Ok(())
}

/// The same copies from page-locked memory, with the cost of locking it. Returns false if
/// no memory can be locked here.
fn pinned(
    bench: &mut Bench<'_>,
    context: &dyn Context,
    buffer: &dyn Buffer,
    count: usize,
) -> Result<bool> {
    let size = buffer.bytes();
    let mut times = Vec::new();
    let mut last: Option<Box<dyn HostBuffer>> = None;
    for _ in 0..repetitions(size, 64 << 20, 3, bench.pick(10, 6)) {
        drop(last.take());
        match timed(|| context.pin(size)) {
            Ok((seconds, memory)) => {
                times.push(seconds);
                last = Some(memory);
            }
            Err(why) => {
                let what = format!("pinned copies of {} KiB and more", size >> 10);
                bench.recorder.skip(what, why.to_string())?;
                return Ok(false);
            }
        }
    }
    bench.recorder.sweep(names::PIN, size, times)?;
    if let Some(mut memory) = last {
        memory.as_mut_slice().fill(1);
        copies(
            bench,
            context,
            buffer,
            memory.as_mut_slice(),
            count,
            [names::H2D_PINNED, names::D2H_PINNED],
        )?;
    }
    Ok(true)
}

fn copies(
    bench: &mut Bench<'_>,
    context: &dyn Context,
    buffer: &dyn Buffer,
    host: &mut [u8],
    count: usize,
    [up, down]: [&str; 2],
) -> Result {
    let size = buffer.bytes();
    let times: Result<Vec<f64>, _> = (0..count)
        .map(|_| timed(|| context.upload(buffer, host)).map(|(seconds, ())| seconds))
        .collect();
    bench.recorder.sweep(up, size, times?)?;
    let times: Result<Vec<f64>, _> = (0..count)
        .map(|_| timed(|| context.download(host, buffer)).map(|(seconds, ())| seconds))
        .collect();
    bench.recorder.sweep(down, size, times?)?;
    Ok(())
}
