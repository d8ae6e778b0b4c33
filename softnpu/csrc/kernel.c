/* The way from an operator to its kernel, which is a Python function. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert.h"
#include "direct.h"
#include "error.h"
#include "handle.h"
#include "interpreter.h"
#include "interrupt.h"
#include "kernel.h"
#include "python.h"
#include "shield.h"
#include "signature.h"

enum { MAX_OPERATORS = 4096 };

/* softnpu.bridge's functions of these names */
static object *find_kernel, *explain, *flat_shapes;

/* What find_kernel gives at an operator's first call: the kernel; the pointwise function that it
 * is made of, or None; whether its output is the first parameter and an input too, or the last. */
static object *kernels[MAX_OPERATORS];
static object *out_name;

/* Keeps the message of the Python error for the caller. */
static aclError python_error(const char *what) {
    bool of_kernel = PyErr_ExceptionMatches(PyExc_Exception);
    object *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    object *text =
        explain ? PyObject_CallFunctionObjArgs(explain, value, trace ? trace : softnpu_none, NULL)
                : PyObject_Repr(value);
    object *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    const char *message = bytes ? PyBytes_AsString(bytes) : "unknown error";
    softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: %s", what, message);
    if (!of_kernel && value) {
        softnpu_keep_interrupt(value, trace);
    }
    forget(bytes), forget(text), forget(type), forget(value), forget(trace);
    PyErr_Clear();
    return ACLNN_ERR_RUNTIME;
}

static bool read_config(object *bridge, const char *path, int *default_device) {
    object *reader = PyObject_GetAttrString(bridge, "default_device");
    object *device = reader ? PyObject_CallFunction(reader, "z", path) : NULL;
    if (device) {
        *default_device = (int)PyLong_AsLongLong(device);
    }
    forget(reader), forget(device);
    return device != NULL;
}

aclError softnpu_kernels_start(const char *config_path, int *default_device) {
    if (!softnpu_python_is_there()) {
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: the kernels need a Python interpreter");
    }
    softnpu_visit visit = softnpu_begin_visit();
    aclError code = ACL_SUCCESS;
    out_name = PyUnicode_FromString("out");
    object *bridge = PyImport_ImportModule("softnpu.bridge");
    if (!bridge || !softnpu_shield_start(bridge) || !softnpu_convert_start(bridge) ||
        !(find_kernel = PyObject_GetAttrString(bridge, "find_kernel")) ||
        !(flat_shapes = PyObject_GetAttrString(bridge, "flat_shapes")) ||
        !(explain = PyObject_GetAttrString(bridge, "explain")) ||
        !read_config(bridge, config_path, default_device)) {
        code = python_error("cannot start");
    }
    forget(bridge);
    softnpu_end_visit(visit);
    softnpu_deliver_interrupt();
    return code;
}

static char *names; /* of the operators with a kernel, each between line ends */

/* Called by softnpu/bridge.py while aclInit runs. */
EXPORT void softnpu_kernel_names(const char *lines) {
    free(names);
    names = strdup(lines);
}

/* Answered without Python: torch_npu's queue thread asks, which must not wait for its lock. */
bool softnpu_has_kernel(const softnpu_operator *op, int index) {
    enum { UNKNOWN, YES, NO };
    static char answers[MAX_OPERATORS];
    if (index < 0 || index >= MAX_OPERATORS || !names) {
        return false;
    }
    if (answers[index] == UNKNOWN) {
        char line[256];
        snprintf(line, sizeof line, "\n%s\n", op->name);
        answers[index] = strstr(names, line) ? YES : NO;
    }
    return answers[index] == YES;
}

/* Called with Python's lock. NULL and a Python error if the kernel cannot be had. */
static object *kernel_of(const softnpu_operator *op, int index) {
    if (!kernels[index]) {
        kernels[index] = PyObject_CallFunction(find_kernel, "s", op->name);
    }
    return kernels[index];
}

/* (parameter, rank, sizes...) repeated: shapes that were known only afterwards. */
static void keep_result_shapes(object *shapes, const char *kinds, const softnpu_slot *slots) {
    intptr_t length = PyTuple_Size(shapes);
    for (intptr_t at = 0; at + 1 < length;) {
        long long parameter = PyLong_AsLongLong(PyTuple_GetItem(shapes, at));
        softnpu_tensor *tensor = kinds[parameter] == 'T' ? slots[parameter].pointer : NULL;
        int32_t rank = (int32_t)PyLong_AsLongLong(PyTuple_GetItem(shapes, at + 1));
        at += 2 + rank;
        if (!tensor) { /* an output that the caller does not want */
            continue;
        }
        free(tensor->result_shape);
        tensor->result_shape = malloc(((size_t)rank + 1) * sizeof(int64_t));
        tensor->result_rank = rank;
        for (int32_t i = 0; i < rank; i++) {
            tensor->result_shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shapes, at - rank + i));
        }
    }
}

/* The first `count` arguments; NULL and a Python error where one cannot be made. */
static object *as_arguments(const softnpu_operator *op, const softnpu_slot *slots, intptr_t count) {
    object *arguments = PyTuple_New(count);
    for (intptr_t i = 0; i < count; i++) {
        object *argument = softnpu_as_argument(slots[i], op->kinds[i]);
        if (!argument) {
            forget(arguments);
            return NULL;
        }
        PyTuple_SetItem(arguments, i, argument);
    }
    return arguments;
}

static object *call_pointwise(object *function, const softnpu_operator *op,
                              const softnpu_slot *slots, intptr_t inputs, intptr_t place) {
    object *arguments = as_arguments(op, slots, inputs), *keywords = PyDict_New(), *result = NULL;
    object *out = softnpu_as_argument(slots[place], 'T');
    if (arguments && out && PyDict_SetItem(keywords, out_name, out) == 0) {
        result = softnpu_call_shielded(function, arguments, keywords);
    }
    forget(arguments), forget(keywords), forget(out);
    return result;
}

static object *call_kernel(object *function, const softnpu_operator *op,
                           const softnpu_slot *slots) {
    object *arguments = as_arguments(op, slots, (intptr_t)strlen(op->kinds));
    object *result = arguments ? softnpu_call_shielded(function, arguments, NULL) : NULL;
    forget(arguments);
    if (result && result != softnpu_none) {
        object *flat = PyObject_CallFunctionObjArgs(flat_shapes, function, result, NULL);
        forget(result);
        if (flat) {
            keep_result_shapes(flat, op->kinds, slots);
        }
        return flat;
    }
    return result;
}

static aclError call(const softnpu_operator *op, int index, const softnpu_slot *slots) {
    softnpu_visit visit = softnpu_begin_visit();
    softnpu_enter_kernel();
    object *found = kernel_of(op, index), *result = NULL;
    if (found) {
        object *function = PyTuple_GetItem(found, 1);
        intptr_t last = (intptr_t)strlen(op->kinds) - 1;
        bool in_place = PyObject_IsTrue(PyTuple_GetItem(found, 2)) == 1;
        intptr_t inputs = in_place ? last + 1 : last, place = in_place ? 0 : last;
        result = function != softnpu_none && softnpu_tensors_agree(op, slots, place)
                     ? call_pointwise(function, op, slots, inputs, place)
                     : call_kernel(PyTuple_GetItem(found, 0), op, slots);
    }
    aclError code = result ? ACL_SUCCESS : python_error(op->name);
    forget(result);
    softnpu_leave_kernel();
    softnpu_end_visit(visit);
    return code;
}

/* Up to Python 3.13 an ending interpreter ends a thread that asks for its lock; unwinding that
 * thread through torch's functions would end the process with an error. As in 3.14 it stays. */
static void stay(void *unused) {
    (void)unused;
    for (;;) {
        pause();
    }
}

aclError softnpu_call_kernel(const softnpu_operator *op, int index, const softnpu_slot *slots) {
    if (!softnpu_python_is_there()) {
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: the interpreter has ended", op->name);
    }
    aclError code;
    pthread_cleanup_push(stay, NULL);
    code = call(op, index, slots);
    pthread_cleanup_pop(0);
    return code;
}
