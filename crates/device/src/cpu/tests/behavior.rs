//! Behavior that callers rely on besides correct results: ordering, lifetimes, errors.

use std::fs;
use std::path::Path;

use super::{Bench, device, noise, scratch};
use crate::Argument::{Buffer, F32, I32};
use crate::{Cache, Context, Device, Error, From, Kernel, KernelName, StageName};

#[test]
fn initialization_has_two_stages_once() {
    let mut cpu = super::Cpu::new(&crate::Options::default());
    assert!(cpu.info().is_err() && cpu.context().is_err());
    let stages = cpu.initialize().expect("the cpu is always available");
    let names: Vec<StageName> = stages.iter().map(|stage| stage.name).collect();
    assert_eq!(names, [StageName::InitializeDriver, StageName::QueryDevice]);
    assert_eq!(cpu.initialize(), Ok(vec![]));
    assert!(cpu.info().is_ok_and(|info| !info.is_gpu));
    let contexts = [cpu.context(), cpu.context()];
    assert!(contexts.iter().all(Result::is_ok), "two may live at once");
}

#[test]
fn dependent_launches_run_in_order() {
    let n = 1000;
    for workers in [1, 2, 5] {
        let bench = Bench::new(workers);
        let [x, y] = [noise(1, n), noise(2, n)].map(|values| bench.buffer(&values));
        let (mut expected_x, mut expected_y) = (noise(1, n), noise(2, n));
        for round in 0..300 {
            // y depends on x and x on y: any other order gives different numbers.
            let a = 0.01 * (round % 7) as f32 - 0.03;
            let count = I32(n as i32);
            bench.launch(
                KernelName::Saxpy,
                n,
                &[Buffer(&*y), Buffer(&*x), F32(a), count],
            );
            bench.launch(
                KernelName::Saxpy,
                n,
                &[Buffer(&*x), Buffer(&*y), F32(-a), count],
            );
            for (x, y) in expected_x.iter_mut().zip(&mut expected_y) {
                *y += a * *x;
                *x += -a * *y;
            }
        }
        bench.context.synchronize().expect("work ends");
        assert_eq!(bench.values(&*x), expected_x, "{workers} workers");
        assert_eq!(bench.values(&*y), expected_y, "{workers} workers");
    }
}

#[test]
fn buffers_modules_and_contexts_may_be_dropped_while_work_is_queued() {
    let n = 20_000;
    for _ in 0..20 {
        let bench = Bench::new(2);
        let pooled = bench
            .context
            .allocate_pooled(4 * n)
            .expect("there is memory");
        for _ in 0..5 {
            let buffer = bench.context.allocate(4 * n).expect("there is memory");
            for target in [&*buffer, &*pooled] {
                let arguments = [Buffer(target), I32(50), I32(n as i32)];
                bench.launch(KernelName::Busy, n, &arguments);
            }
        }
        drop(pooled);
        bench.context.trim_pool().expect("it waits");
        let last = bench.context.allocate(4 * n).expect("there is memory");
        bench.launch(
            KernelName::Busy,
            n,
            &[Buffer(&*last), I32(50), I32(n as i32)],
        );
        let Bench { context, module } = bench;
        drop(module);
        drop(context);
        drop(last);
    }
}

#[test]
fn a_released_pool_block_is_reused_until_the_pool_is_trimmed() {
    let bench = Bench::new(1);
    let context = &bench.context;
    let big = context.allocate_pooled(1 << 20).expect("there is memory");
    assert_eq!(big.bytes(), 1 << 20);
    let address = big.raw();
    drop(big);
    let small = context.allocate_pooled(1000).expect("there is memory");
    assert_eq!((small.raw(), small.bytes()), (address, 1000));
    context.trim_pool().expect("the segment in use stays");
    bench.fill(&*small, &noise(1, 250));
    assert_eq!(bench.values(&*small), noise(1, 250));
    drop(small);
    context.trim_pool().expect("it can be trimmed");
    let buffers: Vec<_> = (0..4)
        .map(|_| context.allocate_pooled(4096).expect("there is memory"))
        .collect();
    let mut addresses: Vec<u64> = buffers.iter().map(|buffer| buffer.raw()).collect();
    addresses.dedup();
    assert_eq!(addresses.len(), 4);
}

#[test]
fn allocating_too_much_memory_fails() {
    let bench = Bench::new(1);
    let total = bench.context.memory().expect("Linux reports it").total as usize;
    for bytes in [total, 10 * total, usize::MAX / 2, usize::MAX] {
        for result in [
            bench.context.allocate(bytes),
            bench.context.allocate_pooled(bytes),
        ] {
            let error = result.err().expect("no machine has that much");
            assert!(error.is_out_of_memory(), "{error}");
        }
    }
    let buffer = bench
        .context
        .allocate(0)
        .expect("an empty buffer always fits");
    assert_eq!(buffer.bytes(), 0);
    assert_eq!(bench.context.upload(&*buffer, &[]), Ok(()));
}

#[test]
fn copies_are_checked() {
    let bench = Bench::new(1);
    let buffer = bench.buffer(&[1.0, 2.0]);
    let reason_of = |result: crate::Result<()>| match result {
        Err(Error::Failed { answer, .. }) => answer,
        other => panic!("expected a failure, got {other:?}"),
    };
    let answer = reason_of(bench.context.upload(&*buffer, &[0; 9]));
    assert_eq!(answer, "9 bytes do not fit a buffer of 8");
    let answer = reason_of(bench.context.download(&mut [0; 9], &*buffer));
    assert_eq!(answer, "a buffer of 8 bytes is shorter than 9 bytes");
    // Copying less than the whole buffer is fine; the rest is unchanged.
    bench
        .context
        .upload(&*buffer, &3f32.to_ne_bytes())
        .expect("it fits");
    assert_eq!(bench.values(&*buffer), [3.0, 2.0]);

    let (short, long) = (bench.buffer(&[7.0]), bench.buffer(&[8.0, 9.0, 10.0]));
    bench.context.copy(&*buffer, &*short).expect("it fits");
    assert_eq!(bench.values(&*buffer), [7.0, 2.0]);
    bench.context.copy(&*buffer, &*buffer).expect("onto itself");
    assert_eq!(bench.values(&*buffer), [7.0, 2.0]);
    let answer = reason_of(bench.context.copy(&*buffer, &*long));
    assert_eq!(answer, "12 bytes do not fit a buffer of 8");

    let elsewhere = Bench::new(1);
    let foreign = elsewhere.buffer(&[1.0]);
    for (target, source) in [(&buffer, &foreign), (&foreign, &buffer)] {
        let answer = reason_of(bench.context.copy(&**target, &**source));
        assert!(answer.contains("not allocated in this context"), "{answer}");
    }
    let answer = reason_of(elsewhere.context.upload(&*buffer, &[0; 4]));
    assert!(answer.contains("not allocated in this context"), "{answer}");
    let answer = reason_of(elsewhere.context.download(&mut [0; 4], &*buffer));
    assert!(answer.contains("not allocated in this context"), "{answer}");
}

#[test]
fn launches_are_checked() {
    let bench = Bench::new(1);
    let y = bench.buffer(&noise(1, 10));
    let fill = bench.module.kernel(KernelName::Fill).expect("it exists");
    let error_of = |kernel: &dyn Kernel, threads, arguments: &[_]| {
        let error = bench.context.launch(kernel, threads, arguments);
        error.expect_err("it is wrong").to_string()
    };
    let right = [Buffer(&*y), F32(1.0), I32(10)];
    assert_eq!(
        error_of(&*fill, 10, &right[..2]),
        "launching fill failed: expected 3 arguments, got 2"
    );
    assert_eq!(
        error_of(&*fill, 10, &[Buffer(&*y), I32(1), I32(10)]),
        "launching fill failed: argument 2 must be a float, not an int"
    );
    assert_eq!(
        error_of(&*fill, 10, &[F32(1.0), F32(1.0), I32(10)]),
        "launching fill failed: argument 1 must be a buffer, not a float"
    );
    assert!(error_of(&*fill, 1 << 31, &right).contains("threads are too many"));

    let elsewhere = Bench::new(1);
    let foreign = elsewhere.buffer(&noise(1, 10));
    let answer = error_of(&*fill, 10, &[Buffer(&*foreign), F32(1.0), I32(10)]);
    assert!(answer.contains("not allocated in this context"), "{answer}");
    let kernel = elsewhere
        .module
        .kernel(KernelName::Fill)
        .expect("it exists");
    let answer = error_of(&*kernel, 10, &right);
    assert!(answer.contains("not compiled in this context"), "{answer}");

    assert_eq!(bench.context.launch(&*fill, 0, &right), Ok(()));
    assert_eq!(bench.values(&*y), noise(1, 10), "no thread ran");
}

#[test]
fn streams_events_and_pinned_memory_are_created_and_destroyed() {
    let bench = Bench::new(1);
    for _ in 0..100 {
        let stream = bench.context.stream();
        let event = bench.context.event();
        assert!(stream.is_ok() && event.is_ok());
    }
    match bench.context.pin(8192) {
        Ok(mut pinned) => {
            let values = noise(1, 2048);
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
            pinned.as_mut_slice().copy_from_slice(&bytes);
            let buffer = bench.buffer(&noise(2, 2048));
            let uploaded = bench.context.upload(&*buffer, pinned.as_slice());
            assert_eq!(uploaded, Ok(()));
            assert_eq!(bench.values(&*buffer), values);
        }
        Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{error}"),
    }
}

#[test]
fn memory_in_use_grows_with_a_buffer() {
    let bench = Bench::new(1);
    let bytes = 64 << 20;
    let buffer = bench.context.allocate(bytes);
    let memory = bench.context.memory().expect("Linux reports it");
    assert!(buffer.is_ok());
    assert!(memory.used >= bytes as u64 && memory.used <= memory.total);
}

#[test]
fn compile_stages_do_not_depend_on_from() {
    let context = device(Cache::Off).context().expect("it can be created");
    for from in [From::Source, From::Shipped] {
        let (_, stages) = context.compile(from).expect("the source compiles");
        let names: Vec<StageName> = stages.iter().map(|stage| stage.name).collect();
        let expected = [
            StageName::SourceToIntermediate,
            StageName::Optimise,
            StageName::IntermediateToMachineCode,
            StageName::Load,
        ];
        assert_eq!(names, expected);
    }
}

// The compile cache, as two processes would use it.

const HIT: [StageName; 2] = [StageName::ReadCache, StageName::Load];

/// Compiles with a fresh device whose cache is `directory`; returns the stages and the
/// results of a kernel.
fn start(directory: &Path) -> (Vec<StageName>, Vec<f32>) {
    let device = device(Cache::Directory(directory.to_owned()));
    let context = device.context_with(2).expect("a context can be created");
    let (module, stages) = context.compile(From::Source).expect("the source compiles");
    let bench = Bench { context, module };
    let [x, y] = [noise(1, 700), noise(2, 700)].map(|values| bench.buffer(&values));
    let arguments = [Buffer(&*y), Buffer(&*x), F32(0.3), I32(700)];
    bench.launch(KernelName::Saxpy, 700, &arguments);
    let names = stages.iter().map(|stage| stage.name).collect();
    (names, bench.values(&*y))
}

#[test]
fn a_filled_cache_replaces_compilation_without_changing_results() {
    let scratch = scratch();
    let directory = scratch.path().join("cache");
    let (cold, expected) = start(&directory);
    assert_eq!(cold[0], StageName::SourceToIntermediate);
    assert_eq!(cold.len(), 4);
    let (warm, found) = start(&directory);
    assert_eq!(warm, HIT);
    assert_eq!(found, expected);
}

#[test]
fn a_damaged_file_is_compiled_again_and_replaced() {
    let scratch = scratch();
    let (_, expected) = start(scratch.path());
    let files: Vec<_> = fs::read_dir(scratch.path())
        .expect("it is a directory")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    let [file] = &files[..] else {
        panic!("expected one file, found {files:?}");
    };
    let whole = fs::read(file).expect("it is ours");
    let mut flipped = whole.clone();
    // In the middle of the machine code, where it would be executed.
    let last = flipped.len() - 100;
    flipped[last] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &flipped, b""] {
        fs::write(file, damaged).expect("it is ours");
        let (stages, found) = start(scratch.path());
        assert_eq!(stages[0], StageName::SourceToIntermediate);
        assert_eq!(found, expected);
        assert_eq!(start(scratch.path()).0, HIT, "it was replaced");
    }
}

#[test]
fn an_unusable_cache_directory_disables_the_cache() {
    let scratch = scratch();
    let file = scratch.path().join("file");
    fs::write(&file, "").expect("it can be written");
    for _ in 0..2 {
        let (stages, _) = start(&file.join("cache"));
        assert_eq!(stages[0], StageName::SourceToIntermediate);
    }
}
