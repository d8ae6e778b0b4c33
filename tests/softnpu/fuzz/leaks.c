/* Makes and destroys one of everything, many times: `leaks ROUNDS`. Fails where a handle is left or
 * the process has grown. Compiled with LeakSanitizer, which looks for lost memory at the end. */
#include <stdio.h>
#include <stdlib.h>

#include "acl.h"
#include "values.h"

static void want(int code, const char *what) {
    if (code) {
        const char *message = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d %s\n", what, code, message ? message : "");
        exit(1);
    }
}

/* Nine dimensions: more than a tensor keeps in itself. */
static softnpu_tensor *tensor(void *block, uint64_t rank) {
    static const int64_t shape[9] = {2, 1, 1, 1, 1, 1, 1, 1, 1}, length = 2;
    return aclCreateTensor(shape, rank, 0, NULL, 0, 2, &length, 1, block);
}

static void round_of_calls(void *block) {
    void *stream, *event, *executor, *pinned, *other_block;
    uint64_t size;
    int64_t whole = 1;
    float real = 1;
    bool flag = true;
    want(aclrtMalloc(&other_block, 4096, 0), "aclrtMalloc");
    want(aclrtMallocHost(&pinned, 4096), "aclrtMallocHost");
    want(aclrtCreateStream(&stream), "aclrtCreateStream");
    want(aclrtCreateEventWithFlag(&event, 0), "aclrtCreateEvent");
    softnpu_tensor *in = tensor(block, 1), *out = tensor(block, 1), *long_one = tensor(block, 9);
    softnpu_scalar *scalar = aclCreateScalar(&real, 0), *member = aclCreateScalar(&real, 0);
    softnpu_tensor *members[] = {tensor(block, 1), tensor(block, 1)};
    softnpu_array *tensors = aclCreateTensorList(members, 2);
    softnpu_array *scalars = aclCreateScalarList(&member, 1);
    want(aclnnAbsGetWorkspaceSize(in, out, &size, &executor), "aclnnAbs");
    want(aclrtRecordEvent(event, stream), "aclrtRecordEvent");
    want(aclrtStreamWaitEvent(NULL, event), "aclrtStreamWaitEvent");
    aclnnAbs(NULL, size, executor, stream); /* the fake kernel may raise; that must not leak */
    want(aclnnAbsGetWorkspaceSize(in, out, &size, &executor), "aclnnAbs");
    want(aclDestroyAclOpExecutor(executor), "aclDestroyAclOpExecutor");
    if (aclnnCatGetWorkspaceSize(tensors, 0, out, &size, &executor) == 0) {
        aclnnCat(NULL, size, executor, stream);
    }
    aclnnAbsGetWorkspaceSize(scalar, out, &size, &executor); /* refused */
    want(aclDestroyIntArray(aclCreateIntArray(&whole, 1)), "aclDestroyIntArray");
    want(aclDestroyFloatArray(aclCreateFloatArray(&real, 1)), "aclDestroyFloatArray");
    want(aclDestroyBoolArray(aclCreateBoolArray(&flag, 1)), "aclDestroyBoolArray");
    want(aclDestroyTensorList(tensors), "aclDestroyTensorList");
    want(aclDestroyScalarList(scalars), "aclDestroyScalarList");
    want(aclDestroyTensor(in), "aclDestroyTensor");
    want(aclDestroyTensor(out), "aclDestroyTensor");
    want(aclDestroyTensor(long_one), "aclDestroyTensor");
    want(aclDestroyScalar(scalar), "aclDestroyScalar");
    want(aclrtDestroyStream(stream), "aclrtDestroyStream");
    want(aclrtDestroyEvent(event), "aclrtDestroyEvent");
    want(aclrtFreeHost(pinned), "aclrtFreeHost");
    want(aclrtFree(other_block), "aclrtFree");
#ifdef BROKEN_ON_PURPOSE
    tensor(block, 9);
#endif
}

static long pages_in_use(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &all, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident;
}

int main(int count, char **words) {
    enum { MOST_PAGES = 256 };
    unsigned rounds = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : 1000;
    uint64_t handles = 0;
    long pages = 0;
    void *block;
    aclInit(NULL);
    softnpu_configure("Ascend910B1", 0, DEVICE_BYTES);
    softnpu_kernel_names("\naclnnAbs\naclnnCat\n");
    aclrtSetDevice(0);
    want(aclrtMalloc(&block, 4096, 0), "aclrtMalloc");
    for (unsigned i = 0; i < rounds; i++) {
        uint8_t choices[64];
        for (unsigned j = 0; j < sizeof choices; j++) {
            choices[j] = (uint8_t)(i * 7 + j * 5);
        }
        begin_values(choices, sizeof choices);
        made(BLOCK, block, 4096);
        round_of_calls(block);
        aclrtSynchronizeDevice();
        if (i == rounds / 10) { /* by now whatever is kept for good is there */
            handles = softnpu_live_handles();
            pages = pages_in_use();
        }
    }
    int64_t more_handles = (int64_t)(softnpu_live_handles() - handles);
    long more_pages = pages_in_use() - pages;
    want(aclrtFree(block), "aclrtFree");
    printf("%u rounds, %lld handles and %ld pages more\n", rounds, (long long)more_handles, more_pages);
    return more_handles != 0 || more_pages > MOST_PAGES;
}
