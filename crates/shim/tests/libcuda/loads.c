/* Loads a library with RTLD_LOCAL, and calls its `work`. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        void *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) return puts(dlerror()), 1;
        int (*work)(void) = (int (*)(void))dlsym(library, "work");
        if (!work) return puts(dlerror()), 1;
        if (work()) return 1;
    }
    return 0;
}
