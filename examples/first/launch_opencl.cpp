// Builds and launches an OpenCL kernel twice, and times both.
//
//     g++ -g -o launch launch_opencl.cpp -lOpenCL && preheat run -- ./launch

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) {
        std::fprintf(stderr, "%s failed: %d\n", what, status);
        std::exit(1);
    }
}

int main() {
    const char *source = "kernel void add(global const float *x, global float *y) {"
                         "    y[get_global_id(0)] += x[get_global_id(0)];"
                         "}";
    const size_t count = 1 << 20;
    cl_int status;
    cl_platform_id platform;
    cl_device_id device;
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE, count * 4, nullptr, &status);
    check(status, "clCreateBuffer");
    cl_mem y = clCreateBuffer(context, CL_MEM_READ_WRITE, count * 4, nullptr, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof y, &y), "clSetKernelArg");

    for (int launch = 1; launch <= 2; launch++) {
        auto start = std::chrono::high_resolution_clock::now();
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr),
              "clEnqueueNDRangeKernel");
        check(clFinish(queue), "clFinish");
        auto end = std::chrono::high_resolution_clock::now();
        std::chrono::duration<double> seconds = end - start;
        std::printf("launch %d: %.7f s\n", launch, seconds.count());
    }
    return 0;
}
