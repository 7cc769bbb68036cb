//! Tests of the OpenCL device on a real device, whichever this machine has.
//!
//! Without one, each test prints a note and passes, unless PREHEAT_TEST_REQUIRE contains
//! `opencl`: machines that should have one set it, so that no test is skipped silently.

use std::rc::Rc;

use super::{OpenCl, Scope, compile, driver, rank, version};
use crate::{
    Argument, Buffer, Context, Device, Error, From, KernelName, Kind, Module, Options, Result,
    StageName, Stopwatch,
};

#[path = "../../examples/support/reference.rs"]
mod reference;

#[path = "../../../../tests/missing.rs"]
mod missing;

const MIB: usize = 1 << 20;

/// An initialized device, or `None` on machines without one.
fn device() -> Option<OpenCl> {
    let found = OpenCl::find(&Options::default()).and_then(|mut found| {
        found.initialize()?;
        Ok(found)
    });
    match found {
        Ok(found) => Some(found),
        Err(why) => {
            missing::missing("opencl", &why.to_string());
            None
        }
    }
}

fn context() -> Option<Box<dyn Context>> {
    Some(device()?.context().expect("a context"))
}

fn module(context: &dyn Context) -> Box<dyn Module> {
    context
        .compile(From::Source)
        .expect("the kernels compile")
        .0
}

#[test]
fn initialization_has_three_stages_once() {
    let Ok(mut found) = OpenCl::find(&Options::default()) else {
        return;
    };
    assert_eq!(found.kind(), Kind::OpenCl);
    assert!(found.info().is_err(), "not initialized yet");
    assert!(found.context().is_err(), "not initialized yet");
    let stages = match found.initialize() {
        Ok(stages) => stages,
        Err(why) => return assert!(matches!(why, Error::Unavailable { .. }), "{why}"),
    };
    let names: Vec<StageName> = stages.iter().map(|stage| stage.name).collect();
    let expected = [
        StageName::LoadLibrary,
        StageName::InitializeDriver,
        StageName::QueryDevice,
    ];
    assert_eq!(names, expected);
    assert_eq!(found.initialize(), Ok(Vec::new()));
    let info = found.info().expect("it is initialized");
    assert!(!info.name.is_empty() && !info.driver.is_empty() && info.memory > 0);
}

#[test]
fn every_kernel_agrees_with_the_reference() {
    let Some(context) = context() else { return };
    let module = module(&*context);
    let cases = reference::cases();
    let covered: Vec<KernelName> = cases.iter().map(|case| case.kernel).collect();
    assert_eq!(covered, KernelName::ALL);
    for case in cases {
        let differs = case.run(&*context, &*module).expect("it runs");
        assert_eq!(differs, None, "{:?}", case.kernel);
    }
}

#[test]
fn compile_stages_depend_on_the_cache() {
    let Some(mut device) = device() else { return };
    let steps = |device: &OpenCl| -> Vec<StageName> {
        let context = device.context().expect("a context");
        let (module, stages) = context.compile(From::Shipped).expect("it compiles");
        let case = &reference::cases()[0];
        assert_eq!(case.run(&*context, &*module), Ok(None));
        stages.iter().map(|stage| stage.name).collect()
    };
    let all = [
        StageName::SourceToIntermediate,
        StageName::IntermediateToMachineCode,
        StageName::Load,
    ];
    assert_eq!(steps(&device), all);
    device.cached = true;
    assert_eq!(steps(&device), all[1..]);
}

#[test]
fn compile_errors_include_the_compiler_log() {
    let Some(device) = device() else { return };
    let ready = device.ready().expect("it is initialized");
    let scope = Rc::new(Scope::new(&ready.driver, ready.target).expect("a context"));
    for cached in [false, true] {
        let source = "KERNEL void f(GLOBAL float *y) { nonsense; }";
        let built = compile::build(&scope, source, cached, &mut Stopwatch::new());
        let error = built.err().expect("it is not C").to_string();
        assert!(error.contains("nonsense"), "{error}");
    }
}

#[test]
fn copies_round_trip_and_must_fit() {
    let Some(context) = context() else { return };
    let values = reference::values(5000, 1);
    let buffer = reference::upload(&*context, &values).expect("upload");
    assert_eq!(reference::download(&*context, &*buffer), Ok(values.clone()));
    let twin = context.allocate(buffer.bytes()).expect("a second buffer");
    context
        .copy(&*twin, &*buffer)
        .expect("a copy on the device");
    assert_eq!(reference::download(&*context, &*twin), Ok(values));
    let small = context.allocate(4).expect("a small buffer");
    assert!(context.copy(&*small, &*buffer).is_err());
    let size = buffer.bytes();
    assert!(context.upload(&*buffer, &vec![0; size + 1]).is_err());
    assert!(context.download(&mut vec![0; size + 1], &*buffer).is_err());
    context.upload(&*buffer, &[]).expect("nothing is copied");
    let empty = context.allocate(0).expect("an empty buffer");
    assert_eq!(empty.bytes(), 0);
    assert!(context.upload(&*empty, &[1]).is_err());
}

#[test]
fn pinned_memory_is_read_and_written() {
    let Some(context) = context() else { return };
    let mut pinned = context.pin(MIB).expect("pinned memory");
    pinned.as_mut_slice().fill(42);
    let buffer = context.allocate(MIB).expect("a buffer");
    context.upload(&*buffer, pinned.as_slice()).expect("upload");
    let mut back = context.pin(MIB).expect("pinned memory");
    context
        .download(back.as_mut_slice(), &*buffer)
        .expect("download");
    assert!(back.as_slice() == pinned.as_slice());
}

#[test]
fn memory_use_follows_allocations() {
    let Some(context) = context() else { return };
    let used = || context.memory().expect("it is counted").used;
    assert_eq!(used(), 0);
    let direct = context.allocate(3 * MIB).expect("a buffer");
    assert_eq!(used(), 3 * MIB as u64);
    let pooled = context.allocate_pooled(2 * MIB).expect("a block");
    assert_eq!(used(), 5 * MIB as u64);
    drop((direct, pooled));
    assert_eq!(used(), 2 * MIB as u64, "the pool keeps its segment");
    context.trim_pool().expect("trimmed");
    assert_eq!(used(), 0);
}

#[test]
fn a_freed_block_is_reused_for_two_that_do_not_overlap() {
    let Some(context) = context() else { return };
    let used = || context.memory().expect("it is counted").used;
    drop(context.allocate_pooled(8 * MIB).expect("a block"));
    let kept = used();
    let blocks = [1u8, 2].map(|byte| {
        let block = context
            .allocate_pooled(3 * MIB + 5)
            .expect("a smaller block");
        context
            .upload(&*block, &vec![byte; 3 * MIB + 5])
            .expect("upload");
        (byte, block)
    });
    assert_eq!(used(), kept, "both came from the existing segment");
    context.trim_pool().expect("what is in use stays");
    for (byte, block) in &blocks {
        let mut back = vec![0; block.bytes()];
        context.download(&mut back, &**block).expect("download");
        assert!(back.iter().all(|b| b == byte));
    }
    drop(blocks);
    context.trim_pool().expect("trimmed");
    assert_eq!(used(), 0);
}

#[test]
fn kernels_run_on_pooled_memory() {
    let Some(context) = context() else { return };
    let module = module(&*context);
    let fill = module.kernel(KernelName::Fill).expect("it exists");
    let _first = context
        .allocate_pooled(100)
        .expect("a block before it, for an offset");
    let block = context.allocate_pooled(40).expect("a block");
    let arguments = [
        Argument::Buffer(&*block),
        Argument::F32(1.5),
        Argument::I32(10),
    ];
    context.launch(&*fill, 10, &arguments).expect("launched");
    assert_eq!(reference::download(&*context, &*block), Ok(vec![1.5; 10]));
}

#[test]
fn allocating_too_much_memory_is_out_of_memory() {
    let Some(context) = context() else { return };
    let total = usize::try_from(context.memory().expect("known").total).expect("64 bits");
    for bytes in [usize::MAX / 2, total + 1] {
        let error = context
            .allocate(bytes)
            .err()
            .expect("no machine has that much");
        assert!(error.is_out_of_memory(), "{error}");
        let error = context.pin(bytes).err().expect("no machine has that much");
        assert!(error.is_out_of_memory(), "{error}");
    }
    context.allocate(MIB).expect("the context still works");
}

#[test]
fn wrong_arguments_are_rejected_and_empty_launches_do_nothing() {
    let Some(context) = context() else { return };
    let module = module(&*context);
    let fill = module.kernel(KernelName::Fill).expect("it exists");
    let buffer = reference::upload(&*context, &[1.0; 4]).expect("upload");
    let [y, value, n] = [
        Argument::Buffer(&*buffer),
        Argument::F32(9.0),
        Argument::I32(4),
    ];
    for wrong in [
        &[y, value][..],
        &[y, n, n],
        &[y, value, n, n],
        &[n, value, n],
    ] {
        assert!(context.launch(&*fill, 4, wrong).is_err());
    }
    context
        .launch(&*fill, 0, &[y, value, n])
        .expect("nothing to do");
    assert_eq!(reference::download(&*context, &*buffer), Ok(vec![1.0; 4]));
}

#[test]
fn contexts_coexist_and_do_not_mix() {
    let Some(device) = device() else { return };
    let first = device.context().expect("a context");
    let second = device.context().expect("another");
    let (one, two) = (module(&*first), module(&*second));
    let buffer = reference::upload(&*second, &[1.0]).expect("upload");
    let fill = one.kernel(KernelName::Fill).expect("it exists");
    let arguments = [
        Argument::Buffer(&*buffer),
        Argument::F32(9.0),
        Argument::I32(1),
    ];
    assert!(first.launch(&*fill, 1, &arguments).is_err());
    assert!(first.upload(&*buffer, &[0]).is_err());
    drop((second, buffer));
    for case in reference::cases().iter().take(2) {
        assert_eq!(case.run(&*first, &*one), Ok(None));
    }
    // The module keeps alive what it needs of its context, in any drop order.
    drop(two.kernel(KernelName::Fill).expect("it exists"));
}

#[test]
fn streams_and_events_can_be_dropped_in_any_order() {
    let Some(context) = context() else { return };
    let (stream, event) = (context.stream(), context.event());
    drop(context);
    assert!(event.is_ok());
    drop(stream.expect("a stream"));
}

#[test]
fn versions_are_parsed() {
    assert_eq!(version("OpenCL 3.0 PoCL HSTR: pthread"), (3, 0));
    assert_eq!(version("OpenCL 1.2 "), (1, 2));
    assert!(version("OpenCL 1.1 CUDA") < (1, 2));
    assert_eq!(version("?"), (0, 0));
}

#[test]
fn gpus_come_first() {
    let order = [
        driver::DEVICE_TYPE_GPU,
        driver::DEVICE_TYPE_ACCELERATOR,
        driver::DEVICE_TYPE_CPU,
    ];
    assert!(order.is_sorted_by_key(|&kind| rank(kind)));
}
