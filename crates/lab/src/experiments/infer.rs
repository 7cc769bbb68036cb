//! `infer`: first and later inferences, and memory use after each.
//!
//! From nothing, the first inference starts with a network on the host and an untouched
//! device; later ones alternate between uploading their input and reusing input on the
//! device. With the model on the device, network and input are already there before the
//! timer starts.

use std::time::Instant;

use preheat_device::Kind;
use preheat_model::lab::names;

use super::{Bench, Result};
use crate::native::ops::{HostFloats, Ops};
use crate::native::{Loaded, Network};

/// The durations of the parts of one inference, in seconds.
#[derive(Clone, Copy, Default)]
struct Parts {
    copy: f64,
    compute: f64,
}

pub(super) fn run(bench: &mut Bench<'_>) -> Result {
    let network = match bench.variant {
        names::CONV => Network::conv(),
        names::MLP_LARGE | names::MLP_LARGE_ON_DEVICE => Network::mlp(16, 512, 512),
        _ => Network::mlp(1, 64, 128),
    };
    let count = match bench.variant {
        names::MLP_LARGE | names::MLP_LARGE_ON_DEVICE => bench.pick(40, 20),
        _ => bench.pick(100, 40),
    };
    if bench.model_on_device() {
        return on_device(bench, &network, count);
    }
    let inputs: Vec<HostFloats> = (0..count)
        .map(|index| HostFloats::noise(network.input_len, index as u32))
        .collect();
    let mut host_memory = vec![resident_bytes()];

    let start = Instant::now();
    bench.device.initialize()?;
    let context = bench.device.context()?;
    let up = start.elapsed().as_secs_f64();
    let ops = Ops::new(context);
    ops.load()?;
    let kernels = start.elapsed().as_secs_f64();
    let loaded = network.allocate(&ops)?;
    let allocated = start.elapsed().as_secs_f64();
    network.upload_weights(&ops, &loaded)?;
    let weights = start.elapsed().as_secs_f64() - allocated;
    let parts = inference(&ops, &loaded, Some(&inputs[0]))?;
    let mut times = vec![start.elapsed().as_secs_f64()];

    let mut compute = vec![parts.compute];
    // Memory in use before the device is initialized counts as 0: querying it would need a
    // context, which itself uses most of that memory.
    let mut device_memory = vec![0.0];
    let mut resident = Vec::with_capacity(count);
    for input in &inputs[1..] {
        // Interleaved, each after the same memory reading, so that both kinds of input find
        // the machine in the same state.
        host_memory.push(resident_bytes());
        device_memory.extend(used(&ops));
        let start = Instant::now();
        let parts = inference(&ops, &loaded, Some(input))?;
        times.push(start.elapsed().as_secs_f64());
        compute.push(parts.compute);
        resident_bytes();
        used(&ops);
        let start = Instant::now();
        inference(&ops, &loaded, None)?;
        resident.push(start.elapsed().as_secs_f64());
    }
    host_memory.push(resident_bytes());
    device_memory.extend(used(&ops));
    let recorder = &mut *bench.recorder;
    recorder.iterations(names::FRESH_INPUT, times)?;
    recorder.iterations(names::RESIDENT_INPUT, resident)?;
    recorder.iterations(names::COMPUTE, compute)?;
    recorder.stage(names::INITIALIZE, up)?;
    recorder.stage(names::FIRST_KERNELS, kernels - up)?;
    recorder.stage(names::FIRST_ALLOCATE, allocated - kernels)?;
    recorder.stage(names::FIRST_COPY, weights + parts.copy)?;
    recorder.stage(names::FIRST_COMPUTE, parts.compute)?;
    recorder.memory(names::HOST_MEMORY, host_memory)?;
    // On the cpu device, host and device memory are the same.
    if bench.device.kind() != Kind::Cpu && device_memory.len() == count + 1 {
        recorder.memory(names::DEVICE_MEMORY, device_memory)?;
    }
    Ok(())
}

/// Runs inferences with the network and its input on the device; the first one loads the
/// kernels.
fn on_device(bench: &mut Bench<'_>, network: &Network, count: usize) -> Result {
    let (up, context) = bench.bring_up()?;
    bench.recorder.stage(names::INITIALIZE, up)?;
    let start = Instant::now();
    let ops = Ops::new(context);
    let loaded = network.allocate(&ops)?;
    network.upload_weights(&ops, &loaded)?;
    ops.upload(&loaded.input, &HostFloats::noise(network.input_len, 0))?;
    bench
        .recorder
        .stage(names::MOVE_MODEL, start.elapsed().as_secs_f64())?;
    let mut host_memory = vec![resident_bytes()];
    let mut device_memory: Vec<f64> = used(&ops).into_iter().collect();
    let mut times = Vec::with_capacity(count);
    let mut kernels = 0.0;
    for _ in 0..count {
        let start = Instant::now();
        if times.is_empty() {
            ops.load()?;
            kernels = start.elapsed().as_secs_f64();
        }
        inference(&ops, &loaded, None)?;
        times.push(start.elapsed().as_secs_f64());
        host_memory.push(resident_bytes());
        device_memory.extend(used(&ops));
    }
    let recorder = &mut *bench.recorder;
    recorder.stage(names::FIRST_KERNELS, kernels)?;
    recorder.iterations(names::RESIDENT_INPUT, times)?;
    recorder.memory(names::HOST_MEMORY, host_memory)?;
    if bench.device.kind() != Kind::Cpu && device_memory.len() == count + 1 {
        recorder.memory(names::DEVICE_MEMORY, device_memory)?;
    }
    Ok(())
}

/// Runs one inference and downloads the result; `fresh` is uploaded first.
fn inference(ops: &Ops, loaded: &Loaded, fresh: Option<&HostFloats>) -> Result<Parts> {
    let mut parts = Parts::default();
    if let Some(values) = fresh {
        let start = Instant::now();
        ops.upload(&loaded.input, values)?;
        parts.copy += start.elapsed().as_secs_f64();
    }
    let start = Instant::now();
    let output = loaded.forward(ops)?;
    ops.synchronize()?;
    parts.compute = start.elapsed().as_secs_f64();
    let start = Instant::now();
    ops.download(output)?;
    parts.copy += start.elapsed().as_secs_f64();
    Ok(parts)
}

fn used(ops: &Ops) -> Option<f64> {
    Some(ops.context().memory().ok()?.used as f64)
}

/// The resident memory of this process, in bytes; 0 if the system does not report it.
fn resident_bytes() -> f64 {
    preheat_host::resident_memory().unwrap_or(0) as f64
}
