/* The tensors that a kernel gets: each must lie inside one live block of device memory. */
#include <string.h>

#include "blocks.h"
#include "fake_python.h"
#include "values.h"

/* DLManagedTensor, as its public header lays it out. */
typedef struct tensor {
    char *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t type_code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *context;
    void (*deleter)(struct tensor *);
} tensor;

static bool inside_a_block(const char *first, const char *behind) {
    for (unsigned i = 0; i < 256; i++) {
        void *block = live_handle(BLOCK, i);
        if (!block) {
            return false;
        }
        const char *start = softnpu_reach(block, 0).bytes;
        if (first >= start && behind <= start + live_size(block)) {
            return true;
        }
    }
    return false;
}

void dlpack_touch(void *pointer) {
    tensor *view = pointer;
    __int128 low = 0, high = 0; /* elements from the first to the last one */
    for (int32_t i = 0; i < view->rank; i++) {
        if (view->shape[i] < 0) {
            violation("a kernel got a negative size", view);
        }
        if (view->shape[i] == 0) {
            return; /* no elements */
        }
        __int128 reach = (__int128)view->strides[i] * (view->shape[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    __int128 item = (view->bits + 7) / 8;
    __int128 start = (intptr_t)view->data + (__int128)view->byte_offset;
    __int128 first = start + low * item, behind = start + (high + 1) * item;
    if (first < 0 || behind > INTPTR_MAX ||
        !inside_a_block((char *)(intptr_t)first, (char *)(intptr_t)behind)) {
        violation("a kernel got a tensor outside of the device's memory", view->data);
    }
    *(volatile char *)(intptr_t)first ^= 1;
    *(volatile char *)(intptr_t)(behind - 1) ^= 1;
}

void dlpack_drop(void *pointer) {
    tensor *view = pointer;
    view->deleter(view);
}
