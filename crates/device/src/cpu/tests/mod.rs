//! Tests of the whole device, through its traits.

mod behavior;
mod kernels;

use preheat_host::Scratch;

use super::Cpu;
use super::context::CpuContext;
use crate::{Argument, Buffer, Cache, Context, Device, From, KernelName, Module, Options};

/// A directory for one test, removed at its end.
pub(super) fn scratch() -> Scratch {
    Scratch::new("cpu-test").expect("a directory for the test")
}

fn device(cache: Cache) -> Cpu {
    let mut device = Cpu::new(&Options { cache });
    device.initialize().expect("the cpu is always available");
    device
}

/// A context and its compiled kernels.
struct Bench {
    context: CpuContext,
    module: Box<dyn Module>,
}

impl Bench {
    fn new(workers: usize) -> Bench {
        let context = device(Cache::Off)
            .context_with(workers)
            .expect("a context can be created");
        let (module, _) = context.compile(From::Source).expect("the source compiles");
        Bench { context, module }
    }

    /// Allocates a buffer with `values`.
    fn buffer(&self, values: &[f32]) -> Box<dyn Buffer> {
        let buffer = self
            .context
            .allocate(size_of_val(values))
            .expect("there is memory");
        self.fill(&*buffer, values);
        buffer
    }

    fn fill(&self, buffer: &dyn Buffer, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        self.context.upload(buffer, &bytes).expect("it fits");
    }

    fn launch(&self, name: KernelName, threads: usize, arguments: &[Argument<'_>]) {
        let kernel = self.module.kernel(name).expect("it is in the source");
        self.context
            .launch(&*kernel, threads, arguments)
            .expect("the arguments are right");
    }

    /// The content of the buffer after all work is done.
    fn values(&self, buffer: &dyn Buffer) -> Vec<f32> {
        let mut bytes = vec![0; buffer.bytes()];
        self.context
            .download(&mut bytes, buffer)
            .expect("the sizes are equal");
        bytes
            .chunks_exact(size_of::<f32>())
            .map(|chunk| f32::from_ne_bytes(chunk.try_into().expect("chunks of four")))
            .collect()
    }
}

/// Reproducible values between -1 and 1 (Knuth's MMIX generator).
fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}
