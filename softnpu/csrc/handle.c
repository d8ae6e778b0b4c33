/* Handles for the arguments of an operator: tensors, scalars, arrays, lists. */
#include <stdlib.h>
#include <string.h>

#include "softnpu.h"

EXPORT softnpu_tensor *aclCreateTensor(const int64_t *shape, uint64_t rank, int dtype,
                                       const int64_t *strides, int64_t offset, int format,
                                       const int64_t *storage_shape, uint64_t storage_rank,
                                       void *data) {
    softnpu_tensor *made = malloc(sizeof *made + 2 * rank * sizeof(int64_t));
    if (!made) {
        return NULL;
    }
    *made = (softnpu_tensor){.magic = MAGIC_TENSOR,
                             .dtype = dtype,
                             .format = format,
                             .rank = (int32_t)rank,
                             .offset = offset,
                             .storage_length = 1,
                             .data = data,
                             .result_rank = -1};
    made->shape = (int64_t *)(made + 1);
    made->strides = made->shape + rank;
    for (uint64_t i = 0; i < rank; i++) {
        made->shape[i] = shape[i];
        made->strides[i] = strides[i];
    }
    for (uint64_t i = 0; i < storage_rank; i++) {
        made->storage_length *= storage_shape[i];
    }
    return made;
}

EXPORT aclError aclDestroyTensor(softnpu_tensor *tensor) {
    if (!tensor) {
        return ACL_SUCCESS; /* an absent optional argument */
    }
    if (tensor->magic != MAGIC_TENSOR) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %p is not a tensor", (void *)tensor);
    }
    tensor->magic = 0;
    free(tensor->result_shape);
    free(tensor);
    return ACL_SUCCESS;
}

/* The caller releases the shape with C++'s delete[], which is free() for it. */
EXPORT aclError aclGetViewShape(const softnpu_tensor *tensor, int64_t **shape, uint64_t *rank) {
    if (!tensor || tensor->magic != MAGIC_TENSOR) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %p is not a tensor", (void *)tensor);
    }
    bool known = tensor->result_rank >= 0;
    int32_t length = known ? tensor->result_rank : tensor->rank;
    *rank = (uint64_t)length;
    *shape = malloc(((size_t)length + 1) * sizeof **shape);
    memcpy(*shape, known ? tensor->result_shape : tensor->shape, (size_t)length * sizeof **shape);
    return ACL_SUCCESS;
}

static size_t scalar_size(int dtype) {
    switch (dtype) {
    case 2:  /* int8 */
    case 4:  /* uint8 */
    case 12: /* bool */
        return 1;
    case 1:  /* float16 */
    case 6:  /* int16 */
    case 7:  /* uint16 */
    case 27: /* bfloat16 */
        return 2;
    case 0: /* float32 */
    case 3: /* int32 */
    case 8: /* uint32 */
        return 4;
    case 17: /* complex128 */
        return 16;
    default:
        return 8;
    }
}

EXPORT softnpu_scalar *aclCreateScalar(const void *value, int dtype) {
    softnpu_scalar *made = calloc(1, sizeof *made);
    if (made) {
        made->magic = MAGIC_SCALAR;
        made->dtype = dtype;
        memcpy(made->value.bytes, value, scalar_size(dtype));
    }
    return made;
}

EXPORT aclError aclDestroyScalar(softnpu_scalar *scalar) {
    if (!scalar) {
        return ACL_SUCCESS;
    }
    if (scalar->magic != MAGIC_SCALAR) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %p is not a scalar", (void *)scalar);
    }
    scalar->magic = 0;
    free(scalar);
    return ACL_SUCCESS;
}

static softnpu_array *make_array(const void *items, uint64_t length, int32_t item_size) {
    softnpu_array *made = malloc(sizeof *made + length * (size_t)item_size);
    if (made) {
        *made = (softnpu_array){MAGIC_ARRAY, item_size, length, made + 1};
        memcpy(made->items, items, length * (size_t)item_size);
    }
    return made;
}

static aclError drop_array(softnpu_array *array) {
    if (!array) {
        return ACL_SUCCESS;
    }
    if (array->magic != MAGIC_ARRAY) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %p is not an array", (void *)array);
    }
    array->magic = 0;
    free(array);
    return ACL_SUCCESS;
}

EXPORT softnpu_array *aclCreateIntArray(const int64_t *items, uint64_t length) {
    return make_array(items, length, sizeof *items);
}
EXPORT softnpu_array *aclCreateFloatArray(const float *items, uint64_t length) {
    return make_array(items, length, sizeof *items);
}
EXPORT softnpu_array *aclCreateBoolArray(const bool *items, uint64_t length) {
    return make_array(items, length, sizeof *items);
}
EXPORT softnpu_array *aclCreateTensorList(softnpu_tensor *const *items, uint64_t length) {
    return make_array(items, length, sizeof *items);
}
EXPORT softnpu_array *aclCreateScalarList(softnpu_scalar *const *items, uint64_t length) {
    return make_array(items, length, sizeof *items);
}
EXPORT aclError aclDestroyIntArray(softnpu_array *array) { return drop_array(array); }
EXPORT aclError aclDestroyFloatArray(softnpu_array *array) { return drop_array(array); }
EXPORT aclError aclDestroyBoolArray(softnpu_array *array) { return drop_array(array); }

/* A list owns its members, as CANN documents. */
EXPORT aclError aclDestroyTensorList(softnpu_array *list) {
    for (uint64_t i = 0; list && list->magic == MAGIC_ARRAY && i < list->length; i++) {
        aclDestroyTensor(((softnpu_tensor **)list->items)[i]);
    }
    return drop_array(list);
}
EXPORT aclError aclDestroyScalarList(softnpu_array *list) {
    for (uint64_t i = 0; list && list->magic == MAGIC_ARRAY && i < list->length; i++) {
        aclDestroyScalar(((softnpu_scalar **)list->items)[i]);
    }
    return drop_array(list);
}
