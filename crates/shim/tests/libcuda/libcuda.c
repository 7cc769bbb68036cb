/* A scripted CUDA driver: for tests on machines without a GPU.
 *
 * It is built to a file named libcuda.so.1 and has the functions that cudart and
 * programs look up or are linked with, each in its versions (_v2, _ptsz, …), so that
 * they are found exactly like in the real one: by dlsym, by cuGetProcAddress(_v2) with
 * version and flags, or by the linker. Nothing is computed. The environment sets the cost
 * of calls in milliseconds (fractions are allowed; unset means no time):
 *
 *   FAKE_INIT_MS            cuInit, the first time
 *   FAKE_CONTEXT_MS         each context or primary context created
 *   FAKE_LOAD_MS            each module or library loaded
 *   FAKE_FIRST_LAUNCH_MS    the first launch of each function, on top of the next
 *   FAKE_LAUNCH_MS          each launch
 *   FAKE_ALLOC_MS           each allocation on the device
 *   FAKE_PIN_MS             each pinned allocation
 *   FAKE_COPY_MS            each copy
 *   FAKE_SYNC_MS            each synchronization
 *   FAKE_SLEEP=1            the time is slept; otherwise the processor is kept busy
 *
 * FAKE_GATE=FILE: cuInit creates FILE.reached, and continues when FILE exists.
 *
 * FAKE_STATE=DIR: the state of processes that are checkpointed, and the script of errors.
 * While DIR/PID.locked exists, calls of that process block. DIR/NAME.error has the number
 * that cuCheckpointProcessNAME or cuDevicePrimaryCtxRetain returns. DIR/calls lists all calls
 * of checkpoint functions. If DIR/Restore.gate exists, a restore creates DIR/Restore.reached
 * and continues when the gate is gone. DIR/exclusive puts the device into an exclusive mode.
 *
 * Memory of the one device: 8 GiB in total. A context uses 256 MiB, each loaded image
 * 8 MiB, the first launch of a function 2 MiB, an allocation its size.
 * cuMemGetInfo fails with 900 during the capture of a stream, as a real driver may.
 *
 * FAKE_LOG=FILE: at exit, one line for each called function: the number of calls, and a
 * sum over all of its arguments, which shows that they arrived unchanged.
 *
 * The device is of compute capability 9.0. Handles are numbers that show their type:
 * modules 0x1000…, functions 0x2000…, kernels 0x3000…, streams 0x4000…, graphs 0x5000…,
 * addresses from 0x700000000000 on.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pthread.h>
#include <unistd.h>

typedef uint64_t word;
#define API __attribute__((visibility("default")))
#define COUNT(...) (sizeof((word[]){__VA_ARGS__}) / sizeof(word))

enum { OK = 0, INVALID = 1, NOT_INITIALIZED = 3, NO_CONTEXT = 201, NOT_FOUND = 500, CAPTURING = 900 };

/* The log of calls. */

struct log { const char *name; word calls, sum; };
static struct log logs[512];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A path in the directory of FAKE_STATE; an empty one without it. */
static const char *state_path(char *path, const char *name) {
    const char *directory = getenv("FAKE_STATE");
    snprintf(path, 4096, directory ? "%s/%s" : "", directory, name);
    return path;
}

static int is_in_state(const char *name) {
    char path[4096];
    return !access(state_path(path, name), F_OK);
}

/* The scripted error of a function. */
static int scripted_error(const char *name) {
    char path[4096], file[64];
    int error = 0;
    snprintf(file, sizeof file, "%s.error", name);
    FILE *script = fopen(state_path(path, file), "r");
    if (!script) return 0;
    if (fscanf(script, "%d", &error) != 1) error = 999;
    fclose(script);
    return error;
}

/* A locked process waits, and shows it by the file PROCESS.waits. */
static void wait_until_unlocked(void) {
    char file[64], waits[64], path[4096];
    if (!getenv("FAKE_STATE")) return;
    snprintf(file, sizeof file, "%d.locked", getpid());
    if (!is_in_state(file)) return;
    snprintf(waits, sizeof waits, "%d.waits", getpid());
    fclose(fopen(state_path(path, waits), "w"));
    while (is_in_state(file)) usleep(1000);
}

static void note(const char *name, const word *words, size_t count) {
    word sum = 0;
    wait_until_unlocked();
    for (size_t i = 0; i < count; i++) sum = sum * 31 + words[i];
    pthread_mutex_lock(&lock);
    struct log *at = logs;
    while (at->name && strcmp(at->name, name)) at++;
    at->name = name;
    at->calls++;
    at->sum += sum;
    pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void write_log(void) {
    const char *path = getenv("FAKE_LOG");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (struct log *at = logs; at->name; at++)
        fprintf(file, "%s %llu %llu\n", at->name, (unsigned long long)at->calls, (unsigned long long)at->sum);
    fclose(file);
}
#define NOTE(...) note(__func__, (word[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

/* The cost of calls. */

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void take(const char *variable) {
    const char *text = getenv(variable);
    if (!text) return;
    uint64_t nanoseconds = (uint64_t)(strtod(text, NULL) * 1e6);
    if (getenv("FAKE_SLEEP")) {
        struct timespec time = { nanoseconds / 1000000000, nanoseconds % 1000000000 };
        while (nanosleep(&time, &time)) { }
        return;
    }
    for (uint64_t until = now() + nanoseconds; now() < until;) { }
}

/* The device. */
#define MIB (1ull << 20)
static const uint64_t total = 8192 * MIB;
static _Atomic uint64_t used = 300 * MIB;
static _Atomic word next_number = 1;
static _Atomic int initialized, captures, primary;
static __thread word stack_of_contexts[8];
static __thread int depth_of_contexts;
static _Atomic char launched[4096];
static _Atomic word sizes[4096], allocations;

static word current(void) { return depth_of_contexts ? stack_of_contexts[depth_of_contexts - 1] : 0; }
static word number(word kind) { return kind + 16 * next_number++; }
static int is_first(word function) { return !atomic_exchange(&launched[(function >> 4) % 4096], 1); }

/* Addresses are 4 GiB apart, so that each shows its number. */
static word allocate(word bytes) {
    word index = allocations++;
    sizes[index % 4096] = bytes;
    used += bytes;
    return 0x700000000000 + (index << 32);
}

static int release(word address) {
    word bytes = address < 0x700000000000 ? 0 : atomic_exchange(&sizes[(address >> 32) % 4096], 0);
    used -= bytes;
    return bytes ? OK : INVALID;
}

/* Initialization, contexts. */

static void pass_gate(void) {
    const char *gate = getenv("FAKE_GATE");
    char reached[4096];
    if (!gate) return;
    snprintf(reached, sizeof reached, "%s.reached", gate);
    FILE *file = fopen(reached, "w");
    if (file) fclose(file);
    while (access(gate, F_OK)) usleep(1000);
}

static pthread_mutex_t initializing = PTHREAD_MUTEX_INITIALIZER;

/* Concurrent callers wait for the first one. */
API int cuInit(unsigned flags) {
    NOTE(flags);
    pthread_mutex_lock(&initializing);
    if (!initialized++) {
        pass_gate();
        take("FAKE_INIT_MS");
    }
    pthread_mutex_unlock(&initializing);
    return OK;
}

API int cuDriverGetVersion(int *version) { *version = 12090; return OK; }
API int cuDeviceGetCount(int *count) { *count = 1; return initialized ? OK : NOT_INITIALIZED; }
API int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? 101 : OK; }
API int cuDeviceGetName(char *name, int length, int device) { snprintf(name, length, "Scripted %d", device); return OK; }

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 9 : attribute == 20 && is_in_state("exclusive") ? 3 : 0;
    return device ? 101 : OK;
}

API int cuDevicePrimaryCtxRetain(word *context, int device) {
    NOTE(device);
    if (!initialized) return NOT_INITIALIZED;
    if (scripted_error(__func__)) return scripted_error(__func__);
    pthread_mutex_lock(&initializing);
    if (!primary) {
        take("FAKE_CONTEXT_MS");
        used += 256 * MIB;
    }
    primary++;
    pthread_mutex_unlock(&initializing);
    *context = 0x9000;
    return OK;
}

API int cuDevicePrimaryCtxRelease_v2(int device) { NOTE(device); primary--; return OK; }
API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = primary > 0; return device ? 101 : OK; }
API int cuCtxGetCurrent(word *context) { *context = current(); return OK; }

API int cuCtxSetCurrent(word context) {
    if (!depth_of_contexts) depth_of_contexts = 1;
    stack_of_contexts[depth_of_contexts - 1] = context;
    return OK;
}

API int cuCtxPushCurrent_v2(word context) {
    if (depth_of_contexts == 8) return INVALID;
    stack_of_contexts[depth_of_contexts++] = context;
    return OK;
}

API int cuCtxPopCurrent_v2(word *context) {
    if (!depth_of_contexts) return NO_CONTEXT;
    *context = stack_of_contexts[--depth_of_contexts];
    return OK;
}

API int cuCtxGetDevice(int *device) { *device = 0; return current() ? OK : NO_CONTEXT; }

API int cuCtxCreate_v2(word *context, unsigned flags, int device) {
    NOTE(flags, device);
    take("FAKE_CONTEXT_MS");
    used += 256 * MIB;
    return cuCtxPushCurrent_v2(*context = number(0x9100));
}

API int cuCtxSynchronize(void) {
    note(__func__, NULL, 0);
    if (captures) return CAPTURING;
    take("FAKE_SYNC_MS");
    return current() ? OK : NO_CONTEXT;
}

/* Checkpoints: a process is locked, checkpointed, restored and unlocked by another one. */

static int checkpoint(const char *name, int process, const char *requires, const char *makes, const char *removes) {
    char path[4096], file[64];
    FILE *calls = fopen(state_path(path, "calls"), "a");
    if (!calls) return 801;
    fprintf(calls, "%s %d\n", name, process);
    fclose(calls);
    if (scripted_error(name)) return scripted_error(name);
    snprintf(file, sizeof file, "%d.%s", process, requires);
    if (*requires && !is_in_state(file)) return 401;
    if (*makes) {
        snprintf(file, sizeof file, "%d.%s", process, makes);
        fclose(fopen(state_path(path, file), "w"));
    }
    if (*removes) {
        snprintf(file, sizeof file, "%d.%s", process, removes);
        unlink(state_path(path, file));
    }
    return OK;
}

API int cuCheckpointProcessLock(int process, void *arguments) { return checkpoint("Lock", process, "", "locked", ""); }
API int cuCheckpointProcessCheckpoint(int process, void *arguments) { return checkpoint("Checkpoint", process, "locked", "parked", ""); }
API int cuCheckpointProcessUnlock(int process, void *arguments) { return checkpoint("Unlock", process, "locked", "", "locked"); }

API int cuCheckpointProcessRestore(int process, void *arguments) {
    char path[4096];
    if (is_in_state("Restore.gate")) {
        fclose(fopen(state_path(path, "Restore.reached"), "w"));
        while (is_in_state("Restore.gate")) usleep(1000);
    }
    return checkpoint("Restore", process, "parked", "", "parked");
}

/* Memory. */
API int cuMemGetInfo_v2(uint64_t *free, uint64_t *all) {
    note(__func__, NULL, 0);
    if (captures) return CAPTURING;
    if (!current()) return NO_CONTEXT;
    *all = total;
    *free = total - used;
    return OK;
}

API int cuMemAlloc_v2(word *address, size_t bytes) {
    NOTE(bytes);
    if (!current()) return NO_CONTEXT;
    take("FAKE_ALLOC_MS");
    if (used + bytes > total) return 2;
    *address = allocate(bytes);
    return OK;
}

/* The first version had 32-bit addresses. */
API int cuMemAlloc(uint32_t *address, uint32_t bytes) { NOTE(bytes); *address = 0x1234; return OK; }
API int cuMemFree_v2(word address) { NOTE(address > 0); return release(address); }
API int cuMemAllocAsync(word *address, size_t bytes, word stream) { NOTE(bytes, stream); *address = allocate(bytes); return OK; }
API int cuMemAllocAsync_ptsz(word *address, size_t bytes, word stream) { NOTE(bytes, stream); *address = allocate(bytes); return OK; }
API int cuMemFreeAsync(word address, word stream) { NOTE(address > 0, stream); return release(address); }

API int cuMemAllocPitch_v2(word *address, size_t *pitch, size_t width, size_t height, unsigned element) {
    NOTE(width, height, element);
    *pitch = (width + 511) / 512 * 512;
    *address = allocate(*pitch * height);
    return OK;
}

API int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    NOTE(bytes, flags);
    take("FAKE_PIN_MS");
    *address = malloc(bytes);
    return *address ? OK : 2;
}

API int cuMemFreeHost(void *address) { NOTE(address != 0); free(address); return OK; }
API int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) { NOTE(address != 0, bytes, flags); take("FAKE_PIN_MS"); return OK; }
API int cuMemHostUnregister(void *address) { NOTE(address != 0); return OK; }
API int cuMemcpyHtoD_v2(word to, const void *from, size_t bytes) { NOTE(to > 0, from != 0, bytes); take("FAKE_COPY_MS"); return OK; }
API int cuMemcpyDtoH_v2(void *to, word from, size_t bytes) { NOTE(to != 0, from > 0, bytes); take("FAKE_COPY_MS"); return OK; }
API int cuMemcpyHtoDAsync_v2(word to, const void *from, size_t bytes, word stream) { NOTE(to > 0, from != 0, bytes, stream); take("FAKE_COPY_MS"); return OK; }
API int cuMemcpyHtoDAsync_v2_ptsz(word to, const void *from, size_t bytes, word stream) { NOTE(to > 0, from != 0, bytes, stream); take("FAKE_COPY_MS"); return OK; }
API int cuMemcpyDtoHAsync_v2(void *to, word from, size_t bytes, word stream) { NOTE(to != 0, from > 0, bytes, stream); take("FAKE_COPY_MS"); return OK; }
API int cuMemcpy2D_v2(const word *copy) { NOTE(copy[14], copy[15]); take("FAKE_COPY_MS"); return OK; }
API int cuMemsetD32_v2(word to, unsigned value, size_t count) { NOTE(to > 0, value, count); return OK; }
API int cuMemsetD8Async(word to, unsigned char value, size_t count, word stream) { NOTE(to > 0, value, count, stream); return OK; }

/* Code. */
static int load(word *module, const void *image) {
    if (!image) return INVALID;
    take("FAKE_LOAD_MS");
    used += 8 * MIB;
    *module = number(0x1000);
    return OK;
}

API int cuModuleLoadData(word *module, const void *image) { NOTE(image != 0); return load(module, image); }

API int cuModuleLoadDataEx(word *module, const void *image, unsigned count, int *options, void **values) {
    NOTE(image != 0, count, options != 0, values != 0);
    return load(module, image);
}

API int cuModuleLoad(word *module, const char *path) { NOTE(path != 0); return load(module, path); }

API int cuLibraryLoadData(word *library, const void *code, int *a, void **b, unsigned c, int *d, void **e, unsigned f) {
    NOTE(code != 0, a != 0, b != 0, c, d != 0, e != 0, f);
    return load(library, code);
}

API int cuModuleUnload(word module) { NOTE(module > 0); used -= 8 * MIB; return OK; }

API int cuModuleGetFunction(word *function, word module, const char *name) {
    NOTE(module > 0, strlen(name));
    if (!strcmp(name, "absent")) return NOT_FOUND;
    *function = number(0x2000);
    return OK;
}

API int cuLibraryGetKernel(word *kernel, word library, const char *name) {
    NOTE(library > 0, strlen(name));
    *kernel = number(0x3000);
    return OK;
}

API int cuKernelGetFunction(word *function, word kernel) {
    NOTE(kernel > 0);
    *function = kernel - 0x3000 + 0x200000;
    return OK;
}

API int cuFuncGetAttribute(int *value, int attribute, word function) { NOTE(attribute, function > 0); *value = 32; return OK; }

/* Work. */

static int launch(word function) {
    if (!captures && is_first(function)) {
        take("FAKE_FIRST_LAUNCH_MS");
        used += 2 * MIB;
    }
    take("FAKE_LAUNCH_MS");
    return function ? OK : INVALID;
}

#define LAUNCH (word f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, word stream, void **arguments, void **extra)
API int cuLaunchKernel LAUNCH { NOTE(f > 0, gx, gy, gz, bx, by, bz, shared, stream, arguments != 0, extra != 0); return launch(f); }
API int cuLaunchKernel_ptsz LAUNCH { NOTE(f > 0, gx, gy, gz, bx, by, bz, shared, stream, arguments != 0, extra != 0); return launch(f); }
API int cuLaunchKernelEx(const void *how, word f, void **arguments, void **extra) { NOTE(how != 0, f > 0, arguments != 0, extra != 0); return launch(f); }
API int cuStreamCreate(word *stream, unsigned flags) { NOTE(flags); *stream = number(0x4000); return OK; }
API int cuStreamDestroy_v2(word stream) { NOTE(stream > 0); return OK; }
API int cuStreamSynchronize(word stream) { NOTE(stream > 0); take("FAKE_SYNC_MS"); return OK; }
API int cuStreamSynchronize_ptsz(word stream) { NOTE(stream > 0); take("FAKE_SYNC_MS"); return OK; }
API int cuStreamQuery(word stream) { NOTE(stream > 0); return OK; }
API int cuStreamBeginCapture_v2(word stream, int mode) { NOTE(stream > 0, mode); captures++; return OK; }
API int cuStreamEndCapture(word stream, word *graph) { NOTE(stream > 0); captures--; *graph = number(0x5000); return OK; }
API int cuGraphInstantiateWithFlags(word *executable, word graph, word flags) { NOTE(graph > 0, flags); *executable = number(0x6000); return OK; }
API int cuGraphLaunch(word executable, word stream) { NOTE(executable > 0, stream); return launch(executable); }
API int cuEventCreate(word *event, unsigned flags) { NOTE(flags); *event = number(0x7000); return OK; }
API int cuEventRecord(word event, word stream) { NOTE(event > 0, stream); return OK; }
API int cuEventElapsedTime(float *milliseconds, word from, word to) {
    static int asked;
    NOTE(from > 0, to > 0);
    *milliseconds = asked++ ? 1 : 4;
    return OK;
}
API int cuEventSynchronize(word event) { NOTE(event > 0); take("FAKE_SYNC_MS"); return OK; }

/* A structure of 64 bytes by value, and functions with very many words. */
struct handle { char bytes[64]; };
API int cuIpcOpenMemHandle_v2(word *address, struct handle handle, unsigned flags) { NOTE(handle.bytes[0], handle.bytes[63], flags); *address = 7; return OK; }

API int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *a, word *b, word *c, unsigned *d, unsigned *e, int f, int g, int h, int i) {
    NOTE(map != 0, type, rank, a != 0, b != 0, c != 0, d != 0, e != 0, f, g, h, i);
    return OK;
}

/* A function that is in no table. */
API int cuSomethingNew(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j) {
    NOTE(a, b, c, d, e, f, g, h, i, j);
    return OK;
}

API int cuTexRefSetMipmapLevelBias(word texture, float bias) { NOTE(texture, (word)(bias * 1000)); return OK; }
API int cuGetExportTable(const void **table, const void *id) { *table = NULL; return id ? NOT_FOUND : INVALID; }
API int cuGetErrorString(int error, const char **text) { *text = error ? "an error" : "no error"; return OK; }

/* Functions by name: the newest version that is not newer than the requested one. */

struct function { const char *name; int version; int per_thread; void *address; };
API int cuGetProcAddress(const char *name, void **function, int version, word flags);
API int cuGetProcAddress_v2(const char *name, void **function, int version, word flags, int *status);

/* With one version, with several, and for per-thread default streams. */
#define S(name) { #name, 2000, 0, (void *)name }
#define F(name, version, function) { #name, version, 0, (void *)function }
#define T(name, version, function) { #name, version, 1, (void *)function }
static const struct function functions[] = {
    S(cuInit), S(cuDriverGetVersion), S(cuDeviceGetCount), S(cuDeviceGet), S(cuDeviceGetName),
    S(cuDeviceGetAttribute), S(cuDevicePrimaryCtxRetain),
    F(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2),
    S(cuDevicePrimaryCtxGetState), S(cuCtxGetCurrent), S(cuCtxSetCurrent),
    F(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2), F(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2),
    S(cuCtxGetDevice), F(cuCtxCreate, 3020, cuCtxCreate_v2), S(cuCtxSynchronize),
    F(cuMemGetInfo, 3020, cuMemGetInfo_v2), F(cuMemAlloc, 2000, cuMemAlloc),
    F(cuMemAlloc, 3020, cuMemAlloc_v2), F(cuMemFree, 3020, cuMemFree_v2),
    F(cuMemAllocAsync, 11020, cuMemAllocAsync), T(cuMemAllocAsync, 11020, cuMemAllocAsync_ptsz),
    S(cuMemFreeAsync), F(cuMemAllocPitch, 3020, cuMemAllocPitch_v2), S(cuMemHostAlloc),
    S(cuMemFreeHost), F(cuMemHostRegister, 6050, cuMemHostRegister_v2), S(cuMemHostUnregister),
    F(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2), F(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2),
    F(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2),
    T(cuMemcpyHtoDAsync, 7000, cuMemcpyHtoDAsync_v2_ptsz),
    F(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2), F(cuMemcpy2D, 3020, cuMemcpy2D_v2),
    F(cuMemsetD32, 3020, cuMemsetD32_v2), S(cuMemsetD8Async), S(cuModuleLoad), S(cuModuleLoadData),
    S(cuModuleLoadDataEx), S(cuLibraryLoadData), S(cuModuleUnload), S(cuModuleGetFunction),
    S(cuLibraryGetKernel), S(cuKernelGetFunction), S(cuFuncGetAttribute),
    F(cuLaunchKernel, 4000, cuLaunchKernel), T(cuLaunchKernel, 7000, cuLaunchKernel_ptsz),
    S(cuLaunchKernelEx), S(cuStreamCreate), F(cuStreamDestroy, 4000, cuStreamDestroy_v2),
    F(cuStreamSynchronize, 2000, cuStreamSynchronize),
    T(cuStreamSynchronize, 7000, cuStreamSynchronize_ptsz), S(cuStreamQuery),
    F(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2), S(cuStreamEndCapture),
    F(cuGraphInstantiate, 12000, cuGraphInstantiateWithFlags), S(cuGraphLaunch), S(cuEventCreate),
    S(cuEventRecord), S(cuEventElapsedTime), S(cuEventSynchronize), F(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2),
    S(cuTensorMapEncodeTiled), S(cuSomethingNew), S(cuTexRefSetMipmapLevelBias),
    S(cuGetExportTable), S(cuGetErrorString), F(cuGetProcAddress, 11030, cuGetProcAddress),
    F(cuGetProcAddress, 12000, cuGetProcAddress_v2),
};

static void *find(const char *name, int version, word flags) {
    const struct function *best = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct function *one = &functions[i];
        if (strcmp(one->name, name) || one->version > version) continue;
        if (one->per_thread && flags != 2) continue;
        if (!best || one->per_thread > best->per_thread || (one->per_thread == best->per_thread && one->version > best->version)) best = one;
    }
    return best ? best->address : NULL;
}

API int cuGetProcAddress(const char *name, void **function, int version, word flags) {
    NOTE(strlen(name), version, flags);
    *function = find(name, version, flags);
    return *function ? OK : NOT_FOUND;
}

API int cuGetProcAddress_v2(const char *name, void **function, int version, word flags, int *status) {
    NOTE(strlen(name), version, flags);
    *function = find(name, version, flags);
    if (status) *status = *function ? 0 : 1;
    return *function ? OK : NOT_FOUND;
}
