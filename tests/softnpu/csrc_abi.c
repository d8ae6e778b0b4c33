/* Calls the C libraries as torch_npu does, without Python and without torch.
 *
 * Usage: csrc_abi FOLDER, the folder with libascendcl.so and libopapi.so. Prints one "ok" line for
 * each group of checks; the first check that fails is named, and the exit status is 1. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACL_FLOAT = 0, FORMAT_ND = 2, TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3 };

static void *acl, *opapi;

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("not ok: no symbol %s\n", name);
        exit(1);
    }
    return found;
}

/* A function of the library, by the type that its call has here. */
#define ACL(result, name, ...) ((result(*)(__VA_ARGS__))symbol(acl, #name))

#define CHECK(condition)                                         \
    do {                                                         \
        if (!(condition)) {                                      \
            printf("not ok: line %d: %s\n", __LINE__, #condition); \
            exit(1);                                             \
        }                                                        \
    } while (0)

/* The call has failed, and says why once. */
static void check_message(const char *words) {
    const char *message = ACL(const char *, aclGetRecentErrMsg, void)();
    if (!message || !strstr(message, words)) {
        printf("not ok: expected a message with \"%s\", got \"%s\"\n", words,
               message ? message : "none");
        exit(1);
    }
    CHECK(ACL(const char *, aclGetRecentErrMsg, void)() == NULL);
}

static void start(void) {
    CHECK(ACL(int, softnpu_is_software, void)() == 1);
    CHECK(ACL(int, aclInit, const char *)(NULL) != 0);
    check_message("the kernels need a Python interpreter");
    printf("ok start: refused without Python\n");
}

static void devices(void) {
    uint32_t count = 0;
    int32_t device = -1;
    void *context = NULL;
    CHECK(ACL(int, aclrtGetDeviceCount, uint32_t *)(&count) == 0 && count == 2);
    CHECK(ACL(int, aclrtGetDevice, int32_t *)(&device) != 0);
    check_message("no device was set");
    CHECK(ACL(int, aclrtSetDevice, int32_t)(2) != 0);
    check_message("no device 2");
    CHECK(ACL(int, aclrtSetDevice, int32_t)(1) == 0);
    CHECK(ACL(int, aclrtGetCurrentContext, void **)(&context) == 0);
    CHECK(ACL(int, aclrtSetDevice, int32_t)(0) == 0);
    CHECK(ACL(int, aclrtSetCurrentContext, void *)(context) == 0);
    CHECK(ACL(int, aclrtGetDevice, int32_t *)(&device) == 0 && device == 1);
    CHECK(ACL(int, aclrtSetCurrentContext, void *)(&count) != 0);
    check_message("not a context");
    printf("ok devices\n");
}

static void *stream;

static void memory(void) {
    enum { SIZE = 1 << 16 };
    size_t before = 0, after = 0, total = 0;
    char *host = NULL, *device = NULL;
    void *too_large = &total;
    CHECK(ACL(int, aclrtGetMemInfo, int, size_t *, size_t *)(0, &before, &total) == 0);
    CHECK(before == total && total == (size_t)16 << 30);
    CHECK(ACL(int, aclrtMalloc, void **, size_t, int)((void **)&device, SIZE, 0) == 0);
    CHECK(ACL(int, aclrtMallocHost, void **, size_t)((void **)&host, SIZE) == 0);
    CHECK(ACL(int, aclrtGetMemInfo, int, size_t *, size_t *)(0, &after, &total) == 0);
    CHECK(before - after >= SIZE);
    for (int i = 0; i < SIZE; i++) {
        host[i] = (char)(i * 7);
    }
    int (*copy)(void *, size_t, const void *, size_t, int) =
        ACL(int, aclrtMemcpy, void *, size_t, const void *, size_t, int);
    int (*copy_on)(void *, size_t, const void *, size_t, int, void *) =
        ACL(int, aclrtMemcpyAsync, void *, size_t, const void *, size_t, int, void *);
    CHECK(copy(device, SIZE, host, SIZE, TO_DEVICE) == 0);
    memset(host, 0, SIZE);
    CHECK(copy_on(device + SIZE / 2, SIZE / 2, device, SIZE / 2, ON_DEVICE, stream) == 0);
    CHECK(copy_on(host, SIZE, device, SIZE, TO_HOST, stream) == 0);
    CHECK(ACL(int, aclrtSynchronizeStream, void *)(stream) == 0);
    for (int i = 0; i < SIZE; i++) {
        CHECK(host[i] == (char)(i % (SIZE / 2) * 7));
    }
    CHECK(ACL(int, aclrtMemset, void *, size_t, int32_t, size_t)(device, SIZE, 5, SIZE) == 0);
    CHECK(copy(host, SIZE, device, SIZE, TO_HOST) == 0);
    CHECK(host[0] == 5 && host[SIZE - 1] == 5);
    CHECK(copy(host, SIZE, device, SIZE, TO_DEVICE) != 0);
    check_message("is device to host");
    CHECK(copy(device, 1, host, 2, TO_DEVICE) != 0);
    check_message("cannot copy 2 bytes");
    CHECK(ACL(int, aclrtMalloc, void **, size_t, int)(&too_large, total + 1, 0) != 0);
    check_message("out of memory on device 1");
    CHECK(ACL(int, aclrtFree, void *)(&total) != 0);
    check_message("was not allocated here");
    CHECK(ACL(int, aclrtFreeHost, void *)(host) == 0);
    CHECK(ACL(int, aclrtFree, void *)(device) == 0);
    CHECK(ACL(int, aclrtGetMemInfo, int, size_t *, size_t *)(0, &after, &total) == 0);
    CHECK(after == before);
    printf("ok memory\n");
}

static void streams(void) {
    void *first = NULL, *last = NULL;
    int status = -1;
    float milliseconds = -1;
    int (*make)(void **, uint32_t) = ACL(int, aclrtCreateEventWithFlag, void **, uint32_t);
    int (*record)(void *, void *) = ACL(int, aclrtRecordEvent, void *, void *);
    CHECK(ACL(int, aclrtCreateStream, void **)(&stream) == 0);
    CHECK(make(&first, 0) == 0 && make(&last, 0) == 0);
    CHECK(record(first, stream) == 0 && record(last, stream) == 0);
    CHECK(ACL(int, aclrtStreamWaitEvent, void *, void *)(stream, last) == 0);
    CHECK(ACL(int, aclrtSynchronizeEvent, void *)(last) == 0);
    CHECK(ACL(int, aclrtQueryEventStatus, void *, int *)(last, &status) == 0 && status == 1);
    CHECK(ACL(int, aclrtEventElapsedTime, float *, void *, void *)(&milliseconds, first, last) == 0);
    CHECK(milliseconds >= 0);
    CHECK(record(stream, stream) != 0);
    check_message("is not an event");
    CHECK(ACL(int, aclrtDestroyEvent, void *)(first) == 0);
    CHECK(ACL(int, aclrtDestroyEvent, void *)(last) == 0);
    printf("ok streams and events\n");
}

static void *tensor(int64_t length, void *data) {
    const int64_t one = 1;
    return ACL(void *, aclCreateTensor, const int64_t *, uint64_t, int, const int64_t *, int64_t, int,
               const int64_t *, uint64_t, void *)(&length, 1, ACL_FLOAT, &one, 0, FORMAT_ND, &length,
                                                  1, data);
}

static void handles(void) {
    static float values[3] = {1, 2, 3};
    const int64_t sizes[] = {4, 5};
    int64_t *shape = NULL;
    uint64_t rank = 0;
    void *made = tensor(3, values);
    CHECK(made != NULL);
    CHECK(ACL(int, aclGetViewShape, const void *, int64_t **, uint64_t *)(made, &shape, &rank) == 0);
    CHECK(rank == 1 && shape[0] == 3);
    free(shape);
    void *list = ACL(void *, aclCreateTensorList, void *const *, uint64_t)(&made, 1);
    CHECK(list && ACL(int, aclDestroyTensorList, void *)(list) == 0); /* and its member */
    void *array = ACL(void *, aclCreateIntArray, const int64_t *, uint64_t)(sizes, 2);
    CHECK(array && ACL(int, aclDestroyTensor, void *)(array) != 0);
    check_message("is not a tensor");
    CHECK(ACL(int, aclDestroyIntArray, void *)(array) == 0);
    void *scalar = ACL(void *, aclCreateScalar, const void *, int)(values, ACL_FLOAT);
    CHECK(scalar && ACL(int, aclDestroyScalar, void *)(scalar) == 0);
    printf("ok handles\n");
}

static void refusals(void) {
    static float values[3];
    uint64_t size = 0;
    void *executor = NULL;
    void *self = tensor(3, values), *out = tensor(3, values);
    int (*prepare)(void *, void *, uint64_t *, void **) =
        (int (*)(void *, void *, uint64_t *, void **))symbol(opapi, "aclnnErfGetWorkspaceSize");
    CHECK(prepare(self, out, &size, &executor) != 0 && executor == NULL);
    check_message("no kernel for the operator aclnnErf");
    CHECK(ACL(int, aclDestroyTensor, void *)(self) == 0);
    CHECK(ACL(int, aclDestroyTensor, void *)(out) == 0);
    CHECK(ACL(int, aclopCompileAndExecute, const char *)("Erf") != 0);
    check_message("older operator Erf");
    CHECK(ACL(int, aclmdlInitDump, void)() != 0);
    check_message("aclmdlInitDump");
    printf("ok refusals\n");
}

int main(int count, char **arguments) {
    static char path[4096];
    if (count != 2) {
        fprintf(stderr, "usage: csrc_abi FOLDER\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("SOFTNPU_DEVICES", "2", 1);
    snprintf(path, sizeof path, "%s/libascendcl.so", arguments[1]);
    acl = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    snprintf(path, sizeof path, "%s/libopapi.so", arguments[1]);
    opapi = acl ? dlopen(path, RTLD_NOW) : NULL;
    if (!opapi) {
        printf("not ok: %s\n", dlerror());
        return 1;
    }
    start();
    devices();
    streams();
    memory();
    handles();
    refusals();
    CHECK(ACL(int, aclrtDestroyStream, void *)(stream) == 0);
    return 0;
}
