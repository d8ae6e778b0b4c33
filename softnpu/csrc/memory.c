/* The calls that allocate memory, free it and ask about it. */
#include <stdint.h>
#include <string.h>

#include "blocks.h"
#include "device.h"
#include "error.h"
#include "stream.h"

EXPORT aclError aclrtMalloc(void **result, size_t size, int policy) {
    (void)policy;
    if (softnpu_current_device() < 0) {
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    return softnpu_allocate(result, size, softnpu_current_device());
}

EXPORT aclError aclrtMallocAlign32(void **result, size_t size, int policy) {
    return aclrtMalloc(result, size, policy);
}

static aclError release(void *start, bool of_device) {
    if (softnpu_synchronize_all()) { /* what is still to run may use it */
        return softnpu_fail(ACLNN_ERR_RUNTIME,
                            "softnpu: memory cannot be freed in the middle of a kernel");
    }
    return softnpu_deallocate(start, of_device);
}

EXPORT aclError aclrtFree(void *start) { return release(start, true); }

EXPORT aclError aclrtMallocHost(void **result, size_t size) {
    return softnpu_allocate(result, size, SOFTNPU_PINNED);
}

EXPORT aclError aclrtFreeHost(void *start) { return release(start, false); }

EXPORT aclError aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total_bytes) {
    (void)attribute;
    if (!free_bytes || !total_bytes) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetMemInfo: a result pointer is null");
    }
    int device = softnpu_current_device() < 0 ? 0 : softnpu_current_device();
    softnpu_get_memory(device, free_bytes, total_bytes);
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
    if (!attributes) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "aclrtPointerGetAttributes: the result pointer is null");
    }
    int where = softnpu_reach(pointer, 0).device;
    memset(attributes, 0, sizeof *attributes);
    attributes->type = where >= 0 ? DEVICE : where == SOFTNPU_PINNED ? HOST : UNREGISTERED;
    attributes->id = where >= 0 ? (uint32_t)where : 0;
    return ACL_SUCCESS;
}
