/* A kernel may run inside any state of the caller's thread: under a default-device or dispatch
 * mode, inside a functorch transform, in inference mode, in a function that torch.compile runs.
 * None of it may reach the torch calls that a kernel makes, so each call is shielded. */
#include <stdlib.h>

#include "interpreter.h"
#include "python.h"
#include "shield.h"

/* Torch's two guards, and their methods, found once: a guard can be entered again after it was
 * left, by any thread. A kernel gives up the interpreter lock, so there is one shield for each
 * thread that is inside a kernel at the same moment. */
typedef struct shield {
    struct shield *next;
    object *methods; /* enter, enter, leave, leave: guards in the order of entering */
} shield;

static shield *idle; /* under the interpreter lock */
static object *make_shield, *no_arguments, *no_exception;

bool softnpu_shield_start(object *bridge) {
    make_shield = PyObject_GetAttrString(bridge, "make_shield");
    no_arguments = PyTuple_New(0);
    no_exception = Py_BuildValue("(OOO)", softnpu_none, softnpu_none, softnpu_none);
    return make_shield && no_arguments && no_exception;
}

static shield *take_shield(void) {
    shield *taken = idle;
    if (taken) {
        idle = taken->next;
        return taken;
    }
    object *methods = PyObject_CallObject(make_shield, no_arguments);
    taken = methods ? malloc(sizeof *taken) : NULL;
    if (taken) {
        taken->methods = methods;
    }
    return taken;
}

static void put_back(shield *used) {
    used->next = idle;
    idle = used;
}

static bool call_method(const shield *of, intptr_t which, object *arguments) {
    object *result = PyObject_CallObject(PyTuple_GetItem(of->methods, which), arguments);
    forget(result);
    return result != NULL;
}

/* Leaves a guard; an error that was there before stays. */
static object *leave(const shield *of, intptr_t which, object *result) {
    object *type = NULL, *value = NULL, *trace = NULL;
    if (!result) {
        PyErr_Fetch(&type, &value, &trace);
    }
    if (!call_method(of, which, no_exception)) {
        forget(result);
        result = NULL;
    }
    if (type) {
        PyErr_Restore(type, value, trace);
    }
    return result;
}

object *softnpu_call_shielded(object *kernel, object *arguments, object *keywords) {
    shield *taken = take_shield();
    if (!taken) {
        return NULL;
    }
    object *result = NULL;
    if (call_method(taken, 0, no_arguments)) {
        if (call_method(taken, 1, no_arguments)) {
            result = PyObject_Call(kernel, arguments, keywords);
            result = leave(taken, 2, result);
        }
        result = leave(taken, 3, result);
    }
    put_back(taken);
    return result;
}
