//! `train-initialized`: the same training after a dummy tensor initialized the device, with
//! and without a pause after it.

use std::time::{Duration, Instant};

use preheat_model::lab::names;

use super::train::{Parts, train_loop};
use super::{Bench, Result};
use crate::native::ops::Ops;

/// The pause that one of the articles behind the claims uses.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    let start = Instant::now();
    bench.device.initialize()?;
    let context = bench.device.context()?;
    let dummy = context.allocate(4)?;
    context.synchronize()?;
    bench
        .recorder
        .stage(names::INITIALIZE, start.elapsed().as_secs_f64())?;
    if bench.variant == names::MODEL_AFTER_PAUSE {
        std::thread::sleep(PAUSE);
    }
    drop(dummy);
    train_loop(bench, Parts::ForwardBackwardStep, |_| Ok(Ops::new(context)))?;
    Ok(())
}
