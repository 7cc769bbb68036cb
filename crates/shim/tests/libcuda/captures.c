/* Captures a graph in which a kernel is launched for the first time. */
#include <stdint.h>
#include <stdio.h>

typedef uint64_t word;
int cuInit(unsigned);
int cuCtxCreate_v2(word *, unsigned, int);
int cuModuleLoadData(word *, const void *);
int cuModuleGetFunction(word *, word, const char *);
int cuLaunchKernel(word, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, word, void **, void **);
int cuStreamCreate(word *, unsigned);
int cuStreamBeginCapture_v2(word, int);
int cuStreamEndCapture(word, word *);
int cuGraphInstantiateWithFlags(word *, word, word);
int cuGraphLaunch(word, word);

int main(void) {
    word context, module, function, stream, graph, executable;
    int status = cuInit(0) | cuCtxCreate_v2(&context, 0, 0) | cuStreamCreate(&stream, 0);
    status |= cuStreamBeginCapture_v2(stream, 0);
    status |= cuModuleLoadData(&module, ".target sm_90") | cuModuleGetFunction(&function, module, "k");
    status |= cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    status |= cuStreamEndCapture(stream, &graph);
    status |= cuGraphInstantiateWithFlags(&executable, graph, 0);
    status |= cuGraphLaunch(executable, stream) | cuGraphLaunch(executable, stream);
    printf("%d\n", status);
    return status;
}
