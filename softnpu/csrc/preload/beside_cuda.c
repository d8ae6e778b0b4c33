/* Lets torch_npu load beside a CUDA build of torch, which is what PyPI has for x86-64.
 *
 * From 2.13 on both add the same key (pinned_reserve_segment_size_mb) to one set of torch's
 * allocator while they are loaded, and torch ends the process at the second one. This
 * library comes before torch, takes the question for that set, and gives CUDA's part of
 * torch a set of its own: there is no CUDA device in a process whose accelerator is an NPU. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* c10::CachingAllocator::AcceleratorAllocatorConfig::getMutableKeys() */
#define KEYS _ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

/* An empty std::unordered_set, as libstdc++ lays it out (part of its stable ABI). */
typedef struct {
    void *buckets;
    size_t bucket_count;
    void *first;
    size_t size;
    float max_load;
    size_t next_resize;
    void *single_bucket;
} unordered_set;
static unordered_set keys_of_cuda = {&keys_of_cuda.single_bucket, 1, NULL, 0, 1.0f, 0, NULL};

__attribute__((visibility("default"))) void *KEYS(void) {
    Dl_info caller;
    if (dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "libc10_cuda")) {
        return &keys_of_cuda;
    }
    static void *(*keys_of_torch)(void);
    if (!keys_of_torch) {
        void *c10 = dlopen("libc10.so", RTLD_NOLOAD | RTLD_LAZY);
        keys_of_torch = c10 ? (void *(*)(void))dlsym(c10, NAME_OF(KEYS)) : NULL;
    }
    return keys_of_torch();
}
