/* Libraries above the driver, and code that is linked with them. Built as
 *   libnccl.so.2    with NCCL
 *   libcublas.so.N  with CUBLAS=N: the handles of one are of no use to another
 *   user libraries  with USER=N, linked with one of the two cuBLAS
 *   a library that has its own stub for the driver, with STUB
 *   libcudnn.so.9   with CUDNN, and a library that calls it many times, with OFTEN
 */
#include <stdio.h>
#include <stdint.h>
#include <string.h>

struct identity { char bytes[128]; };
int ncclCommInitRank(void **, int, struct identity, int);
int cublasCreate_v2(void **);

#ifdef NCCL
int ncclCommInitRank(void **communicator, int ranks, struct identity identity, int rank) {
    int sum = 0;
    for (int i = 0; i < 128; i++) sum += identity.bytes[i];
    printf("nccl %d %d %d\n", ranks, sum, rank);
    *communicator = &sum;
    return 0;
}
#endif

#ifdef CUBLAS
int cublasCreate_v2(void **handle) { *handle = (void *)(uintptr_t)CUBLAS; return 0; }
#endif

#ifdef USER
int work(void) {
    void *handle = NULL;
    for (int i = 0; i < 3; i++) {
        int status = cublasCreate_v2(&handle);
        printf("user %d: %d, cuBLAS %d\n", USER, status, (int)(uintptr_t)handle);
    }
    struct identity identity;
    for (int i = 0; i < 128; i++) identity.bytes[i] = i % 7;
    printf("status %d\n", ncclCommInitRank(&handle, 8, identity, 3));
    return 0;
}
#endif

#ifdef CUDNN
#include <time.h>
/* Takes a millisecond on request. */
int cudnnBackendFinalize(void *slowly) {
    struct timespec millisecond = {0, 1000000};
    return slowly ? nanosleep(&millisecond, NULL) : 0;
}
#endif

#ifdef OFTEN
int cudnnBackendFinalize(void *);
int work(void) {
    int status = 0;
    for (int i = 0; i < 20; i++) status |= cudnnBackendFinalize(&status);
    for (int i = 0; i < 20000; i++) status |= cudnnBackendFinalize(NULL);
    /* At least one of these slow calls is recorded. */
    for (int i = 0; i < 40; i++) status |= cudnnBackendFinalize(&status);
    printf("status %d\n", status);
    return 0;
}
#endif

#ifdef STUB
int cuInit(unsigned flags) { printf("own %u\n", flags); return 0; }
int work(void) { printf("status %d\n", cuInit(5)); return 0; }
#endif
