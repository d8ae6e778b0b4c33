/* The bridge to the kernels, which are Python functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python.h"

enum { MAX_OPERATORS = 4096 };

static object *find_kernel;  /* softnpu.bridge.find_kernel(name) -> callable or None */
static object *invoke;       /* softnpu.bridge.invoke(kernel, *arguments) */
object *from_dlpack, *none;   /* see python.h */
static object *kernels[MAX_OPERATORS]; /* by operator, resolved at the first call */

/* A thread that Python does not know keeps one thread state for good: making
 * and deleting one at every call costs more than a small kernel. */
static int enter_python(void) {
    bool foreign = !PyGILState_GetThisThreadState();
    int state = PyGILState_Ensure();
    if (foreign) {
        PyEval_SaveThread();
        state = PyGILState_Ensure();
    }
    return state;
}

static aclError python_error(const char *what) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        /* An AscendCL call can only fail; the interrupt comes again after it, to the program. */
        PyErr_Clear();
        PyErr_SetInterrupt();
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: interrupted from the keyboard", what);
    }
    object *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    object *text = value ? PyObject_Str(value) : NULL;
    object *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    const char *message = bytes ? PyBytes_AsString(bytes) : "unknown error";
    softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: %s", what, message);
    forget(bytes), forget(text), forget(type), forget(value), forget(trace);
    PyErr_Clear();
    return ACLNN_ERR_RUNTIME;
}

static bool python_is_there(void) { return Py_IsInitialized && Py_IsInitialized(); }

void *softnpu_leave_python(void) {
    return python_is_there() && PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

void softnpu_return_to_python(void *state) {
    if (state) {
        PyEval_RestoreThread(state);
    }
}

aclError softnpu_python_start(void) {
    if (!python_is_there()) {
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: the kernels need a Python interpreter");
    }
    int state = enter_python();
    object *bridge = PyImport_ImportModule("softnpu.bridge");
    aclError code = ACL_SUCCESS;
    if (bridge) {
        find_kernel = PyObject_GetAttrString(bridge, "find_kernel");
        invoke = PyObject_GetAttrString(bridge, "invoke");
        from_dlpack = PyObject_GetAttrString(bridge, "from_dlpack");
        none = Py_BuildValue("");
    }
    if (!bridge || !find_kernel || !invoke || !from_dlpack) {
        code = python_error("cannot start");
    }
    PyGILState_Release(state);
    return code;
}

bool softnpu_is_python_thread(void) { return python_is_there() && PyGILState_GetThisThreadState(); }

static char *names; /* of the operators with a kernel, each between line ends */

/* Called by softnpu/bridge.py while aclInit runs. */
EXPORT void softnpu_kernel_names(const char *lines) {
    free(names);
    names = strdup(lines);
}

/* Answered without Python: torch_npu's queue thread asks, which must not wait for its lock. */
bool softnpu_python_has_kernel(const softnpu_operator *op, int index) {
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
static void keep_result_shapes(object *shapes, const softnpu_slot *slots) {
    intptr_t length = PyTuple_Size(shapes);
    for (intptr_t at = 0; at + 1 < length;) {
        softnpu_tensor *tensor = slots[PyLong_AsLongLong(PyTuple_GetItem(shapes, at))].pointer;
        int32_t rank = (int32_t)PyLong_AsLongLong(PyTuple_GetItem(shapes, at + 1));
        free(tensor->result_shape);
        tensor->result_shape = malloc(((size_t)rank + 1) * sizeof(int64_t));
        tensor->result_rank = rank;
        for (int32_t i = 0; i < rank; i++) {
            tensor->result_shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shapes, at + 2 + i));
        }
        at += 2 + rank;
    }
}

aclError softnpu_python_call(const softnpu_operator *op, int index, const softnpu_slot *slots) {
    if (!python_is_there()) {
        return softnpu_fail(ACLNN_ERR_RUNTIME, "softnpu: %s: the interpreter has ended", op->name);
    }
    int state = enter_python();
    intptr_t count = (intptr_t)strlen(op->kinds);
    object *arguments = PyTuple_New(count + 1);
    object *result = NULL, *kernel = kernel_of(op, index);
    bool complete = kernel != NULL;
    if (complete) {
        Py_IncRef(kernel);
        PyTuple_SetItem(arguments, 0, kernel);
    }
    for (intptr_t i = 0; i < count && complete; i++) {
        object *argument = softnpu_as_argument(slots[i], op->kinds[i]);
        complete = argument != NULL;
        if (complete) {
            PyTuple_SetItem(arguments, i + 1, argument);
        }
    }
    if (complete) {
        result = PyObject_CallObject(invoke, arguments);
    }
    aclError code = ACL_SUCCESS;
    if (!result) {
        code = python_error(op->name);
    } else if (result != none) {
        keep_result_shapes(result, slots);
    }
    forget(arguments), forget(result);
    PyGILState_Release(state);
    return code;
}
