//! OpenCL calls on a real device, through the layers of the loader.

mod libcuda;
mod support;

use libcuda::{calls, slot, symbols};
use preheat_wire::{Allocation, Copied, Usage};
use std::path::PathBuf;
use std::process::Command;
use support::{Scratch, compile, missing, read, recorded, shim};

#[test]
fn a_program_from_its_platform_to_its_result() {
    let scratch = Scratch::new();
    let program = scratch.join("opencl");
    if !compile(include_str!("hooks/opencl.c"), &program, &["-ldl"]) {
        return;
    }
    let plain = Command::new(&program).output().unwrap();
    if plain.status.code() == Some(3) {
        missing("opencl", "no OpenCL device");
        return;
    }
    let directory = scratch.recording();
    let done = recorded(program.to_str().unwrap(), &directory)
        .env("OPENCL_LAYERS", shim())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(said, String::from_utf8_lossy(&plain.stdout));
    assert_eq!(done.stderr, plain.stderr);
    assert!(said.contains("result 800\n"), "{said}");

    let processes = read(&directory);
    // PoCL may start compilers, which are recorded too.
    let process = processes
        .iter()
        .find(|process| !calls(process, "clBuildProgram").is_empty())
        .expect("a process with OpenCL calls");
    let build = calls(process, "clBuildProgram");
    assert!(slot::<Usage>(build[0], 0).cpu > 0);
    let kernels = calls(process, "clCreateKernel");
    assert_eq!(kernels[0].text(0), "twice");
    assert_eq!(
        (kernels[0].record.status, kernels[1].record.status),
        (0, -46)
    );
    assert_eq!(kernels[2].record.status, -1);
    let buffer = calls(process, "clCreateBuffer")[0];
    assert_eq!(buffer.record.value, 1024);
    let address = slot::<Allocation>(buffer, 0).pointer;
    assert_eq!(
        calls(process, "clReleaseMemObject")[0].record.value,
        address
    );
    let write = calls(process, "clEnqueueWriteBuffer")[0];
    assert_eq!(write.record.value, 1024);
    assert_eq!(slot::<Copied>(write, 0).destination, address);
    let read = calls(process, "clEnqueueReadBuffer")[0];
    assert_eq!(slot::<Copied>(read, 0).source, address);
    assert_eq!(
        calls(process, "clEnqueueReadBufferRect")[0].record.value,
        16
    );
    let map = calls(process, "clEnqueueMapBuffer")[0];
    assert_eq!((map.record.value, map.record.status), (1024, 0));
    let launches = calls(process, "clEnqueueNDRangeKernel");
    assert_eq!(launches.len(), 3);
    assert!(
        launches
            .iter()
            .all(|launch| launch.record.value == kernels[0].record.value)
    );
    assert_eq!(calls(process, "clFinish").len(), 4);
    assert_eq!(calls(process, "clCreateContext").len(), 1);
    let library = |name: &str| name.starts_with("libOpenCL.so");
    assert!(
        symbols(process)
            .iter()
            .all(|symbol| library(&symbol.library))
    );
}

/// The Python of the test environment, if it has the package and a device.
fn python() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("PREHEAT_TEST_VENV")?).join("bin/python");
    let code = "import pyopencl; pyopencl.get_platforms()[0].get_devices()[0]";
    let tried = Command::new(&path).args(["-c", code]).output();
    tried
        .is_ok_and(|done| done.status.success())
        .then_some(path)
}

/// The Python package includes its own loader.
#[test]
fn the_python_package() {
    let Some(python) = python() else {
        missing("pyopencl", "no pyopencl with a device in PREHEAT_TEST_VENV");
        return;
    };
    let code = r#"
import numpy, pyopencl
device = pyopencl.get_platforms()[0].get_devices()[0]
context = pyopencl.Context([device])
queue = pyopencl.CommandQueue(context)
values = numpy.arange(1024, dtype=numpy.float32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, values.nbytes)
source = "kernel void more(global float *a) { a[get_global_id(0)] += 1; }"
kernel = pyopencl.Kernel(pyopencl.Program(context, source).build(), "more")
pyopencl.enqueue_copy(queue, buffer, values)
for step in range(5):
    kernel(queue, values.shape, None, buffer)
    queue.finish()
pyopencl.enqueue_copy(queue, values, buffer)
print(values[100])
"#;
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let done = recorded(python.to_str().unwrap(), &directory)
        .args(["-c", code])
        .env("OPENCL_LAYERS", shim())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "105.0\n");
    let processes = read(&directory);
    let process = processes
        .iter()
        .find(|process| !calls(process, "clEnqueueNDRangeKernel").is_empty())
        .expect("a process with OpenCL calls");
    assert_eq!(calls(process, "clEnqueueNDRangeKernel").len(), 5);
    assert_eq!(calls(process, "clCreateKernel")[0].text(0), "more");
    assert_eq!(calls(process, "clCreateBuffer")[0].record.value, 4096);
}
