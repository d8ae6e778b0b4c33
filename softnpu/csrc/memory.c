/* Device memory is host memory that is counted per device. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softnpu.h"

typedef struct {
    char *start;
    size_t size;
    int device; /* -1 for page-locked host memory */
} block;

/* torch_npu asks for large blocks and cuts them up itself, so there are few. */
static block *blocks;
static size_t block_count, block_room;
static size_t used[SOFTNPU_MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static aclError allocate(void **result, size_t size, int device) {
    if (!result || size == 0) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: cannot allocate %zu bytes", size);
    }
    *result = NULL;
    pthread_mutex_lock(&lock);
    aclError code = ACL_SUCCESS;
    void *start = MAP_FAILED;
    if (device >= 0 && size > softnpu_memory_total() - used[device]) {
        code = softnpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                            "softnpu: out of memory on device %d: %zu bytes asked, %zu of %zu in use",
                            device, size, used[device], softnpu_memory_total());
    } else if (block_count == block_room) {
        size_t room = block_room ? 2 * block_room : 64;
        block *grown = realloc(blocks, room * sizeof *grown);
        if (grown) {
            blocks = grown;
            block_room = room;
        }
    }
    if (code == ACL_SUCCESS && block_count < block_room) {
        start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    }
    if (start != MAP_FAILED) {
        blocks[block_count++] = (block){start, size, device};
        if (device >= 0) {
            used[device] += size;
        }
        *result = start;
    } else if (code == ACL_SUCCESS) {
        code = softnpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                            "softnpu: the host has no room for %zu bytes", size);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static aclError release(void *start) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].start == start) {
            munmap(start, blocks[i].size);
            if (blocks[i].device >= 0) {
                used[blocks[i].device] -= blocks[i].size;
            }
            blocks[i] = blocks[--block_count];
            pthread_mutex_unlock(&lock);
            return ACL_SUCCESS;
        }
    }
    pthread_mutex_unlock(&lock);
    return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p was not allocated here", start);
}

size_t softnpu_memory_used(int device) {
    pthread_mutex_lock(&lock);
    size_t bytes = used[device];
    pthread_mutex_unlock(&lock);
    return bytes;
}

void *softnpu_reach(void *address) { return address; }

EXPORT aclError aclrtMalloc(void **result, size_t size, int policy) {
    (void)policy;
    if (softnpu_current_device() < 0) {
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    return allocate(result, size, softnpu_current_device());
}

EXPORT aclError aclrtMallocAlign32(void **result, size_t size, int policy) {
    return aclrtMalloc(result, size, policy);
}

EXPORT aclError aclrtFree(void *start) { return release(start); }

EXPORT aclError aclrtMallocHost(void **result, size_t size) { return allocate(result, size, -1); }

EXPORT aclError aclrtFreeHost(void *start) { return release(start); }

EXPORT aclError aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total_bytes) {
    (void)attribute;
    int device = softnpu_current_device() < 0 ? 0 : softnpu_current_device();
    *total_bytes = softnpu_memory_total();
    *free_bytes = *total_bytes - softnpu_memory_used(device);
    return ACL_SUCCESS;
}

/* Where a pointer lives; torch_npu asks to recognise page-locked memory. */
typedef struct {
    uint32_t id;
    uint32_t type;
    uint32_t page_size;
    uint32_t reserved[4];
} pointer_attributes;

EXPORT aclError aclrtPointerGetAttributes(const void *pointer, pointer_attributes *attributes) {
    enum { HOST, DEVICE, UNREGISTERED };
    memset(attributes, 0, sizeof *attributes);
    attributes->type = UNREGISTERED;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        const char *start = blocks[i].start;
        if ((const char *)pointer >= start && (const char *)pointer < start + blocks[i].size) {
            attributes->type = blocks[i].device < 0 ? HOST : DEVICE;
            attributes->id = blocks[i].device < 0 ? 0 : (uint32_t)blocks[i].device;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t size, int kind) {
    (void)kind;
    if (size == 0) {
        return ACL_SUCCESS;
    }
    if (!to || !from || size > room) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "softnpu: cannot copy %zu bytes from %p to %p (room %zu)", size, from, to,
                            room);
    }
    memmove(to, from, size);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, int kind,
                                 void *stream) {
    (void)stream; /* a stream has no backlog: what was queued before is done */
    return aclrtMemcpy(to, room, from, size, kind);
}

EXPORT aclError aclrtMemset(void *to, size_t room, int32_t value, size_t size) {
    if (!to || size > room) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: cannot set %zu bytes at %p (room %zu)",
                            size, to, room);
    }
    memset(to, value, size);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtMemsetAsync(void *to, size_t room, int32_t value, size_t size, void *stream) {
    (void)stream;
    return aclrtMemset(to, room, value, size);
}
