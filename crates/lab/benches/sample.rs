//! The cost of one timed sample, compared with the shortest operations that are timed.
//!
//! The share shows how much of a steady sample may be the clock itself.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use preheat_device::{Argument, Device, From, KernelName, Kind, Options};
use preheat_lab::timed;

/// The fastest of these rounds counts: other load on the machine can only add time.
const ROUNDS: usize = 15;

/// Nanoseconds per call of `work`.
fn cost(calls: usize, mut work: impl FnMut()) -> f64 {
    let round = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        start.elapsed().as_secs_f64() * 1e9 / calls as f64
    };
    (0..ROUNDS)
        .map(|_| round(&mut work))
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let clock = cost(100_000, || {
        black_box(Instant::now());
    });
    let sample = cost(100_000, || {
        let Ok(timed) = timed(|| Ok::<_, Infallible>(()));
        black_box(timed);
    });
    let mut device = preheat_device::open(Kind::Cpu, &Options::default());
    let (pool, launch) = shortest(device.as_mut()).expect("the cpu device is always available");

    println!("one timed sample, and the shortest steady samples on the cpu device");
    println!("{:<34} {:>10}  {:>14}", "", "ns", "timed sample is");
    for (name, nanoseconds) in [
        ("read the clock once", clock),
        ("one timed sample of nothing", sample),
        ("allocate from the pool and free", pool),
        ("launch a kernel and wait for it", launch),
    ] {
        println!(
            "{name:<34} {nanoseconds:>10.1}  {:>13.1}%",
            100.0 * sample / nanoseconds
        );
    }
}

/// Nanoseconds of a pool hit, and of a launch with its synchronization.
fn shortest(device: &mut dyn Device) -> preheat_device::Result<(f64, f64)> {
    device.initialize()?;
    let context = device.context()?;
    drop(context.allocate_pooled(4 << 20)?);
    let pool = cost(10_000, || {
        black_box(context.allocate_pooled(4 << 20).map(drop).ok());
    });
    let (module, _) = context.compile(From::Shipped)?;
    let saxpy = module.kernel(KernelName::Saxpy)?;
    let (y, x) = (context.allocate(4096)?, context.allocate(4096)?);
    let arguments = [
        Argument::Buffer(y.as_ref()),
        Argument::Buffer(x.as_ref()),
        Argument::F32(2.0),
        Argument::I32(1024),
    ];
    let launch = cost(2_000, || {
        let launched = context.launch(saxpy.as_ref(), 1024, &arguments);
        black_box(launched.and_then(|()| context.synchronize()).ok());
    });
    Ok((pool, launch))
}
