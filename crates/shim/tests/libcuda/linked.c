/* Code that is linked with the driver, like Triton launchers. Built as a program
 * (with PROGRAM), or as a library whose `work` is called by `loads.c`. */
#include <stdint.h>
#include <stdio.h>

typedef uint64_t word;
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(word *, int);
int cuCtxSetCurrent(word);
int cuModuleLoadData(word *, const void *);
int cuModuleGetFunction(word *, word, const char *);
int cuMemAlloc_v2(word *, size_t);
int cuMemAlloc(uint32_t *, uint32_t);
int cuMemFree_v2(word);
int cuLaunchKernel(word, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, word, void **, void **);
int cuStreamSynchronize(word);
int cuStreamSynchronize_ptsz(word);
int cuGetProcAddress_v2(const char *, void **, int, word, int *);

int work(void) {
    word context = 0, module = 0, function = 0, address = 0;
    uint32_t small = 0;
    int (*memset8)(word, unsigned char, size_t, word) = NULL;
    printf("init %d\n", cuInit(0));
    printf("context %d\n", cuDevicePrimaryCtxRetain(&context, 0));
    printf("current %d\n", cuCtxSetCurrent(context));
    printf("load %d\n", cuModuleLoadData(&module, ".version 8.0\n.target sm_75\n"));
    printf("absent %d\n", cuModuleGetFunction(&function, module, "absent"));
    printf("function %d\n", cuModuleGetFunction(&function, module, "scale"));
    printf("alloc %d\n", cuMemAlloc_v2(&address, 3000));
    printf("small %d\n", cuMemAlloc(&small, 100));
    for (int i = 0; i < 5; i++)
        printf("launch %d\n", cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, 0, NULL, NULL));
    printf("wait %d\n", cuStreamSynchronize(0));
    printf("wait %d\n", cuStreamSynchronize_ptsz(0));
    printf("get %d\n", cuGetProcAddress_v2("cuMemsetD8Async", (void **)&memset8, 12000, 0, NULL));
    printf("set %d\n", memset8(address, 1, 3000, 0));
    printf("free %d %d\n", cuMemFree_v2(address), cuMemFree_v2(77));
    return 0;
}

#ifdef PROGRAM
int main(void) { return work(); }
#endif
