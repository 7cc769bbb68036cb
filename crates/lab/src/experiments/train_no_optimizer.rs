//! `train-no-optimizer`: the same training without the optimizer step, and the forward pass
//! alone; the latter also measures what graph recording and the backward pass cost in every
//! iteration.

use preheat_model::lab::names;

use super::train::{Parts, from_nothing, train_loop};
use super::{Bench, Result, timed};

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    if bench.variant != names::FORWARD_ONLY {
        train_loop(bench, Parts::ForwardBackward, from_nothing)?;
        return Ok(());
    }
    let training = train_loop(bench, Parts::Forward, from_nothing)?;
    let count = bench.pick(200, 60);
    let mut recording = Vec::with_capacity(count);
    let mut plain = Vec::with_capacity(count);
    let mut recordings = Vec::with_capacity(count);
    let mut whole = Vec::with_capacity(count);
    // Interleaved, so that drift of the machine affects all three alike.
    for _ in 0..count {
        let (seconds, recorded) = timed(|| training.forward(true))?;
        recording.push(seconds);
        recordings.push(f64::from(u8::from(recorded)));
        plain.push(timed(|| training.forward(false))?.0);
        whole.push(timed(|| training.iterate(Parts::ForwardBackward))?.0);
    }
    bench
        .recorder
        .iterations(names::FORWARD_RECORDING, recording)?;
    bench.recorder.iterations(names::FORWARD_PLAIN, plain)?;
    bench.recorder.iterations(names::FORWARD_BACKWARD, whole)?;
    bench.recorder.count(names::RECORDINGS, recordings)?;
    Ok(())
}
