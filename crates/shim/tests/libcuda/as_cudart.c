/* A program that finds the driver like cudart does: dlopen, dlsym of cuGetProcAddress_v2,
 * then every function by base name, version and flags. It then simulates training:
 *
 *   as_cudart [ITERATIONS] [LAUNCHES] [MEGABYTES] [per-thread]
 *
 * initializes, makes a context, loads a fat binary with two kernels, allocates, pins,
 * copies, and runs ITERATIONS times LAUNCHES launches (two functions in turn), each
 * iteration with a copy to the device before and a synchronization after. With
 * `per-thread` it asks for the functions of per-thread default streams. It prints what
 * it got, so that a run with and one without a recorder can be compared.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t word;
static int (*proc_address)(const char *, void **, int, word, int *);
static word flags;

static void *function(const char *name) {
    void *found = NULL;
    int status = -1;
    int result = proc_address(name, &found, 12000, flags, &status);
    printf("%s %d %d\n", name, result, status);
    return found;
}

#define GET(name, ...) int (*name)(__VA_ARGS__) = function(#name)

/* Two entries: machine code for 9.0, PTX for 8.0. */
static struct __attribute__((packed)) {
    uint32_t magic; uint16_t version, head; uint64_t size;
    struct __attribute__((packed)) {
        uint16_t kind, version; uint32_t head; uint64_t size; uint32_t compressed, options;
        uint16_t minor, major; uint32_t architecture; uint8_t rest[32]; uint8_t code[16];
    } entries[2];
} fat __attribute__((aligned(8))) = { 0xba55ed50, 1, 16, 2 * 80,
    { { 2, 0x101, 64, 16, 0, 0, 7, 1, 90, { 0 }, { 0 } }, { 1, 0x101, 64, 16, 0, 0, 0, 8, 80, { 0 }, { 0 } } } };
static struct { uint32_t magic, version; void *data, *more; } pointer = { 0x466243b1, 1, &fat, NULL };

int main(int count, char **arguments) {
    int iterations = count > 1 ? atoi(arguments[1]) : 3;
    int launches = count > 2 ? atoi(arguments[2]) : 4;
    size_t bytes = (size_t)(count > 3 ? atoi(arguments[3]) : 4) << 20;
    flags = count > 4 && !strcmp(arguments[4], "per-thread") ? 2 : 0;

    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return puts(dlerror()), 1;
    proc_address = dlsym(library, "cuGetProcAddress_v2");
    if (!proc_address) return puts(dlerror()), 1;

    /* The function also returns itself. */
    proc_address = function("cuGetProcAddress");
    GET(cuInit, unsigned);
    GET(cuDeviceGetCount, int *);
    GET(cuDevicePrimaryCtxRetain, word *, int);
    GET(cuCtxSetCurrent, word);
    GET(cuLibraryLoadData, word *, const void *, int *, void **, unsigned, int *, void **, unsigned);
    GET(cuLibraryGetKernel, word *, word, const char *);
    GET(cuKernelGetFunction, word *, word);
    GET(cuMemAlloc, word *, size_t);
    GET(cuMemFree, word);
    GET(cuMemHostAlloc, void **, size_t, unsigned);
    GET(cuMemFreeHost, void *);
    GET(cuMemcpyHtoDAsync, word, const void *, size_t, word);
    GET(cuMemcpyDtoH, void *, word, size_t);
    GET(cuLaunchKernel, word, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, word, void **, void **);
    GET(cuStreamSynchronize, word);
    GET(cuMemGetInfo, size_t *, size_t *);
    GET(cuSomethingNew, word, word, word, word, word, word, word, word, word, word);
    GET(cuTexRefSetMipmapLevelBias, word, float);
    GET(cuGetExportTable, const void **, const void *);
    function("cuNowhere");

    int devices = 0;
    word context = 0, code = 0, kernels[2] = { 0 }, functions[2] = { 0 }, device = 0;
    printf("init %d\n", cuInit(0));
    printf("count %d", cuDeviceGetCount(&devices));
    printf(" %d\n", devices);
    printf("context %d", cuDevicePrimaryCtxRetain(&context, 0));
    printf(" %llx", (unsigned long long)context);
    printf(" %d\n", cuCtxSetCurrent(context));
    printf("load %d\n", cuLibraryLoadData(&code, &pointer, NULL, NULL, 0, NULL, NULL, 0));
    const char *names[2] = { "_Z7forwardPf", "_Z8backwardPf" };
    for (int i = 0; i < 2; i++) {
        printf("kernel %d", cuLibraryGetKernel(&kernels[i], code, names[i]));
        printf(" function %d", cuKernelGetFunction(&functions[i], kernels[i]));
        printf(" %d\n", functions[i] != kernels[i]);
    }
    void *pinned = NULL;
    printf("alloc %d", cuMemAlloc(&device, bytes));
    printf(" %llx\n", (unsigned long long)device);
    printf("pin %d\n", cuMemHostAlloc(&pinned, bytes, 1));
    for (int i = 0; i < iterations; i++) {
        int status = cuMemcpyHtoDAsync(device, pinned, bytes, 0);
        for (int j = 0; j < launches; j++) {
            void *values[1] = { &device };
            status |= cuLaunchKernel(functions[j % 2], 1, 2, 3, 4, 5, 6, 7, 8, values, NULL);
        }
        status |= cuStreamSynchronize(0);
        printf("iteration %d: %d\n", i, status);
    }
    size_t free = 0, total = 0;
    printf("read %d\n", cuMemcpyDtoH(pinned, device, bytes));
    printf("memory %d", cuMemGetInfo(&free, &total));
    printf(" %zu %zu\n", free >> 20, total >> 20);
    printf("new %d\n", cuSomethingNew(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    printf("bias %d\n", cuTexRefSetMipmapLevelBias(1, 0.5f));
    const void *table = &device;
    printf("table %d", cuGetExportTable(&table, &device));
    printf(" %d\n", table == NULL);
    printf("free %d %d\n", cuMemFree(device), cuMemFreeHost(pinned));
    printf("too much %d\n", cuMemAlloc(&device, (size_t)1 << 40));
    return 0;
}
