/* Many threads that all call the driver, and a child that calls it after a fork. */
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
int cuCtxSynchronize(void);

static int calls;

static void *work(void *argument) {
    word context;
    uintptr_t failed = cuCtxCreate_v2(&context, 0, 0);
    for (int i = 0; i < calls; i++)
        failed |= cuLaunchKernel(0x2000 + (uintptr_t)argument, 1, 2, 3, 4, 5, 6, 7, 8, NULL, NULL);
    failed |= cuCtxSynchronize();
    return (void *)failed;
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 64;
    calls = count > 2 ? atoi(arguments[2]) : 500;
    pthread_t all[256];
    uintptr_t failed = cuInit(0);
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < threads; i++) {
        void *result;
        pthread_join(all[i], &result);
        failed |= (uintptr_t)result;
    }
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 3; i++) failed |= cuLaunchKernel(1, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL);
        _exit(failed != 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    printf("%d %d\n", failed != 0, status);
    return 0;
}
