/* The two phases of an `aclnn` call. The first checks and keeps the arguments, the second
 * puts the operator's Python kernel into a stream. */
#include <stdlib.h>
#include <string.h>

#include "backlog.h"
#include "error.h"
#include "handle.h"
#include "kernel.h"
#include "limits.h"
#include "operator.h"
#include "pool.h"
#include "signature.h"
#include "stream.h"

enum { MAGIC_EXECUTOR = 0x5845534e };

typedef struct {
    softnpu_handle handle;
    int index;
    const softnpu_operator *op;
    softnpu_slot *slots; /* one per parameter; what they point to is held */
} executor;

static __thread const char *last_operator;

const char *softnpu_last_operator(void) { return last_operator; }

static void clear_executor(void *pointer) {
    executor *old = pointer;
    for (size_t i = 0; old->slots && old->op->kinds[i]; i++) {
        char kind = old->op->kinds[i];
        if (kind == 's') {
            free(old->slots[i].pointer);
        } else if (strchr(SOFTNPU_HANDLE_KINDS, kind) && old->slots[i].pointer) {
            softnpu_release(old->slots[i].pointer);
        }
    }
    free(old->slots);
}

static aclError check_members(const softnpu_array *list, const char *operator, size_t parameter) {
    for (uint64_t i = 0; i < list->length; i++) {
        void *member = ((void **)list->items)[i];
        void *known = softnpu_find(member, list->kind == 'L' ? MAGIC_TENSOR : MAGIC_SCALAR);
        if (member && !known) {
            return softnpu_fail(ACLNN_ERR_PARAM_INVALID,
                                "softnpu: %s: member %llu of parameter %zu is no live handle", operator,
                                (unsigned long long)i, parameter);
        }
        aclError code = known && list->kind == 'L' ? softnpu_check_tensor(known, operator, parameter)
                                                   : ACL_SUCCESS;
        if (code) {
            return code;
        }
    }
    return ACL_SUCCESS;
}

/* Whether what a live handle stands for lies in NPU memory, or is made of live handles. */
static aclError check_content(void *known, char kind, const char *operator, size_t parameter) {
    if (known && kind == 'T') {
        return softnpu_check_tensor(known, operator, parameter);
    }
    return known && (kind == 'L' || kind == 'Z') ? check_members(known, operator, parameter)
                                                 : ACL_SUCCESS;
}

/* Whether an argument is what its parameter wants: absent, or live, of its kind, in NPU memory. */
static aclError check(void *argument, char kind, const char *operator, size_t parameter) {
    uint32_t magic = kind == 'T' ? MAGIC_TENSOR : kind == 'S' ? MAGIC_SCALAR : MAGIC_ARRAY;
    void *known = argument ? softnpu_find(argument, magic) : NULL;
    bool is_array = known && magic == MAGIC_ARRAY;
    if (argument && (!known || (is_array && ((softnpu_array *)known)->kind != kind))) {
        return softnpu_fail(ACLNN_ERR_PARAM_INVALID,
                            "softnpu: %s: parameter %zu, %p, is no live handle of its kind", operator,
                            parameter, argument);
    }
    return check_content(known, kind, operator, parameter);
}

static aclError check_all(const softnpu_operator *op, const softnpu_slot *slots) {
    aclError code = ACL_SUCCESS;
    for (size_t i = 0; op->kinds[i] && !code; i++) {
        if (strchr(SOFTNPU_HANDLE_KINDS, op->kinds[i])) {
            code = check(slots[i].pointer, op->kinds[i], op->name, i);
        }
    }
    return code;
}

EXPORT aclError softnpu_no_kernel(const char *operator) {
    return softnpu_fail(ACLNN_ERR_NO_KERNEL,
                        "softnpu has no kernel for the operator %s. This says nothing about a chip. "
                        "Add one in softnpu/kernels (see softnpu/README.md).",
                        operator);
}

EXPORT aclError softnpu_prepare(const softnpu_operator *table, int index, const softnpu_slot *slots,
                                uint64_t *workspace_size, void **result) {
    const softnpu_operator *op = &table[index];
    last_operator = op->name;
    if (!workspace_size || !result) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %s: a result pointer is null", op->name);
    }
    if (!softnpu_has_kernel(op, index)) {
        return softnpu_no_kernel(op->name);
    }
    size_t count = strlen(op->kinds);
    aclError refused = softnpu_check_process();
    if (!refused) {
        refused = check_all(op, slots);
    }
    if (!refused) {
        refused = softnpu_check_limits(op, slots);
    }
    if (refused) {
        return refused;
    }
    softnpu_slot *copy = malloc(count * sizeof *copy + 1);
    executor *made = copy ? softnpu_new(MAGIC_EXECUTOR, clear_executor) : NULL;
    if (!made) {
        free(copy);
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: the host has no memory left", op->name);
    }
    made->index = index;
    made->op = op;
    made->slots = memcpy(copy, slots, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        if (op->kinds[i] == 's') {
            copy[i].pointer = copy[i].pointer ? strdup(copy[i].pointer) : NULL;
        } else if (strchr(SOFTNPU_HANDLE_KINDS, op->kinds[i]) && copy[i].pointer) {
            softnpu_hold(copy[i].pointer);
        }
    }
    *workspace_size = 0;
    *result = made;
    return ACL_SUCCESS;
}

static aclError run(softnpu_task *task) {
    executor *ready = task->handle;
    last_operator = ready->op->name;
    return softnpu_call_kernel(ready->op, ready->index, ready->slots);
}

/* Again what was checked in the first phase: memory may have been freed since. */
static aclError check_memory(const executor *ready) {
    const softnpu_operator *op = ready->op;
    aclError code = ACL_SUCCESS;
    for (size_t i = 0; op->kinds[i] && !code; i++) {
        code = check_content(ready->slots[i].pointer, op->kinds[i], op->name, i);
    }
    return code;
}

static uint64_t launches;

EXPORT aclError softnpu_execute(void *handle, void *on_stream) {
    executor *ready = softnpu_find(handle, MAGIC_EXECUTOR);
    if (!ready) {
        return softnpu_fail(ACLNN_ERR_PARAM_NULLPTR, "softnpu: %p is not an executor", handle);
    }
    softnpu_stream *stream = softnpu_stream_of(on_stream);
    if (!stream) {
        return ACLNN_ERR_PARAM_INVALID;
    }
    softnpu_hold(ready);
    aclError code = check_memory(ready);
    softnpu_destroy(ready, MAGIC_EXECUTOR); /* an executor runs once */
    if (code) {
        softnpu_release(ready);
        return code;
    }
    __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
    return softnpu_launch(stream, (softnpu_task){.run = run, .handle = ready});
}

EXPORT uint64_t softnpu_launches(void) { return __atomic_load_n(&launches, __ATOMIC_RELAXED); }

EXPORT aclError aclDestroyAclOpExecutor(void *handle) {
    return !handle || softnpu_destroy(handle, MAGIC_EXECUTOR)
               ? ACL_SUCCESS
               : softnpu_fail(ACLNN_ERR_PARAM_INVALID, "softnpu: %p is not an executor", handle);
}
