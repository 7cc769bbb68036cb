/* OpenCL from platform to result, without its headers: a kernel doubles a buffer.
 * Prints the results, so that runs with and without a recorder can be compared. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void *handle;
#define GET(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(library, #name)

int main(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library) return 3;
    GET(int, clGetPlatformIDs, unsigned, handle *, unsigned *);
    GET(int, clGetDeviceIDs, handle, uint64_t, unsigned, handle *, unsigned *);
    GET(handle, clCreateContext, void *, unsigned, handle *, void *, void *, int *);
    GET(handle, clCreateCommandQueue, handle, handle, uint64_t, int *);
    GET(handle, clCreateProgramWithSource, handle, unsigned, const char **, size_t *, int *);
    GET(int, clBuildProgram, handle, unsigned, handle *, const char *, void *, void *);
    GET(handle, clCreateKernel, handle, const char *, int *);
    GET(handle, clCreateBuffer, handle, uint64_t, size_t, void *, int *);
    GET(int, clSetKernelArg, handle, unsigned, size_t, const void *);
    GET(int, clEnqueueWriteBuffer, handle, handle, unsigned, size_t, size_t, const void *, unsigned, void *, void *);
    GET(int, clEnqueueNDRangeKernel, handle, handle, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *);
    GET(int, clEnqueueReadBuffer, handle, handle, unsigned, size_t, size_t, void *, unsigned, void *, void *);
    GET(int, clEnqueueReadBufferRect, handle, handle, unsigned, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, void *, unsigned, void *, void *);
    GET(handle, clEnqueueMapBuffer, handle, handle, unsigned, uint64_t, size_t, size_t, unsigned, void *, void *, int *);
    GET(int, clEnqueueUnmapMemObject, handle, handle, void *, unsigned, void *, void *);
    GET(int, clFinish, handle);
    GET(int, clReleaseMemObject, handle);

    handle platform = NULL, device = NULL;
    unsigned count = 0;
    int error = -1;
    if (clGetPlatformIDs(1, &platform, &count) || !count) return 3;
    if (clGetDeviceIDs(platform, 0xffffffff, 1, &device, &count) || !count) return 3;
    handle context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    printf("context %d\n", error);
    handle queue = clCreateCommandQueue(context, device, 0, &error);
    printf("queue %d\n", error);
    const char *source = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }";
    handle program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    printf("program %d\n", error);
    printf("build %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
    handle kernel = clCreateKernel(program, "twice", &error);
    printf("kernel %d\n", error);
    handle none = clCreateKernel(program, "absent", &error);
    printf("absent %d %d\n", none == NULL, error);
    printf("absent %d\n", clCreateKernel(program, "absent", NULL) == NULL);
    int values[256], results[256] = { 0 };
    for (int i = 0; i < 256; i++) values[i] = i;
    handle buffer = clCreateBuffer(context, 1, sizeof values, NULL, &error);
    printf("buffer %d\n", error);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    size_t items = 256;
    printf("write %d\n", clEnqueueWriteBuffer(queue, buffer, 1, 0, sizeof values, values, 0, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        printf("launch %d", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        printf(" %d\n", clFinish(queue));
    }
    printf("read %d\n", clEnqueueReadBuffer(queue, buffer, 1, 0, sizeof results, results, 0, NULL, NULL));
    printf("result %d\n", results[100]);
    /* Fourteen words: two rows of eight bytes, up to the end of the buffer. */
    size_t zero[3] = { 0, 0, 0 }, region[3] = { 8, 2, 1 };
    memset(results, 0, sizeof results);
    printf("rows %d", clEnqueueReadBufferRect(queue, buffer, 1, zero, zero, region, 16, 0, 8, 0, results, 0, NULL, NULL));
    printf(" %d %d\n", results[1], results[3]);
    int *mapped = clEnqueueMapBuffer(queue, buffer, 1, 1, 0, sizeof values, 0, NULL, NULL, &error);
    printf("map %d %d\n", error, mapped[7]);
    printf("unmap %d\n", clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    printf("finish %d\n", clFinish(queue));
    printf("release %d\n", clReleaseMemObject(buffer));
    return 0;
}
