//! `train`, and its variants `train-initialized` and `train-no-optimizer`: Linear(10,10), batch
//! 1, squared error against zeros, SGD 0.01.
//!
//! *From nothing*, the first iteration runs in a process that has not touched the device
//! yet. With the *model on the device*, as most scripts time it, device, model and input
//! are ready before the timer starts; the kernels are loaded when they are launched.

use std::time::{Duration, Instant};

use preheat_model::lab::names;

use super::{Bench, Result, timed};
use crate::native::ops::{HostFloats, LinearShape, Ops, Tensor};
use crate::native::tape::Tape;

const SHAPE: LinearShape = LinearShape {
    batch: 1,
    inputs: 10,
    outputs: 10,
};
const RATE: f32 = 0.01;

/// The executed parts of an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    ForwardBackwardStep,
    ForwardBackward,
    Forward,
}

/// The model on the device.
pub(super) struct Training {
    pub(super) ops: Ops,
    weight: Tensor,
    bias: Tensor,
    input: Tensor,
}

impl Training {
    pub(super) fn new(ops: Ops) -> Result<Training> {
        let (weight, bias, input) = (ops.tensor(100)?, ops.tensor(10)?, ops.tensor(10)?);
        ops.upload(&weight, &HostFloats::noise(100, 1))?;
        ops.upload(&bias, &HostFloats::noise(10, 2))?;
        Ok(Training {
            ops,
            weight,
            bias,
            input,
        })
    }

    /// Runs the forward pass alone; returns whether it recorded a graph.
    pub(super) fn forward(&self, recording: bool) -> Result<bool> {
        let mut tape = Tape::new(&self.ops, recording);
        let x = tape.leaf(&self.input);
        let (w, b) = (tape.leaf(&self.weight), tape.leaf(&self.bias));
        let y = tape.linear(x, w, b, SHAPE)?;
        tape.mse(y)?;
        self.ops.synchronize()?;
        Ok(tape.is_recorded())
    }

    /// Uploads an input.
    fn send(&self, input: &HostFloats) -> Result {
        Ok(self.ops.upload(&self.input, input)?)
    }

    /// Runs one iteration until it is complete on the device.
    pub(super) fn iterate(&self, parts: Parts) -> Result {
        if parts == Parts::Forward {
            self.forward(false)?;
            return Ok(());
        }
        let mut tape = Tape::new(&self.ops, true);
        let x = tape.leaf(&self.input);
        let (w, b) = (tape.leaf(&self.weight), tape.leaf(&self.bias));
        let y = tape.linear(x, w, b, SHAPE)?;
        tape.mse(y)?;
        let gradients = tape.backward()?;
        if parts == Parts::ForwardBackwardStep {
            for (parameter, var) in [(&self.weight, w), (&self.bias, b)] {
                if let Some(gradient) = gradients.of(var) {
                    self.ops.sgd(parameter, gradient, RATE)?;
                }
            }
        }
        self.ops.synchronize()?;
        Ok(())
    }
}

/// The training loop; `make` initializes the device if necessary. Model and input are moved
/// in the first iteration, or before it where the variant has them on the device.
pub(super) fn train_loop(
    bench: &mut Bench<'_>,
    parts: Parts,
    make: impl FnOnce(&mut Bench<'_>) -> Result<Ops>,
) -> Result<Training> {
    let count = bench.pick(200, 60);
    let inputs: Vec<HostFloats> = (0..count)
        .map(|index| HostFloats::noise(10, index as u32))
        .collect();
    let mut times = Vec::with_capacity(count);
    let resident = bench.model_on_device();
    let mut start = Instant::now();
    let ops = make(bench)?;
    let training = Training::new(ops)?;
    training.send(&inputs[0])?;
    if resident {
        let seconds = start.elapsed().as_secs_f64();
        bench.recorder.stage(names::MOVE_MODEL, seconds)?;
        start = Instant::now();
    }
    training.iterate(parts)?;
    times.push(start.elapsed().as_secs_f64());
    for input in &inputs[1..] {
        let start = Instant::now();
        if !resident {
            training.send(input)?;
        }
        training.iterate(parts)?;
        times.push(start.elapsed().as_secs_f64());
    }
    bench.recorder.iterations(names::ITERATION, times)?;
    Ok(training)
}

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    train_loop(bench, Parts::ForwardBackwardStep, from_nothing)?;
    Ok(())
}

/// Initializes the device.
pub(super) fn from_nothing(bench: &mut Bench<'_>) -> Result<Ops> {
    bench.device.initialize()?;
    Ok(Ops::new(bench.device.context()?))
}

// `train-initialized`: the same training after a dummy tensor initialized the device, with
// and without a pause after it.

/// The pause that one of the articles behind the claims uses.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run_initialized(bench: &mut Bench<'_>) -> Result {
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

// `train-no-optimizer`: the same training without the optimizer step, and the forward pass
// alone; the latter also measures what graph recording and the backward pass cost in every
// iteration.

pub(super) fn run_without_optimizer(bench: &mut Bench<'_>) -> Result {
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

#[cfg(test)]
mod tests {
    use preheat_device::{Kind, Options};

    use super::*;
    use crate::native::ops::noise;

    #[test]
    fn training_brings_the_loss_down() {
        let mut device = preheat_device::open(Kind::Cpu, &Options::default());
        device
            .initialize()
            .expect("the cpu device is always available");
        let training =
            Training::new(Ops::new(device.context().expect("context"))).expect("a model");
        let before = training.ops.download(&training.weight).expect("download");
        // The input is noise around zero: weights shrink towards the zero target.
        for index in 0..2000 {
            training
                .send(&HostFloats::noise(10, index))
                .expect("an input");
            training
                .iterate(Parts::ForwardBackwardStep)
                .expect("an iteration");
        }
        let after = training.ops.download(&training.weight).expect("download");
        let size = |values: &[f32]| values.iter().map(|v| v * v).sum::<f32>();
        assert!(size(&after) < 0.9 * size(&before));
    }

    #[test]
    fn without_the_optimizer_nothing_is_learned() {
        let mut device = preheat_device::open(Kind::Cpu, &Options::default());
        device
            .initialize()
            .expect("the cpu device is always available");
        let training =
            Training::new(Ops::new(device.context().expect("context"))).expect("a model");
        training.send(&HostFloats::noise(10, 0)).expect("an input");
        training
            .iterate(Parts::ForwardBackward)
            .expect("an iteration");
        let after = training.ops.download(&training.weight).expect("download");
        assert_eq!(after, noise(100, 1));
    }
}
