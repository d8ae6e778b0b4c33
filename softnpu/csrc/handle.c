/* Handles for the arguments of an operator: tensors, scalars, arrays, lists. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "device.h"
#include "error.h"
#include "handle.h"
#include "pool.h"

int softnpu_bits(int dtype) {
    static const uint8_t bits[] = {
        [0] = 32,  [1] = 16, [2] = 8,   [3] = 32,   [4] = 8,   [6] = 16,  [7] = 16,  [8] = 32,
        [9] = 64,  [10] = 64, [11] = 64, [12] = 8,  [16] = 64, [17] = 128, [27] = 16, [29] = 4,
        [30] = 1,  [33] = 32, [34] = 8, [35] = 8,   [36] = 8,  [37] = 8,  [40] = 4,  [41] = 4,
    };
    return dtype >= 0 && (size_t)dtype < sizeof bits / sizeof *bits ? bits[dtype] : 0;
}

static void clear_tensor(void *pointer) {
    softnpu_tensor *old = pointer;
    free(old->result_shape);
    if (old->shape != old->usual) {
        free(old->shape);
    }
}

static bool is_shape(const int64_t *sizes, uint64_t rank) {
    enum { MAX_RANK = 64 }; /* torch's; the operators themselves take fewer */
    bool good = rank <= MAX_RANK && (sizes || rank == 0);
    for (uint64_t i = 0; good && i < rank; i++) {
        good = sizes[i] >= 0;
    }
    return good;
}

static bool product_of(const int64_t *sizes, uint64_t rank, int64_t *product) {
    *product = 1;
    for (uint64_t i = 0; i < rank; i++) {
        if (__builtin_mul_overflow(*product, sizes[i], product)) {
            return false;
        }
    }
    return true;
}

EXPORT softnpu_tensor *aclCreateTensor(const int64_t *shape, uint64_t rank, int dtype,
                                       const int64_t *strides, int64_t offset, int format,
                                       const int64_t *storage_shape, uint64_t storage_rank,
                                       void *data) {
    int64_t storage_length, length;
    if (!is_shape(shape, rank) || !is_shape(storage_shape, storage_rank) ||
        !product_of(storage_shape, storage_rank, &storage_length) ||
        !product_of(shape, rank, &length)) {
        softnpu_fail(ACL_ERROR_INVALID_PARAM,
                     "softnpu: aclCreateTensor: a shape is null, negative, too long or too large");
        return NULL;
    }
    softnpu_tensor *made = softnpu_new(MAGIC_TENSOR, clear_tensor);
    if (!made) {
        return NULL;
    }
    made->dtype = dtype;
    made->format = format;
    made->rank = (int32_t)rank;
    made->offset = offset;
    made->storage_length = storage_length;
    made->data = data;
    made->result_rank = -1;
    made->shape = rank <= SOFTNPU_USUAL_RANK ? made->usual : malloc(2 * rank * sizeof(int64_t));
    if (!made->shape) {
        made->shape = made->usual;
        softnpu_destroy(made, MAGIC_TENSOR);
        return NULL;
    }
    made->strides = made->shape + rank;
    int64_t contiguous = 1;
    for (uint64_t i = rank; i-- > 0;) {
        made->shape[i] = shape[i];
        made->strides[i] = strides ? strides[i] : contiguous;
        contiguous = (int64_t)((uint64_t)contiguous * (uint64_t)shape[i]); /* may wrap beside a 0 */
    }
    return made;
}

EXPORT aclError aclDestroyTensor(softnpu_tensor *tensor) {
    return !tensor || softnpu_destroy(tensor, MAGIC_TENSOR) /* absent: an optional argument */
               ? ACL_SUCCESS
               : softnpu_fail(ACLNN_ERR_PARAM_INVALID, "softnpu: %p is not a tensor", (void *)tensor);
}

bool softnpu_last_element(const softnpu_tensor *tensor, int64_t *last) {
    *last = tensor->offset;
    for (int32_t i = 0; i < tensor->rank; i++) {
        int64_t step;
        if (tensor->strides[i] < 0 ||
            __builtin_mul_overflow(tensor->shape[i] - 1, tensor->strides[i], &step) ||
            __builtin_add_overflow(*last, step, last)) {
            return false;
        }
    }
    return true;
}

aclError softnpu_check_tensor(softnpu_tensor *tensor, const char *operator, size_t parameter) {
    int64_t length = 1, last, bits = softnpu_bits(tensor->dtype), size;
    product_of(tensor->shape, (uint64_t)tensor->rank, &length);
    if (bits == 0) {
        return softnpu_fail(ACLNN_ERR_PARAM_INVALID, "softnpu: %s: parameter %zu has the unknown dtype %d",
                            operator, parameter, tensor->dtype);
    }
    if (length == 0) {
        return ACL_SUCCESS;
    }
    if (tensor->offset < 0 || !softnpu_last_element(tensor, &last) || last >= tensor->storage_length ||
        __builtin_mul_overflow(tensor->storage_length, bits, &size)) {
        return softnpu_fail(ACLNN_ERR_PARAM_INVALID,
                            "softnpu: %s: parameter %zu reaches out of its storage of %lld elements",
                            operator, parameter, (long long)tensor->storage_length);
    }
    softnpu_place place = softnpu_reach(tensor->data, (size_t)(size + 7) / 8);
    int device = softnpu_current_device();
    if (place.device >= 0 && place.device != device) {
        return softnpu_fail(ACLNN_ERR_PARAM_INVALID,
                            "softnpu: %s runs on NPU %d, and parameter %zu lies in the memory of NPU %d",
                            operator, device, parameter, place.device);
    }
    if (place.device < 0 || place.too_short) {
        return softnpu_fail(ACLNN_ERR_PARAM_INVALID,
                            "softnpu: %s: parameter %zu lies at %p, %s", operator, parameter,
                            tensor->data,
                            place.device < 0 ? "which is not NPU memory"
                                             : "and reaches out of the NPU memory there");
    }
    tensor->elements = place.bytes;
    return ACL_SUCCESS;
}

/* The caller releases the shape with C++'s delete[], which is free() for it. */
EXPORT aclError aclGetViewShape(const softnpu_tensor *given, int64_t **shape, uint64_t *rank) {
    const softnpu_tensor *tensor = softnpu_find(given, MAGIC_TENSOR);
    if (!tensor || !shape || !rank) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: aclGetViewShape: no tensor, or no result");
    }
    bool known = tensor->result_rank >= 0;
    int32_t length = known ? tensor->result_rank : tensor->rank;
    *shape = malloc(((size_t)length + 1) * sizeof **shape);
    if (!*shape) {
        return ACL_ERROR_BAD_ALLOC;
    }
    *rank = (uint64_t)length;
    memcpy(*shape, known ? tensor->result_shape : tensor->shape, (size_t)length * sizeof **shape);
    return ACL_SUCCESS;
}

EXPORT softnpu_scalar *aclCreateScalar(const void *value, int dtype) {
    size_t size = (size_t)softnpu_bits(dtype) / 8;
    if (!value || size == 0) {
        softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: aclCreateScalar: no value, or unknown dtype %d",
                     dtype);
        return NULL;
    }
    softnpu_scalar *made = softnpu_new(MAGIC_SCALAR, NULL);
    if (made) {
        made->dtype = dtype;
        memcpy(made->value.bytes, value, size);
    }
    return made;
}

EXPORT aclError aclDestroyScalar(softnpu_scalar *scalar) {
    return !scalar || softnpu_destroy(scalar, MAGIC_SCALAR)
               ? ACL_SUCCESS
               : softnpu_fail(ACLNN_ERR_PARAM_INVALID, "softnpu: %p is not a scalar", (void *)scalar);
}

/* A list owns its members, as CANN documents. */
static void clear_array(void *pointer) {
    softnpu_array *old = pointer;
    for (uint64_t i = 0; i < old->length && (old->kind == 'L' || old->kind == 'Z'); i++) {
        softnpu_destroy(((void **)old->items)[i], old->kind == 'L' ? MAGIC_TENSOR : MAGIC_SCALAR);
    }
    free(old->items);
}

static softnpu_array *make_array(const void *items, uint64_t length, size_t item_size, char kind) {
    enum { MOST = 1 << 24 }; /* no call has more; a length beyond it is a mistake */
    softnpu_array *made = NULL;
    void *copy = length <= MOST && (items || length == 0) ? malloc(length * item_size + 1) : NULL;
    if (!copy) {
        softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: cannot make an array of %llu items from %p",
                     (unsigned long long)length, items);
    } else if (!(made = softnpu_new(MAGIC_ARRAY, clear_array))) {
        free(copy);
    } else {
        made->kind = kind;
        made->items = copy;
        made->length = length;
        memcpy(made->items, items ? items : copy, length * item_size);
    }
    return made;
}

static aclError drop_array(softnpu_array *array, char kind) {
    if (!array) {
        return ACL_SUCCESS;
    }
    softnpu_array *known = softnpu_find(array, MAGIC_ARRAY);
    return known && known->kind == kind && softnpu_destroy(known, MAGIC_ARRAY)
               ? ACL_SUCCESS
               : softnpu_fail(ACLNN_ERR_PARAM_INVALID, "softnpu: %p is not such an array", (void *)array);
}

EXPORT softnpu_array *aclCreateIntArray(const int64_t *items, uint64_t length) {
    return make_array(items, length, sizeof *items, 'I');
}
EXPORT softnpu_array *aclCreateFloatArray(const float *items, uint64_t length) {
    return make_array(items, length, sizeof *items, 'F');
}
EXPORT softnpu_array *aclCreateBoolArray(const bool *items, uint64_t length) {
    return make_array(items, length, sizeof *items, 'B');
}
EXPORT softnpu_array *aclCreateTensorList(softnpu_tensor *const *items, uint64_t length) {
    return make_array(items, length, sizeof *items, 'L');
}
EXPORT softnpu_array *aclCreateScalarList(softnpu_scalar *const *items, uint64_t length) {
    return make_array(items, length, sizeof *items, 'Z');
}
EXPORT aclError aclDestroyIntArray(softnpu_array *array) { return drop_array(array, 'I'); }
EXPORT aclError aclDestroyFloatArray(softnpu_array *array) { return drop_array(array, 'F'); }
EXPORT aclError aclDestroyBoolArray(softnpu_array *array) { return drop_array(array, 'B'); }
EXPORT aclError aclDestroyTensorList(softnpu_array *list) { return drop_array(list, 'L'); }
EXPORT aclError aclDestroyScalarList(softnpu_array *list) { return drop_array(list, 'Z'); }
