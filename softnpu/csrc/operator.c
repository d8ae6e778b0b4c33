/* The two phases of an `aclnn` call. The first keeps the arguments, the second
 * hands them to the operator's Python kernel. */
#include <stdlib.h>
#include <string.h>

#include "softnpu.h"

typedef struct {
    uint32_t magic;
    int index;
    const softnpu_operator *op;
    softnpu_slot slots[]; /* one per parameter */
} executor;

EXPORT aclError softnpu_prepare(const softnpu_operator *table, int index, const softnpu_slot *slots,
                                uint64_t *workspace_size, void **result) {
    const softnpu_operator *op = &table[index];
    if (!workspace_size || !result) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %s: a result pointer is null", op->name);
    }
    if (!softnpu_python_has_kernel(op, index)) {
        return softnpu_fail(ACLNN_ERR_NO_KERNEL,
                            "softnpu has no kernel for the operator %s. This says nothing about a "
                            "chip. Add one in softnpu/kernels (see softnpu/README.md).",
                            op->name);
    }
    size_t count = strlen(op->kinds);
    executor *made = malloc(sizeof *made + count * sizeof *slots);
    if (!made) {
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: the host has no memory left", op->name);
    }
    made->magic = MAGIC_EXECUTOR;
    made->index = index;
    made->op = op;
    memcpy(made->slots, slots, count * sizeof *slots);
    *workspace_size = 0;
    *result = made;
    return ACL_SUCCESS;
}

EXPORT aclError softnpu_execute(void *handle) {
    executor *ready = handle;
    if (!ready || ready->magic != MAGIC_EXECUTOR) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %p is not an executor", handle);
    }
    aclError code = softnpu_python_call(ready->op, ready->index, ready->slots);
    ready->magic = 0;
    free(ready);
    return code;
}

EXPORT aclError aclDestroyAclOpExecutor(void *handle) {
    executor *ready = handle;
    if (ready && ready->magic == MAGIC_EXECUTOR) {
        ready->magic = 0;
        free(ready);
    }
    return ACL_SUCCESS;
}
