/* A program that uses NVTX like its header does: it has tables of functions, loads the
 * library in NVTX_INJECTION64_PATH, and lets it fill them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

struct attributes {
    uint16_t version, size; uint32_t category; int32_t color_type; uint32_t color;
    int32_t payload_type, reserved; uint64_t payload; int32_t message_type; const void *message;
};

static void *core[16], *core2[16], **core_table[16], **core2_table[16];

static int module(int number, void ****table, unsigned *count) {
    *table = number == 1 ? core_table : core2_table;
    *count = 16;
    return number == 1 || number == 5;
}

static struct { size_t size; int (*module)(int, void ****, unsigned *); } callbacks = { sizeof callbacks, module };
static const void *tables(int number) { return number == 1 ? &callbacks : NULL; }

static uint64_t range;
static void *ends(void *argument) { ((void (*)(uint64_t))core[7])(range); return argument; }

int main(void) {
    for (int i = 1; i < 16; i++) core_table[i] = &core[i], core2_table[i] = &core2[i];
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    int (*initialize)(const void *(*)(int)) = (int (*)(const void *(*)(int)))dlsym(library, "InitializeInjectionNvtx2");
    printf("%d\n", initialize(tables));
    if (!core[1]) return 0;
    int (*push)(const char *) = (int (*)(const char *))core[9];
    int (*push_wide)(const wchar_t *) = (int (*)(const wchar_t *))core[10];
    int (*push_ex)(const struct attributes *) = (int (*)(const struct attributes *))core[8];
    int (*pop)(void) = (int (*)(void))core[11];
    void (*mark)(const char *) = (void (*)(const char *))core[2];
    uint64_t (*start)(const char *) = (uint64_t (*)(const char *))core[5];
    int (*domain_push)(void *, const struct attributes *) = (int (*)(void *, const struct attributes *))core2[4];
    int (*domain_pop)(void *) = (int (*)(void *))core2[5];
    void *(*enter)(void *, const char *) = (void *(*)(void *, const char *))core2[10];
    void *(*create)(const char *) = (void *(*)(const char *))core2[12];

    for (int i = 0; i < 3; i++) {
        printf("%d", push("step"));
        printf(" %d", push_wide(L"wärm"));
        printf(" %d %d\n", pop(), pop());
    }
    mark("here");
    void *domain = create("library");
    struct attributes event = { 3, sizeof event, 0, 0, 0, 0, 0, 0, 3, enter(domain, "registered") };
    push("outer");
    domain_push(domain, &event);
    pop();
    domain_pop(domain);
    event.message_type = 0;
    push_ex(&event);
    pop();
    push_ex(NULL);
    pop();
    pop();
    range = start("across threads");
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    push("open");
    return 0;
}
