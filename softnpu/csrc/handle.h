/* Handles that torch_npu makes for the arguments of an operator. */
#ifndef SOFTNPU_HANDLE_H
#define SOFTNPU_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "pool.h"

enum {
    MAGIC_TENSOR = 0x4e544e53,
    MAGIC_SCALAR = 0x4353534e,
    MAGIC_ARRAY = 0x5241534e,
};

enum { SOFTNPU_USUAL_RANK = 8 }; /* more is kept elsewhere */
typedef struct {
    softnpu_handle handle;
    int32_t dtype;
    int32_t format;
    int32_t rank;
    int64_t offset;         /* elements */
    int64_t storage_length; /* elements in the storage */
    void *data;             /* start of the storage, as the host names it */
    char *elements;         /* the same, as kernels reach it; set when it has been checked */
    int64_t *shape;
    int64_t *strides;
    int64_t *result_shape;  /* set by a kernel whose output shape depends on data */
    int32_t result_rank;
    int64_t usual[2 * SOFTNPU_USUAL_RANK];
} softnpu_tensor;

typedef struct {
    softnpu_handle handle;
    int32_t dtype;
    union {
        uint8_t bytes[16];
        double complex_parts[2];
    } value;
} softnpu_scalar;

typedef struct {
    softnpu_handle handle;
    char kind; /* as in softnpu_operator */
    uint64_t length;
    void *items;
} softnpu_array; /* int64, bool, float arrays; tensor and scalar lists hold pointers */

EXPORT softnpu_tensor *aclCreateTensor(const int64_t *shape, uint64_t rank, int dtype,
                                       const int64_t *strides, int64_t offset, int format,
                                       const int64_t *storage_shape, uint64_t storage_rank,
                                       void *data);
EXPORT softnpu_array *aclCreateTensorList(softnpu_tensor *const *items, uint64_t length);
EXPORT aclError aclDestroyTensorList(softnpu_array *list);

/* Bits of an element of an aclDataType, 0 for an unknown one. */
int softnpu_bits(int dtype);
/* The last element that a view with elements reaches; false where it is beyond counting, or steps
 * go back. */
bool softnpu_last_element(const softnpu_tensor *tensor, int64_t *last);
/* Whether a tensor lies inside device memory; a code and a message if not. */
aclError softnpu_check_tensor(softnpu_tensor *tensor, const char *operator, size_t parameter);

#endif
