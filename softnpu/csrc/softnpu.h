/* Shared declarations of the software AscendCL runtime.
 *
 * The C interface of AscendCL is declared here in our own words, from CANN's
 * public headers; only what torch_npu needs. Handles are opaque to callers, so
 * their layout is ours. */
#ifndef SOFTNPU_H
#define SOFTNPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef int aclError;

/* Return codes, with the values of CANN's acl_base.h and aclnn error table. */
enum {
    ACL_SUCCESS = 0,
    ACL_ERROR_INVALID_PARAM = 100000,
    ACL_ERROR_REPEAT_INITIALIZE = 100002,
    ACL_ERROR_RT_PARAM_INVALID = 107000,
    ACL_ERROR_RT_INVALID_DEVICEID = 107001,
    ACL_ERROR_RT_CONTEXT_NULL = 107002,
    ACLNN_ERR_PARAM_NULLPTR = 161001,
    ACL_ERROR_FEATURE_UNSUPPORTED = 200006,
    ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
    ACLNN_ERR_RUNTIME = 361001,
    ACLNN_ERR_NO_KERNEL = 561103,
};

#define SOFTNPU_MAX_DEVICES 16

/* Keeps a message for aclGetRecentErrMsg() of this thread and returns `code`. */
aclError softnpu_fail(aclError code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The device that this thread has set, or -1. */
int softnpu_current_device(void);

/* Bytes a device has in all, and bytes in use on it. */
size_t softnpu_memory_total(void);
size_t softnpu_memory_used(int device);

/* Where the kernels reach the memory behind an address that the host was given. (memory.c) */
void *softnpu_reach(void *address);

/* What the C side of an `aclnn` call needs to know about one operator. The
 * table is generated from operators.tsv together with the trampolines. */
typedef struct {
    const char *name;
    const char *kinds; /* one letter per parameter, see operators.py */
} softnpu_operator;

typedef union {
    void *pointer;
    int64_t integer;
    double real;
} softnpu_slot;

/* Called by the generated trampolines in libopapi.so. */
EXPORT aclError softnpu_prepare(const softnpu_operator *table, int index, const softnpu_slot *slots,
                                uint64_t *workspace_size, void **executor);
EXPORT aclError softnpu_execute(void *executor);

/* Handles that torch_npu makes for the arguments of an operator. */
typedef struct {
    uint32_t magic;
    int32_t dtype;
    int32_t format;
    int32_t rank;
    int64_t offset;         /* elements */
    int64_t storage_length; /* elements in the storage */
    void *data;             /* start of the storage */
    int64_t *shape;         /* rank entries, then rank strides */
    int64_t *strides;
    int64_t *result_shape;  /* set by a kernel whose output shape depends on data */
    int32_t result_rank;
} softnpu_tensor;

typedef struct {
    uint32_t magic;
    int32_t dtype;
    union {
        uint8_t bytes[16];
        double complex_parts[2];
    } value;
} softnpu_scalar;

typedef struct {
    uint32_t magic;
    int32_t item_size; /* bytes an item */
    uint64_t length;
    void *items;
} softnpu_array; /* int64, bool, float arrays; tensor and scalar lists hold pointers */

enum {
    MAGIC_TENSOR = 0x4e544e53,
    MAGIC_SCALAR = 0x4353534e,
    MAGIC_ARRAY = 0x5241534e,
    MAGIC_EXECUTOR = 0x5845534e,
    MAGIC_STREAM = 0x5453534e,
    MAGIC_EVENT = 0x5645534e,
};

/* The bridge to Python (python.c). */
aclError softnpu_python_start(void);
bool softnpu_python_has_kernel(const softnpu_operator *op, int index);
aclError softnpu_python_call(const softnpu_operator *op, int index, const softnpu_slot *slots);

#endif
