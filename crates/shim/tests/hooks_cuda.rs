//! Calls of the driver, with a scripted driver in place of the real one: found like cudart
//! does, linked, looked up in every way, called by many threads at once.

mod libcuda;
mod support;

use libcuda::{AS_CUDART, Fake, calls, slot, symbols};
use preheat_wire::{Allocation, Copied, DeviceMemory, Image, Kind, Shape, Usage};
use std::path::Path;

const MIB: u64 = 1 << 20;

#[test]
fn a_program_that_looks_up_functions_like_cudart() {
    let Some(fake) = Fake::new() else { return };
    let program = fake.build("as_cudart", AS_CUDART, &["-ldl"], &[]);
    for streams in ["", "per-thread"] {
        let (_, processes) = fake.both(&program, &["3", "4", "4", streams]);
        assert_eq!(processes.len(), 1);
        let process = &processes[0];

        let init = calls(process, "cuInit");
        assert_eq!(init.len(), 1);
        assert_eq!((init[0].record.status, init[0].record.more), (0, 1));
        assert!(slot::<Usage>(init[0], 0).cpu < init[0].record.end);
        assert_eq!(calls(process, "cuDevicePrimaryCtxRetain").len(), 1);

        let load = calls(process, "cuLibraryLoadData");
        let image: Image = slot(load[0], 1);
        assert_eq!(image.bytes, 176);
        assert_eq!((image.machine_code[0], image.machine_code[1]), (90, 0));
        assert_eq!((image.ptx[0], image.ptx[1]), (80, 0));
        assert_eq!(load[0].record.value & 0xf000, 0x1000);

        let kernels = calls(process, "cuLibraryGetKernel");
        let names: Vec<String> = kernels.iter().map(|call| call.text(0)).collect();
        assert_eq!(names, ["_Z7forwardPf", "_Z8backwardPf"]);
        let aliases = calls(process, "cuKernelGetFunction");
        for (alias, kernel) in aliases.iter().zip(&kernels) {
            assert_eq!(slot::<Allocation>(alias, 0).pointer, kernel.record.value);
        }

        let allocations = calls(process, "cuMemAlloc");
        assert_eq!(allocations.len(), 2);
        let address = slot::<Allocation>(allocations[0], 0).pointer;
        assert_eq!(allocations[0].record.value, 4 * MIB);
        assert_eq!(address, 0x7000_0000_0000);
        assert_eq!(
            (allocations[1].record.status, allocations[1].record.value),
            (2, 1 << 40)
        );
        assert_eq!(calls(process, "cuMemFree")[0].record.value, address);
        let pinned = slot::<Allocation>(calls(process, "cuMemHostAlloc")[0], 0).pointer;
        assert_eq!(calls(process, "cuMemFreeHost")[0].record.value, pinned);

        let copies = calls(process, "cuMemcpyHtoDAsync");
        assert_eq!(copies.len(), 3);
        let copied: Copied = slot(copies[0], 0);
        assert_eq!(copies[0].record.value, 4 * MIB);
        assert_eq!((copied.destination, copied.source), (address, pinned));

        let launches = calls(process, "cuLaunchKernel");
        let launched: Vec<u64> = launches.iter().map(|call| call.record.value).collect();
        let functions: Vec<u64> = aliases.iter().map(|call| call.record.value).collect();
        assert_eq!(launched, functions.repeat(6));
        assert_eq!(calls(process, "cuStreamSynchronize").len(), 3);
        assert_eq!(calls(process, "cuSomethingNew").len(), 1);
        assert_eq!(calls(process, "cuMemGetInfo").len(), 1);

        let symbols = symbols(process);
        assert!(
            symbols
                .iter()
                .all(|symbol| symbol.library == "libcuda.so.1")
        );
        for name in [
            "cuCtxSetCurrent",
            "cuGetExportTable",
            "cuTexRefSetMipmapLevelBias",
        ] {
            assert!(!symbols.iter().any(|symbol| symbol.name == name), "{name}");
        }
        let shape = |name: &str| {
            symbols
                .iter()
                .find(|symbol| symbol.name == name)
                .unwrap()
                .shape
        };
        assert_eq!(shape("cuInit"), Shape::Heavy);
        assert_eq!(shape("cuLaunchKernel"), Shape::Launch);
        assert_eq!(shape("cuSomethingNew"), Shape::Plain);
        assert!(process.of(Kind::Call).iter().all(|call| !call.is_open()));
    }
}

#[test]
fn memory_is_sampled_after_calls_that_change_it() {
    let Some(fake) = Fake::new() else { return };
    let program = fake.build("as_cudart", AS_CUDART, &["-ldl"], &[]);
    // Slow enough that no sample comes too soon after the previous one.
    let slow = [
        ("FAKE_LOAD_MS", "20"),
        ("FAKE_ALLOC_MS", "20"),
        ("FAKE_FIRST_LAUNCH_MS", "20"),
    ];
    let (_, processes) = fake.recorded(&program, &["2", "2", "64"], &slow);
    let samples = processes[0].of(Kind::Memory);
    let names = symbols(&processes[0]);
    let used: Vec<(&str, u64)> = samples
        .iter()
        .map(|sample| {
            let memory: DeviceMemory = slot(sample, 0);
            assert_eq!((memory.total, memory.device), (8192 * MIB, 0));
            let after = names
                .iter()
                .find(|symbol| u32::from(symbol.number) == memory.after);
            (
                after.unwrap().name.as_str(),
                (memory.total - sample.record.value) / MIB,
            )
        })
        .collect();
    let expected = [
        ("cuDevicePrimaryCtxRetain", 556),
        ("cuLibraryLoadData", 564),
        ("cuMemAlloc", 628),
        ("cuLaunchKernel", 630),
        ("cuLaunchKernel", 632),
    ];
    assert_eq!(used, expected);
}

#[test]
fn code_linked_with_the_driver() {
    let Some(fake) = Fake::new() else { return };
    let source = include_str!("libcuda/linked.c");
    let program = fake.build("linked", source, &["-DPROGRAM"], &["libcuda.so.1"]);
    fake.build(
        "launcher.so",
        source,
        &["-shared", "-fPIC"],
        &["libcuda.so.1"],
    );
    let loads = fake.build("loads", include_str!("libcuda/loads.c"), &["-ldl"], &[]);
    for (program, arguments) in [(program, vec![]), (loads, vec!["./launcher.so"])] {
        let (_, processes) = fake.both(&program, &arguments);
        let process = &processes[0];
        assert_eq!(calls(process, "cuInit").len(), 1);
        assert_eq!(calls(process, "cuLaunchKernel").len(), 5);
        assert_eq!(calls(process, "cuStreamSynchronize").len(), 2);
        assert_eq!(calls(process, "cuMemsetD8Async").len(), 1);
        let image: Image = slot(calls(process, "cuModuleLoadData")[0], 1);
        assert_eq!((image.bytes, image.ptx[0]), (27, 75));
        let lookups = calls(process, "cuModuleGetFunction");
        assert_eq!(
            (lookups[0].record.status, lookups[0].text(0).as_str()),
            (500, "absent")
        );
        assert_eq!(
            (lookups[1].record.status, lookups[1].text(0).as_str()),
            (0, "scale")
        );
        let allocations = calls(process, "cuMemAlloc");
        assert_eq!(allocations.len(), 2);
        assert_eq!(
            (allocations[0].record.value, allocations[0].record.more),
            (3000, 1)
        );
        // The first version has 32-bit addresses: nothing is read.
        assert_eq!(
            (allocations[1].record.value, allocations[1].record.more),
            (0, 0)
        );
    }
}

#[test]
fn lookups_find_the_driver_only_where_it_is() {
    let Some(fake) = Fake::new() else { return };
    let program = fake.build("lookups", include_str!("libcuda/lookups.c"), &["-ldl"], &[]);
    let (said, processes) = fake.both(&program, &[]);
    assert!(
        said.starts_with("default cuInit: 0 undefined symbol: cuInit\n"),
        "{said}"
    );
    assert!(said.contains("old 0 1234 ffffffff\n"), "{said}");
    assert_eq!(calls(&processes[0], "cuInit").len(), 1);
    assert_eq!(calls(&processes[0], "cuMemAlloc").len(), 2);
    assert_eq!(calls(&processes[0], "cuIpcOpenMemHandle").len(), 1);
}

#[test]
fn without_recording_nothing_changes() {
    let Some(fake) = Fake::new() else { return };
    let lookups = fake.build("lookups", include_str!("libcuda/lookups.c"), &["-ldl"], &[]);
    let linked = include_str!("libcuda/linked.c");
    let linked = fake.build("linked", linked, &["-DPROGRAM"], &["libcuda.so.1"]);
    for program in [lookups, linked] {
        let plain = fake.command(&program, &[]).output().unwrap();
        let log = fake.log();
        let mut idle = fake.command(&program, &[]);
        let idle = idle.env("LD_PRELOAD", support::shim()).output().unwrap();
        assert_eq!(idle.stdout, plain.stdout);
        assert_eq!(fake.log(), log);
    }
}

#[test]
fn memory_is_not_sampled_during_a_capture() {
    let Some(fake) = Fake::new() else { return };
    let source = include_str!("libcuda/captures.c");
    let program = fake.build("captures", source, &[], &["libcuda.so.1"]);
    let (_, processes) = fake.both(&program, &[]);
    let process = &processes[0];
    let began = calls(process, "cuStreamBeginCapture")[0].record.end;
    let ended = calls(process, "cuStreamEndCapture")[0].record.begin;
    let samples = process.of(Kind::Memory);
    assert!(samples.iter().any(|sample| sample.record.begin < began));
    assert!(
        samples
            .iter()
            .all(|sample| sample.record.begin < began || sample.record.begin > ended)
    );
    assert_eq!(calls(process, "cuGraphInstantiateWithFlags").len(), 1);
    assert_eq!(calls(process, "cuGraphLaunch").len(), 2);
}

#[test]
fn sixty_four_threads_at_once_and_a_forked_child() {
    let Some(fake) = Fake::new() else { return };
    let source = include_str!("libcuda/at_once.c");
    let program = fake.build("at_once", source, &["-pthread"], &["libcuda.so.1"]);
    let (said, mut processes) = fake.both(&program, &["64", "500"]);
    assert_eq!(said, "0 0\n");
    processes.sort_by_key(|process| process.records.len());
    let [child, parent] = processes.as_slice() else {
        panic!("two processes");
    };
    assert_eq!(parent.header.dropped, 0);
    assert_eq!(calls(parent, "cuLaunchKernel").len(), 64 * 500);
    assert_eq!(calls(parent, "cuCtxCreate").len(), 64);
    assert_eq!(parent.threads, 65);
    // The child defines exactly the symbols that it uses.
    let symbols = symbols(child);
    let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["cuLaunchKernel"]);
    assert_eq!(calls(child, "cuLaunchKernel").len(), 3);
}

/// Python calls the driver with ctypes, and asks the recorder to wait for the device.
const PYTHON: &str = r#"
import ctypes, importlib.machinery, importlib.util, os
loader = importlib.machinery.ExtensionFileLoader("_preheat", os.environ["PREHEAT_SHIM"])
spec = importlib.util.spec_from_file_location("_preheat", loader=loader)
preheat = importlib.util.module_from_spec(spec)
preheat.synchronize()
driver = ctypes.CDLL("libcuda.so.1")
context, stream = ctypes.c_uint64(), ctypes.c_uint64()
graph = ctypes.c_uint64()
print(driver.cuInit(0))
preheat.synchronize()
print(driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
preheat.synchronize()
print(driver.cuStreamCreate(ctypes.byref(stream), 0))
print(driver.cuStreamBeginCapture_v2(stream, 0))
preheat.synchronize()
print(driver.cuStreamEndCapture(stream, ctypes.byref(graph)))
preheat.synchronize()
"#;

#[test]
fn python_can_wait_for_the_device() {
    let Some(fake) = Fake::new() else { return };
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        support::missing("python", "/usr/bin/python3 does not exist");
        return;
    }
    let shim = [("PREHEAT_SHIM", support::shim().to_str().unwrap())];
    let (done, processes) = fake.recorded(python, &["-c", PYTHON], &shim);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        "0\n".repeat(5),
        "{said}"
    );
    // Not without a context, and not during the capture of a graph.
    let waits = calls(&processes[0], "cuCtxSynchronize");
    assert_eq!(waits.len(), 2);
    assert!(waits.iter().all(|wait| wait.record.status == 0));
}
