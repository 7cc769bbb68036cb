//! Calls every function of a device once, checks the result, and prints one line per call
//! with its duration:
//!
//! `cargo run --release -p preheat-device --example smoke -- cpu|cuda|opencl`
//!
//! For machines that the test suite cannot reach, such as one with a new driver. It
//! continues after a failure and exits with status 1 if anything failed. Drivers read their
//! compile-cache settings only once per process, so it runs itself three times: without a
//! cache, with an empty cache, and with the cache that the second run filled.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use preheat_device::{
    Argument, Buffer, Cache, Context, Device, From, KernelName, Kind, Module, Options, Result,
    Stage, cuda, open,
};

#[path = "support/reference.rs"]
mod reference;

const MIB: usize = 1 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let kind = arguments.first().and_then(|id| Kind::from_id(id));
    let is_good = match (kind, arguments.get(1)) {
        (Some(kind), None) => start_all(kind),
        (Some(kind), Some(directory)) if directory.is_empty() => everything(kind),
        (Some(kind), Some(directory)) => compiling(kind, Path::new(directory)),
        (None, _) => {
            eprintln!("usage: smoke cpu|cuda|opencl");
            false
        }
    };
    if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs this program once per compile-cache state.
fn start_all(kind: Kind) -> bool {
    let directory = env::temp_dir().join(format!("preheat-smoke-{}", std::process::id()));
    let states = [
        ("no cache", Cache::Off),
        ("empty cache", Cache::Directory(directory.clone())),
        ("filled cache", Cache::Directory(directory.clone())),
    ];
    let mut is_good = true;
    for (state, cache) in states {
        println!("== {}, {state}", kind.id());
        let cache_directory = match &cache {
            Cache::Off => PathBuf::new(),
            Cache::Directory(path) => path.clone(),
        };
        let status = env::current_exe().and_then(|program| {
            std::fs::create_dir_all(&directory)?;
            Command::new(program)
                .arg(kind.id())
                .arg(&cache_directory)
                .envs(cache.environment(kind))
                .status()
        });
        let failure = match status {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        println!("FAILED   {state}: {failure}");
        is_good = false;
    }
    let _ = std::fs::remove_dir_all(&directory);
    is_good
}

/// Prints one line per step and records whether any failed.
struct Steps {
    is_good: bool,
}

impl Steps {
    /// `work` returns its result and a remark to print.
    fn step<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<(T, String), String>,
    ) -> Option<T> {
        let start = Instant::now();
        let done = work();
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        match done {
            Ok((made, remark)) => {
                println!("ok {milliseconds:10.3} ms  {name}  {remark}");
                Some(made)
            }
            Err(reason) => {
                println!("FAILED {milliseconds:6.3} ms  {name}  {reason}");
                self.is_good = false;
                None
            }
        }
    }

    /// Like [`Steps::step`], for work without a result.
    fn check(&mut self, name: &str, work: impl FnOnce() -> Result<String, String>) {
        self.step(name, || Ok(((), work()?)));
    }
}

/// Converts a device error to text, so that steps can also fail with their own messages.
fn text_error<T>(result: Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn list_stages(stages: &[Stage]) -> String {
    let each = stages
        .iter()
        .map(|stage| format!("{} {:.3} ms", stage.name.as_str(), stage.seconds * 1e3));
    each.collect::<Vec<_>>().join(", ")
}

/// Opens a device and its first context, if both are available.
fn begin(
    steps: &mut Steps,
    kind: Kind,
    cache: Cache,
) -> Option<(Box<dyn Device>, Box<dyn Context>)> {
    let mut device = open(kind, &Options { cache });
    steps.step("initialize", || {
        let stages = text_error(device.initialize())?;
        let again = text_error(device.initialize())?;
        ensure(again.is_empty(), "the second call was not a no-op")?;
        Ok(((), list_stages(&stages)))
    })?;
    steps.check("info", || Ok(format!("{:?}", text_error(device.info())?)));
    let context = steps.step("context", || {
        Ok((text_error(device.context())?, String::new()))
    })?;
    Some((device, context))
}

fn compile(steps: &mut Steps, context: &dyn Context, from: From) -> Option<Box<dyn Module>> {
    steps.step(&format!("compile from {from:?}"), || {
        let (module, stages) = text_error(context.compile(from))?;
        Ok((module, list_stages(&stages)))
    })
}

fn kernels(steps: &mut Steps, context: &dyn Context, module: &dyn Module) {
    for case in reference::cases() {
        steps.check(
            &format!("kernel {}", case.kernel.as_str()),
            || match text_error(case.run(context, module))? {
                None => Ok("agrees with the reference".to_owned()),
                Some(differs) => Err(differs),
            },
        );
    }
}

/// Runs only the steps that involve the compile cache.
fn compiling(kind: Kind, directory: &Path) -> bool {
    let mut steps = Steps { is_good: true };
    let cache = Cache::Directory(directory.to_owned());
    if let Some((_device, context)) = begin(&mut steps, kind, cache) {
        for from in [From::Source, From::Shipped] {
            if let Some(module) = compile(&mut steps, &*context, from) {
                kernels(&mut steps, &*context, &*module);
            }
        }
        steps.check("cache", || {
            let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
            Ok(format!("{} entries in its directory", entries.count()))
        });
    }
    steps.is_good
}

fn everything(kind: Kind) -> bool {
    let mut steps = Steps { is_good: true };
    if kind == Kind::Cuda {
        // A missing NVRTC is not a failure: the kernels then come from the embedded PTX.
        println!(
            "NVRTC: {}",
            cuda::nvrtc().unwrap_or_else(|why| why.to_string())
        );
    }
    if let Some((device, context)) = begin(&mut steps, kind, Cache::Off) {
        handles(&mut steps, &*context);
        memory(&mut steps, &*context);
        pool(&mut steps, &*context);
        copies(&mut steps, &*context);
        for from in [From::Source, From::Shipped] {
            if let Some(module) = compile(&mut steps, &*context, from) {
                kernels(&mut steps, &*context, &*module);
                launches(&mut steps, &*context, &*module);
                second_context(&mut steps, &*device, &*context, &*module);
            }
        }
        steps.check("buffers outlive their context", || {
            let buffer = text_error(context.allocate(MIB))?;
            let pooled = text_error(context.allocate_pooled(MIB))?;
            drop(context);
            drop((pooled, buffer));
            let context = text_error(device.context())?;
            text_error(context.allocate(MIB))?;
            Ok(String::new())
        });
    }
    steps.is_good
}

fn handles(steps: &mut Steps, context: &dyn Context) {
    for time in ["first", "second"] {
        steps.check(&format!("{time} stream"), || {
            text_error(context.stream())?;
            Ok(String::new())
        });
        steps.check(&format!("{time} event"), || {
            text_error(context.event())?;
            Ok(String::new())
        });
    }
}

fn used(context: &dyn Context) -> Result<u64, String> {
    Ok(text_error(context.memory())?.used)
}

fn memory(steps: &mut Steps, context: &dyn Context) {
    steps.check("memory", || {
        Ok(format!("{:?}", text_error(context.memory())?))
    });
    for bytes in [0, 1, 4 * MIB, 4 * MIB, 64 * MIB] {
        let before = used(context);
        let buffer = steps.step(&format!("allocate {bytes}"), || {
            Ok((text_error(context.allocate(bytes))?, String::new()))
        });
        if let (Some(buffer), 67_108_864) = (buffer, bytes) {
            steps.check("memory use includes it", || {
                let (before, with) = (before?, used(context)?);
                drop(buffer);
                let after = used(context)?;
                ensure(
                    with > before && after < with,
                    "memory use did not rise and fall",
                )?;
                Ok(format!("{before}, then {with}, then {after}"))
            });
        }
    }
    steps.check("too much memory", || {
        let total = usize::try_from(text_error(context.memory())?.total).unwrap_or(usize::MAX);
        let Err(error) = context.allocate(total.saturating_mul(2)) else {
            return Err("allocating twice the device memory succeeded".to_owned());
        };
        ensure(
            error.is_out_of_memory(),
            format!("unexpected error: {error}"),
        )?;
        text_error(context.allocate(MIB))?;
        Ok(error.to_string())
    });
}

fn pool(steps: &mut Steps, context: &dyn Context) {
    for bytes in [64 * MIB, 64 * MIB, 4 * MIB, 0] {
        steps.check(&format!("allocate and free {bytes} pooled"), || {
            let buffer = text_error(context.allocate_pooled(bytes))?;
            ensure(buffer.bytes() == bytes, "its size is wrong")?;
            Ok(String::new())
        });
    }
    steps.check("trim the pool", || {
        let before = used(context)?;
        text_error(context.trim_pool())?;
        let after = used(context)?;
        ensure(
            after < before,
            format!("{before} bytes were used, {after} still are"),
        )?;
        Ok(format!("{before}, then {after}"))
    });
}

fn copies(steps: &mut Steps, context: &dyn Context) {
    let source: Vec<u8> = (0..16 * MIB).map(|i| (i % 251) as u8).collect();
    let Some(buffer) = steps.step("allocate for copies", || {
        Ok((text_error(context.allocate(source.len()))?, String::new()))
    }) else {
        return;
    };
    let mut back = vec![0; source.len()];
    steps.check("upload 16 MiB", || {
        text_error(context.upload(&*buffer, &source))?;
        Ok(String::new())
    });
    steps.check("download 16 MiB", || {
        text_error(context.download(&mut back, &*buffer))?;
        Ok(String::new())
    });
    steps.check("copies are equal", || {
        ensure(back == source, "the copy differs")?;
        let too_long = vec![0; source.len() + 1];
        ensure(
            context.upload(&*buffer, &too_long).is_err(),
            "an oversized upload succeeded",
        )?;
        Ok(String::new())
    });
    let pinned = steps.step("pin 16 MiB", || {
        Ok((text_error(context.pin(source.len()))?, String::new()))
    });
    let Some(mut pinned) = pinned else { return };
    pinned.as_mut_slice().fill(7);
    steps.check("upload 16 MiB pinned", || {
        text_error(context.upload(&*buffer, pinned.as_slice()))?;
        Ok(String::new())
    });
    pinned.as_mut_slice().fill(8);
    steps.check("download 16 MiB pinned", || {
        text_error(context.download(pinned.as_mut_slice(), &*buffer))?;
        Ok(String::new())
    });
    steps.check("pinned copies are equal", || {
        ensure(
            pinned.as_slice().iter().all(|&b| b == 7),
            "the copy differs",
        )?;
        Ok(String::new())
    });
}

fn launches(steps: &mut Steps, context: &dyn Context, module: &dyn Module) {
    let prepared = steps.step("pooled memory for launches", || {
        let kernel = text_error(module.kernel(KernelName::Fill))?;
        Ok((
            (kernel, text_error(context.allocate_pooled(4096))?),
            String::new(),
        ))
    });
    let Some((fill, buffer)) = prepared else {
        return;
    };
    let [y, value, n] = [
        Argument::Buffer(&*buffer),
        Argument::F32(1.5),
        Argument::I32(1024),
    ];
    for time in ["a launch", "a further launch"] {
        steps.check(&format!("{time} and synchronize"), || {
            text_error(context.launch(&*fill, 1024, &[y, value, n]))?;
            text_error(context.synchronize())?;
            let values = text_error(reference::download(context, &*buffer))?;
            ensure(values == [1.5; 1024], "the values are wrong")?;
            Ok(String::new())
        });
    }
    steps.check("an empty launch", || {
        text_error(context.launch(&*fill, 0, &[y, value, n]))?;
        Ok(String::new())
    });
    steps.check("wrong arguments", || {
        for wrong in [
            &[y, value][..],
            &[y, n, n],
            &[y, value, n, n],
            &[n, value, n],
        ] {
            ensure(
                context.launch(&*fill, 4, wrong).is_err(),
                "they were accepted",
            )?;
        }
        Ok(String::new())
    });
}

/// Alternates between two contexts, then uses the first again after dropping the second.
fn second_context(
    steps: &mut Steps,
    device: &dyn Device,
    first: &dyn Context,
    module: &dyn Module,
) {
    let second = steps.step("second context", || {
        Ok((text_error(device.context())?, String::new()))
    });
    let Some(second) = second else { return };
    let own = compile(steps, &*second, From::Shipped);
    steps.check("two contexts, interleaved", || {
        let own = own.ok_or("the second context has no kernels")?;
        for case in reference::cases().iter().take(4) {
            for (context, module) in [(first, module), (&*second, &*own), (first, module)] {
                if let Some(differs) = text_error(case.run(context, module))? {
                    return Err(differs);
                }
            }
        }
        text_error(second.allocate_pooled(MIB))?;
        drop((own, second));
        match text_error(reference::cases()[0].run(first, module))? {
            None => Ok(String::new()),
            Some(differs) => Err(differs),
        }
    });
}
