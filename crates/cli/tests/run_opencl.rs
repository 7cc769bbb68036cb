//! `preheat run` on real OpenCL programs, on PoCL: in C and with pyopencl.

use std::fs;
use std::process::Command;

use preheat_model::run::{Cause, IterationsBy, RunReport};

mod support;
use support::{Directory, python_with, require};

const KERNEL: &str = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }";

fn report(directory: &Directory, program: &[&std::ffi::OsStr]) -> RunReport {
    let flags = ["--starts", "1", "--temperature", "caches"];
    let cache = directory.join("cache").display().to_string();
    let environment = [("POCL_CACHE_DIR", cache)];
    support::recorded(directory, &flags, program.iter().copied(), &environment)
}

fn explained(report: &RunReport) {
    assert_eq!(
        report.iterations_by,
        IterationsBy::Kernels,
        "{:?}",
        report.notes
    );
    assert_eq!(report.starts[0].iterations.len(), 20);
    let causes: Vec<Cause> = report.causes.iter().map(|cause| cause.cause).collect();
    assert!(causes.contains(&Cause::KernelCompilation), "{causes:?}");
    assert!(causes.contains(&Cause::DriverInit), "{causes:?}");
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    assert!((sum / report.time_to_first.value - 1.0).abs() < 0.01);
}

#[test]
fn a_c_program() {
    let there = std::path::Path::new("/usr/include/CL/cl.h").exists()
        && Command::new("gcc").arg("--version").output().is_ok();
    if require("opencl", there.then_some(())).is_none() {
        return;
    }
    let directory = Directory::new();
    let source = directory.join("twice.c");
    fs::write(
        &source,
        format!(
            "#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
int main(void) {{
    cl_platform_id platform; cl_device_id device; const char *text = \"{KERNEL}\";
    if (clGetPlatformIDs(1, &platform, NULL)) return 1;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 2;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    if (clBuildProgram(program, 1, &device, \"\", NULL, NULL)) return 3;
    cl_kernel kernel = clCreateKernel(program, \"twice\", NULL);
    float host[1024]; for (int i = 0; i < 1024; i++) host[i] = 1;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
    if (clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL)) return 4;
    size_t size = 1024;
    clSetKernelArg(kernel, 0, sizeof memory, &memory);
    for (int i = 0; i < 20; i++) {{
        if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL)) return 5;
        clFinish(queue);
    }}
    if (clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL)) return 6;
    return host[7] == 1048576.0f ? 0 : 7;
}}"
        ),
    )
    .unwrap();
    let program = directory.join("twice");
    let built = Command::new("gcc")
        .arg("-O1")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .arg("-lOpenCL")
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "gcc compiles it"
    );
    explained(&report(&directory, &[program.as_os_str()]));
}

#[test]
fn a_python_program() {
    let Some(python) = python_with("pyopencl") else {
        return;
    };
    let directory = Directory::new();
    fs::write(
        directory.join("twice.py"),
        format!(
            "
import numpy, pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, '{KERNEL}').build(cache_dir=False)
host = numpy.ones(1024, numpy.float32)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
kernel = program.twice
for _ in range(20):
    kernel(queue, host.shape, None, memory)
    queue.finish()
cl.enqueue_copy(queue, host, memory).wait()
assert host[7] == 2.0 ** 20
"
        ),
    )
    .unwrap();
    explained(&report(
        &directory,
        &[python.as_os_str(), "twice.py".as_ref()],
    ));
}
