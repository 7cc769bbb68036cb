/* Looks up the driver in all ways, whether it is there or not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void look(const char *how, void *handle, const char *name) {
    void *found = dlsym(handle, name);
    const char *said = dlerror();
    printf("%s %s: %d", how, name, found != NULL);
    /* The message includes the calling object: only its end is always the same. */
    printf(" %s\n", said ? strstr(said, "undefined") ? strstr(said, "undefined") : said : "-");
}

int main(void) {
    look("default", RTLD_DEFAULT, "cuInit");
    look("default", RTLD_DEFAULT, "cublasCreate_v2");
    look("next", RTLD_NEXT, "cuMemAlloc_v2");
    look("program", dlopen(NULL, RTLD_NOW), "cuInit");
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) return puts(dlerror()), 1;
    look("default", RTLD_DEFAULT, "cuInit");
    look("library", library, "cuInit");
    look("library", library, "cuNowhere");
    look("library", library, "cuGetExportTable");
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
    printf("init %d\n", init(0));
    int (*old)(uint32_t *, uint32_t) = (int (*)(uint32_t *, uint32_t))dlsym(library, "cuMemAlloc");
    uint32_t address[2] = { 0, 0xffffffff };
    printf("old %d", old(address, 64));
    printf(" %x %x\n", address[0], address[1]);
    int (*new)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(library, "cuMemAlloc_v2");
    uint64_t wide = 0;
    printf("new %d\n", new(&wide, 64));
    struct handle { char bytes[64]; } handle;
    memset(&handle, 5, sizeof handle);
    handle.bytes[63] = 9;
    int (*ipc)(uint64_t *, struct handle, unsigned) = (int (*)(uint64_t *, struct handle, unsigned))dlsym(library, "cuIpcOpenMemHandle_v2");
    printf("ipc %d\n", ipc(&wide, handle, 3));
    return 0;
}
