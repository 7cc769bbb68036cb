/* A program that repeats itself, and marks that with NVTX ranges:
 *
 *   repeats [ITERATIONS] [KERNEL] [MODULE] [EPOCH]
 *
 * Each iteration is a range named `step` with ranges named `layer` in it. It copies to the
 * device, launches three kernels and has another thread launch two, records an event,
 * copies back and waits. Iteration KERNEL launches one more, for the first time; iteration
 * MODULE loads code. With EPOCH, that many ranges named `epoch` are around all of it. In the
 * end a forked child does three iterations.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t word;
int cuInit(unsigned);
int cuCtxCreate_v2(word *, unsigned, int);
int cuLaunchKernel(word, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, word, void **, void **);
int cuMemcpyHtoDAsync_v2(word, const void *, size_t, word);
int cuMemcpyDtoHAsync_v2(void *, word, size_t, word);
int cuEventRecord(word, word);
int cuStreamSynchronize(word);
int cuModuleLoadData(word *, const void *);

static void *core[16], **core_table[16];
static int module(int number, void ****table, unsigned *count) {
    *table = core_table;
    *count = 16;
    return number == 1;
}
static struct { size_t size; int (*module)(int, void ****, unsigned *); } callbacks = { sizeof callbacks, module };
static const void *tables(int number) { return number == 1 ? &callbacks : NULL; }
static void push(const char *name) { if (core[9]) ((int (*)(const char *))core[9])(name); }
static void pop(void) { if (core[11]) ((int (*)(void))core[11])(); }

static int launch(word function) { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL); }

static pthread_barrier_t begin, end;
static volatile int over;
static void *backward(void *argument) {
    for (;;) {
        pthread_barrier_wait(&begin);
        if (over) return argument;
        launch(0x2040);
        launch(0x2050);
        pthread_barrier_wait(&end);
    }
}

static int step(int alone, int kernel, int loads) {
    static char host[64];
    word code;
    push("step");
    int failed = cuMemcpyHtoDAsync_v2(0x700000000000, host, 64, 0);
    if (kernel) failed |= launch(0x2060);
    if (loads) failed |= cuModuleLoadData(&code, "no image at all");
    for (int i = 1; i < 4; i++) {
        push("layer");
        failed |= launch(0x2000 + 16 * i);
        pop();
    }
    if (!alone) pthread_barrier_wait(&begin), pthread_barrier_wait(&end);
    failed |= cuEventRecord(1, 0);
    failed |= cuMemcpyDtoHAsync_v2(host, 0x700000000000, 64, 0);
    failed |= cuStreamSynchronize(0);
    pop();
    return failed;
}

int main(int count, char **arguments) {
    int iterations = count > 1 ? atoi(arguments[1]) : 300;
    int kernel = count > 2 ? atoi(arguments[2]) : -1;
    int loads = count > 3 ? atoi(arguments[3]) : -1;
    int epochs = count > 4 ? atoi(arguments[4]) : 0;
    for (int i = 1; i < 16; i++) core_table[i] = &core[i];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)() = library ? (int (*)())dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (initialize) initialize(tables);
    word context;
    int failed = cuInit(0) | cuCtxCreate_v2(&context, 0, 0);
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, backward, NULL);
    for (int e = 0; e < (epochs ? epochs : 1); e++) {
        if (epochs) push("epoch");
        for (int i = 0; i < iterations; i++) failed |= step(0, i == kernel, i == loads);
        if (epochs) pop();
    }
    over = 1;
    pthread_barrier_wait(&begin);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 3; i++) failed |= step(1, 0, 0);
        _exit(failed != 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    printf("%d %d\n", failed, status);
    return 0;
}
