//! `launch`: one kernel from its source to its steady launch, stage by stage.
//!
//! The variants differ only in the compile cache: empty, or filled by an earlier process.

use preheat_device::{Argument, Buffer, Context, From, Kernel, KernelName};
use preheat_model::lab::names;

use super::{Bench, Result, timed};

/// Elements of the short launch: real work, but short.
const SHORT_ELEMENTS: usize = 1 << 10;
/// Elements of the long launch.
const LONG_ELEMENTS: usize = 1 << 16;
/// A long launch takes at least this many seconds, far longer than queueing it.
const LONG_ENOUGH: f64 = 2e-3;

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    for stage in bench.device.initialize()? {
        bench.recorder.stage(stage.name.as_str(), stage.seconds)?;
    }
    let (seconds, context) = timed(|| bench.device.context())?;
    bench.recorder.stage(names::CREATE_CONTEXT, seconds)?;
    let context = context.as_ref();

    let (compile, (module, stages)) = timed(|| context.compile(From::Source))?;
    for stage in stages {
        bench.recorder.stage(stage.name.as_str(), stage.seconds)?;
    }
    let saxpy = module.kernel(KernelName::Saxpy)?;
    let y = context.allocate(SHORT_ELEMENTS * 4)?;
    let x = context.allocate(SHORT_ELEMENTS * 4)?;
    context.synchronize()?;
    let mut times = Vec::new();
    for _ in 0..bench.pick(200, 60) {
        let (seconds, ()) = timed(|| {
            let arguments = [
                Argument::Buffer(y.as_ref()),
                Argument::Buffer(x.as_ref()),
                Argument::F32(2.0),
                Argument::I32(SHORT_ELEMENTS as i32),
            ];
            context.launch(saxpy.as_ref(), SHORT_ELEMENTS, &arguments)?;
            context.synchronize()
        })?;
        times.push(seconds);
    }
    bench.recorder.stage(names::FIRST_LAUNCH, times[0])?;
    bench.recorder.iterations(names::LAUNCH, times.clone())?;
    times[0] += compile;
    bench
        .recorder
        .iterations(names::LAUNCH_FROM_SOURCE, times)?;

    let busy = module.kernel(KernelName::Busy)?;
    long_launches(bench, context, busy.as_ref())
}

/// Launches that last much longer than queueing them, timed until completion and, as is
/// often done, only until the launch call returns.
fn long_launches(bench: &mut Bench<'_>, context: &dyn Context, busy: &dyn Kernel) -> Result {
    let y = context.allocate(LONG_ELEMENTS * 4)?;
    let launch = |y: &dyn Buffer, rounds: i32| {
        let arguments = [
            Argument::Buffer(y),
            Argument::I32(rounds),
            Argument::I32(LONG_ELEMENTS as i32),
        ];
        context.launch(busy, LONG_ELEMENTS, &arguments)
    };
    let whole = |rounds| {
        timed(|| {
            launch(y.as_ref(), rounds)?;
            context.synchronize()
        })
    };
    let mut rounds = 16;
    whole(rounds)?;
    while rounds < 1 << 24 && whole(rounds)?.0 < LONG_ENOUGH {
        rounds *= 2;
    }
    let count = bench.pick(20, 8);
    let mut synchronized = Vec::with_capacity(count);
    let mut naive = Vec::with_capacity(count);
    for _ in 0..count {
        synchronized.push(whole(rounds)?.0);
        naive.push(timed(|| launch(y.as_ref(), rounds))?.0);
        context.synchronize()?;
    }
    bench
        .recorder
        .iterations(names::LONG_LAUNCH, synchronized)?;
    bench.recorder.iterations(names::LONG_LAUNCH_NAIVE, naive)?;
    Ok(())
}
