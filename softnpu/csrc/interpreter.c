/* Entering the Python interpreter and leaving it. */
#include <stddef.h>

#include "interpreter.h"
#include "python.h"

object *softnpu_none;
static object *set_eval_frame; /* Dynamo's switch for this thread: returns what was there */

bool softnpu_python_is_there(void) { return Py_IsInitialized && Py_IsInitialized(); }

void *softnpu_leave_python(void) {
    return softnpu_python_is_there() && PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

void softnpu_return_to_python(void *state) {
    if (state) {
        PyEval_RestoreThread(state);
    }
}

bool softnpu_call_later(int (*function)(void *), void *argument) {
    return softnpu_python_is_there() && Py_AddPendingCall(function, argument) == 0;
}

bool softnpu_is_python_thread(void) {
    return softnpu_python_is_there() && PyGILState_GetThisThreadState();
}

/* Dynamo traces each Python function that compiled code calls; not the kernels', nor the imports
 * that come before the first. Its switch is there though Dynamo was never imported. */
static void find_switch(void) {
    softnpu_none = Py_BuildValue("");
    object *dynamo = PyImport_ImportModule("torch._C._dynamo.eval_frame");
    set_eval_frame = dynamo ? PyObject_GetAttrString(dynamo, "set_eval_frame") : NULL;
    forget(dynamo);
    PyErr_Clear();
}

/* A thread that Python does not know keeps one thread state for good: making and deleting one at
 * every call costs more than a small kernel. */
softnpu_visit softnpu_begin_visit(void) {
    bool foreign = !PyGILState_GetThisThreadState();
    softnpu_visit visit = {.lock_state = PyGILState_Ensure()};
    if (foreign) {
        PyEval_SaveThread();
        visit.lock_state = PyGILState_Ensure();
    }
    if (!softnpu_none) {
        find_switch();
    }
    visit.dynamo =
        set_eval_frame ? PyObject_CallFunctionObjArgs(set_eval_frame, softnpu_none, NULL) : NULL;
    return visit;
}

void softnpu_end_visit(softnpu_visit visit) {
    if (visit.dynamo && visit.dynamo != softnpu_none) {
        forget(PyObject_CallFunctionObjArgs(set_eval_frame, visit.dynamo, NULL));
    }
    forget(visit.dynamo);
    PyGILState_Release(visit.lock_state);
}
