/* Whether a pointwise function may write its result where it belongs, without a copy.
 *
 * torch's out= is right only when the output has the result's shape: torch gives an output of
 * another shape a new one, and then writes elsewhere. And what overlaps must be the same. */
#include <string.h>

#include "direct.h"
#include "handle.h"
#include "signature.h"

typedef struct {
    const char *start, *end;
} bytes;

/* All bytes between the first element and the last of a tensor that was checked. */
static bytes extent(const softnpu_tensor *tensor) {
    int64_t last, bits = softnpu_bits(tensor->dtype);
    if (!tensor->elements || !softnpu_last_element(tensor, &last)) { /* it has no elements */
        return (bytes){NULL, NULL};
    }
    return (bytes){tensor->elements + tensor->offset * bits / 8, tensor->elements + (last + 1) * bits / 8};
}

/* Of one dtype and shape, and the same elements or no byte in common. */
static bool agree(const softnpu_tensor *in, const softnpu_tensor *out) {
    size_t size = (size_t)out->rank * sizeof(int64_t);
    if (!in || in->dtype != out->dtype || in->rank != out->rank ||
        memcmp(in->shape, out->shape, size)) {
        return false;
    }
    if (in->elements == out->elements && in->offset == out->offset &&
        memcmp(in->strides, out->strides, size) == 0) {
        return true;
    }
    bytes a = extent(in), b = extent(out);
    return a.end <= b.start || b.end <= a.start;
}

bool softnpu_tensors_agree(const softnpu_operator *op, const softnpu_slot *slots, intptr_t out) {
    const softnpu_tensor *target = slots[out].pointer;
    for (intptr_t i = 0; target && op->kinds[i]; i++) {
        if (op->kinds[i] == 'T' && !agree(slots[i].pointer, target)) {
            return false;
        }
    }
    return target != NULL;
}
