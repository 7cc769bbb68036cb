//! `train-initialized`: the same training after a dummy tensor brought the device up, with
//! and without a pause after it.

use std::time::{Duration, Instant};

use preheat_analyze::lab::names;

use super::train::{Parts, train_loop};
use super::{Bench, Result};
use crate::native::ops::Ops;

/// As long as one of the articles waits.
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
