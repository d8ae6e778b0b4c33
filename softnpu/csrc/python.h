/* The few functions of CPython's stable ABI that are needed, declared here so that building
 * asks for no Python headers; weak, so that a program without Python can load the library
 * and gets an error instead. */
#ifndef SOFTNPU_PYTHON_H
#define SOFTNPU_PYTHON_H

#include <stdint.h>

typedef struct object object;
#define PYTHON extern __attribute__((weak))
PYTHON int Py_IsInitialized(void);
PYTHON int PyGILState_Ensure(void);
PYTHON void PyGILState_Release(int);
PYTHON object *PyGILState_GetThisThreadState(void);
PYTHON object *PyEval_SaveThread(void);
PYTHON void PyEval_RestoreThread(object *);
PYTHON int PyGILState_Check(void);
PYTHON object *PyImport_ImportModule(const char *);
PYTHON object *PyObject_GetAttrString(object *, const char *);
PYTHON object *PyObject_Call(object *, object *, object *);
PYTHON object *PyObject_CallFunction(object *, const char *, ...);
PYTHON object *PyObject_CallFunctionObjArgs(object *, ...);
PYTHON object *PyObject_CallObject(object *, object *);
PYTHON int PyObject_IsTrue(object *);
PYTHON object *PyObject_Repr(object *);
PYTHON void PyErr_Fetch(object **, object **, object **);
PYTHON void PyErr_NormalizeException(object **, object **, object **);
PYTHON void PyErr_Restore(object *, object *, object *);
PYTHON void PyErr_Clear(void);
PYTHON object *PyErr_Format(object *, const char *, ...);
PYTHON object *PyExc_NotImplementedError;
PYTHON int PyErr_ExceptionMatches(object *);
PYTHON void PyErr_SetObject(object *, object *);
PYTHON object *PyExc_Exception;
PYTHON object *PyObject_Type(object *);
PYTHON void PyException_SetTraceback(object *, object *);
PYTHON int PyThreadState_SetAsyncExc(unsigned long, object *);
PYTHON unsigned long PyThread_get_thread_ident(void);
PYTHON int PyErr_SetInterruptEx(int);
PYTHON int PyErr_CheckSignals(void);
PYTHON int Py_AddPendingCall(int (*)(void *), void *);
PYTHON object *PyTuple_New(intptr_t);
PYTHON int PyTuple_SetItem(object *, intptr_t, object *);
PYTHON object *PyTuple_GetItem(object *, intptr_t);
PYTHON intptr_t PyTuple_Size(object *);
PYTHON object *PyDict_New(void);
PYTHON int PyDict_SetItem(object *, object *, object *);
PYTHON object *PyLong_FromLongLong(long long);
PYTHON object *PyLong_FromUnsignedLongLong(unsigned long long);
PYTHON long long PyLong_AsLongLong(object *);
PYTHON object *PyFloat_FromDouble(double);
PYTHON object *PyComplex_FromDoubles(double, double);
PYTHON object *PyBool_FromLong(long);
PYTHON object *PyUnicode_FromString(const char *);
PYTHON object *PyUnicode_AsUTF8String(object *);
PYTHON char *PyBytes_AsString(object *);
PYTHON object *PyCapsule_New(void *, const char *, void (*)(object *));
PYTHON object *Py_BuildValue(const char *, ...);
PYTHON void Py_DecRef(object *);
PYTHON void Py_IncRef(object *);

static inline void forget(object *value) {
    if (value) {
        Py_DecRef(value);
    }
}

#endif
