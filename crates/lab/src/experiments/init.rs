//! `init`: the steps before a device can do any work.

use preheat_model::lab::names;

use super::{Bench, Result, timed};

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    for stage in bench.device.initialize()? {
        bench.recorder.stage(stage.name.as_str(), stage.seconds)?;
    }
    let (seconds, context) = timed(|| bench.device.context())?;
    bench.recorder.stage(names::CREATE_CONTEXT, seconds)?;

    let (seconds, _stream) = timed(|| context.stream())?;
    bench.recorder.stage(names::CREATE_STREAM, seconds)?;

    let (seconds, _event) = timed(|| context.event())?;
    bench.recorder.stage(names::CREATE_EVENT, seconds)?;

    // Another context while the first is alive: the cost of a second model server in the
    // same process.
    let (seconds, _second) = timed(|| bench.device.context())?;
    bench.recorder.stage(names::SECOND_CONTEXT, seconds)?;
    Ok(())
}
