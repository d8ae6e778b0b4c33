/* A Python of about forty functions, so that the two phases of an operator can run without an
 * interpreter. Its objects are counted: what a call does not give back is seen after it.
 *
 * Its one kernel reads and writes the whole extent of each tensor, then returns what the input's
 * bytes say: nothing, an error, or result shapes. */
#include "python.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fake_python.h"
#include "values.h"

enum { NUMBER, TUPLE, CAPSULE, VIEW, TEXT, NAMED };

struct object {
    int references, type;
    bool kept; /* the interpreter's own, never freed */
    union {
        long long number;
        struct {
            intptr_t length;
            object **items;
        } tuple; /* also a dictionary: its one value */
        struct {
            void *pointer;
            const char *name;
        } capsule;
    };
};

#define KEPT(name) static object name = {.references = 1, .type = NAMED, .kept = true}
KEPT(the_none);
KEPT(the_module);
KEPT(the_error_type);
KEPT(the_kernel);
KEPT(the_method); /* of a shield */
/* softnpu.bridge's functions, and torch's. */
KEPT(from_dlpack_function);
KEPT(find_kernel_function);
KEPT(make_shield_function);
KEPT(explain_function);
KEPT(flat_shapes_function);
KEPT(set_eval_frame_function);
KEPT(default_device_function);

static const struct {
    const char *name;
    object *function;
} functions[] = {
    {"from_dlpack", &from_dlpack_function},   {"find_kernel", &find_kernel_function},
    {"make_shield", &make_shield_function},   {"explain", &explain_function},
    {"flat_shapes", &flat_shapes_function},   {"set_eval_frame", &set_eval_frame_function},
    {"default_device", &default_device_function},
};

static bool error_is_set;
static long live_objects;
object *PyExc_Exception = &the_error_type, *PyExc_NotImplementedError = &the_error_type;

long fake_python_objects(void) { return live_objects; }

static object *make(int type) {
    object *made = calloc(1, sizeof *made);
    made->references = 1;
    made->type = type;
    live_objects++;
    return made;
}

void Py_IncRef(object *value) {
    if (value) {
        value->references++;
    }
}

void Py_DecRef(object *value) {
    if (!value || --value->references > 0 || value->kept) {
        return;
    }
    if (value->references < 0) {
        violation("an object is released twice", value);
    }
    if (value->type == TUPLE) {
        for (intptr_t i = 0; i < value->tuple.length; i++) {
            Py_DecRef(value->tuple.items[i]);
        }
        free(value->tuple.items);
    } else if (value->type == VIEW) {
        dlpack_drop(value->capsule.pointer);
    }
    live_objects--;
    free(value);
}

int Py_IsInitialized(void) { return 1; }
int PyGILState_Ensure(void) { return 0; }
void PyGILState_Release(int state) { (void)state; }
object *PyGILState_GetThisThreadState(void) { return &the_none; }
object *PyEval_SaveThread(void) { return &the_none; }
void PyEval_RestoreThread(object *state) { (void)state; }
int PyGILState_Check(void) { return 1; }
object *PyImport_ImportModule(const char *name) { return (void)name, &the_module; }
object *PyObject_GetAttrString(object *from, const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return functions[i].function;
        }
    }
    violation("an unknown function of Python is asked for", from);
}
object *PyObject_Type(object *value) { return (void)value, &the_error_type; }
void PyErr_SetObject(object *type, object *value) { (void)type, (void)value, error_is_set = true; }
int Py_AddPendingCall(int (*call)(void *), void *value) {
    call(value);
    error_is_set = false;
    return 0;
}
int PyThreadState_SetAsyncExc(unsigned long thread, object *type) { return (void)thread, (void)type, 1; }
unsigned long PyThread_get_thread_ident(void) { return 1; }
int PyErr_SetInterruptEx(int number) { return (void)number, 0; }
int PyErr_CheckSignals(void) { return 0; }
void PyException_SetTraceback(object *value, object *trace) { (void)value, (void)trace; }
int PyErr_ExceptionMatches(object *type) {
    static unsigned errors;
    return (void)type, ++errors % 3 != 0; /* the others stand for interrupts */
}
void PyErr_Clear(void) { error_is_set = false; }
object *PyErr_Format(object *type, const char *format, ...) {
    (void)type, (void)format;
    error_is_set = true;
    return NULL;
}
void PyErr_Fetch(object **type, object **value, object **trace) {
    *type = &the_error_type;
    *value = make(TEXT);
    *trace = NULL;
    error_is_set = false;
}

void PyErr_NormalizeException(object **type, object **value, object **trace) {
    (void)type, (void)value, (void)trace;
}
void PyErr_Restore(object *type, object *value, object *trace) {
    Py_DecRef(type), Py_DecRef(value), Py_DecRef(trace);
    error_is_set = true;
}

static object *raise_error(void) {
    error_is_set = true;
    return NULL;
}

object *PyObject_Repr(object *of) { return (void)of, make(TEXT); }
object *PyUnicode_AsUTF8String(object *of) { return (void)of, make(TEXT); }
object *PyUnicode_FromString(const char *text) {
    object *made = make(TEXT);
    made->number = (long long)strlen(text); /* reads it, as Python does */
    return made;
}
char *PyBytes_AsString(object *of) {
    static char text[] = "an error of the kernel, with %s and %n";
    return (void)of, text;
}

object *PyTuple_New(intptr_t length) {
    object *made = make(TUPLE);
    made->tuple.length = length;
    made->tuple.items = calloc((size_t)length + 1, sizeof(object *));
    return made;
}
int PyTuple_SetItem(object *tuple, intptr_t i, object *item) {
    if (!item) {
        violation("null was put into a tuple", tuple);
    }
    tuple->tuple.items[i] = item;
    return 0;
}
object *PyTuple_GetItem(object *tuple, intptr_t i) {
    if (tuple->type != TUPLE || i < 0 || i >= tuple->tuple.length) {
        return raise_error();
    }
    return tuple->tuple.items[i];
}
intptr_t PyTuple_Size(object *tuple) {
    if (tuple->type != TUPLE) {
        raise_error();
        return -1;
    }
    return tuple->tuple.length;
}

object *PyLong_FromLongLong(long long value) {
    object *made = make(NUMBER);
    made->number = value;
    return made;
}
object *PyLong_FromUnsignedLongLong(unsigned long long value) {
    return PyLong_FromLongLong((long long)value);
}
object *PyBool_FromLong(long value) { return PyLong_FromLongLong(value); }
long long PyLong_AsLongLong(object *of) {
    if (!of || of->type != NUMBER) {
        raise_error();
        return -1;
    }
    return of->number;
}
object *PyFloat_FromDouble(double value) { return (void)value, make(NUMBER); }
object *PyComplex_FromDoubles(double real, double imaginary) {
    return (void)real, (void)imaginary, make(NUMBER);
}
object *PyCapsule_New(void *pointer, const char *name, void (*destructor)(object *)) {
    (void)destructor;
    object *made = make(CAPSULE);
    made->capsule.pointer = pointer;
    made->capsule.name = name;
    return made;
}
object *Py_BuildValue(const char *format, ...) {
    Py_IncRef(&the_none);
    return (void)format, &the_none;
}
int PyObject_IsTrue(object *of) { return of->number != 0; }
object *PyDict_New(void) { return PyTuple_New(1); }
int PyDict_SetItem(object *dictionary, object *key, object *value) {
    (void)key;
    Py_IncRef(value);
    return PyTuple_SetItem(dictionary, 0, value);
}

static object *new_reference(object *to) {
    Py_IncRef(to);
    return to;
}

/* find_kernel(name): the kernel, its pointwise function or None, whether that is in place. */
object *PyObject_CallFunction(object *function, const char *format, ...) {
    static const char *const pointwise[] = {"aclnnAbs", "aclnnExp", "aclnnMul", "aclnnInplaceMul",
                                            "aclnnMaximum", "aclnnInplaceExp", "aclnnBitwiseAndTensor"};
    bool is_pointwise = false;
    va_list arguments;
    va_start(arguments, format);
    const char *name = va_arg(arguments, const char *);
    va_end(arguments);
    if (function == &default_device_function) { /* the file for aclInit names none */
        return PyLong_FromLongLong(-1);
    }
    if (function != &find_kernel_function) {
        violation("an unknown function was called", function);
    }
    for (size_t i = 0; i < sizeof pointwise / sizeof *pointwise; i++) {
        is_pointwise |= strcmp(pointwise[i], name) == 0;
    }
    object *found = PyTuple_New(3), *in_place = PyLong_FromLongLong(strstr(name, "Inplace") != NULL);
    PyTuple_SetItem(found, 0, new_reference(&the_kernel));
    PyTuple_SetItem(found, 1, new_reference(is_pointwise ? &the_kernel : &the_none));
    PyTuple_SetItem(found, 2, in_place);
    found->kept = true; /* the library keeps it for good */
    live_objects -= 2;
    return found;
}

/* from_dlpack takes the capsule's tensor over, also where it raises: torch's importer does so. */
static object *view_of(object *capsule) {
    object *view = make(VIEW);
    view->capsule.pointer = capsule->capsule.pointer;
    if (below(64) == 63) {
        Py_DecRef(view);
        return raise_error();
    }
    return view;
}

object *PyObject_CallFunctionObjArgs(object *function, ...) {
    va_list arguments;
    va_start(arguments, function);
    object *first = va_arg(arguments, object *), *second = first ? va_arg(arguments, object *) : NULL;
    va_end(arguments);
    if (function == &from_dlpack_function) {
        return view_of(first);
    }
    if (function == &flat_shapes_function) { /* the kernel has returned them flat */
        return new_reference(second);
    }
    if (function != &explain_function && function != &set_eval_frame_function) {
        violation("an unknown function was called", function);
    }
    return function == &explain_function ? make(TEXT) : new_reference(&the_none);
}

/* The bridge numbers the parameters and counts the sizes; a kernel chooses which and what. */
static object *result_shapes(intptr_t parameters) {
    intptr_t parameter = below((unsigned)parameters), rank = below(4);
    object *shapes = PyTuple_New(2 + rank);
    PyTuple_SetItem(shapes, 0, PyLong_FromLongLong(parameter));
    PyTuple_SetItem(shapes, 1, PyLong_FromLongLong(rank));
    for (intptr_t i = 0; i < rank; i++) {
        PyTuple_SetItem(shapes, 2 + i, PyLong_FromLongLong(any_integer()));
    }
    return shapes;
}

static void touch(object *value) {
    if (value->type == TUPLE) {
        for (intptr_t i = 0; i < value->tuple.length; i++) {
            touch(value->tuple.items[i]);
        }
    } else if (value->type == VIEW) {
        dlpack_touch(value->capsule.pointer);
    }
}

object *PyObject_CallObject(object *function, object *arguments) {
    if (function == &make_shield_function) {
        object *methods = PyTuple_New(4);
        for (intptr_t i = 0; i < 4; i++) {
            PyTuple_SetItem(methods, i, new_reference(&the_method));
        }
        methods->kept = true; /* the library keeps it for good */
        live_objects--;
        return methods;
    }
    if (function != &the_method || !arguments) {
        violation("an unknown function was called", function);
    }
    return new_reference(&the_none);
}

object *PyObject_Call(object *function, object *arguments, object *keywords) {
    if (function != &the_kernel) {
        violation("an unknown kernel was called", function);
    }
    touch(arguments);
    if (keywords) {
        touch(keywords);
    }
    switch (below(8)) {
    case 0:
        return raise_error();
    case 1:
        return result_shapes(arguments->tuple.length);
    default:
        return new_reference(&the_none);
    }
}
