/* The Python interpreter: whether it is there, and how a thread enters and leaves it. */
#ifndef SOFTNPU_INTERPRETER_H
#define SOFTNPU_INTERPRETER_H

#include <stdbool.h>

#include "python.h"

extern object *softnpu_none; /* Python's None, from the first visit on */

bool softnpu_python_is_there(void);
bool softnpu_is_python_thread(void);
void *softnpu_leave_python(void); /* lets other threads have the interpreter, if this one has it */
void softnpu_return_to_python(void *state);
/* By the main thread, with Python's lock, when it comes to it; false if it will not. */
bool softnpu_call_later(int (*function)(void *), void *argument);

/* What a thread brings into Python, given back when it leaves. */
typedef struct {
    int lock_state;
    object *dynamo;
} softnpu_visit;
softnpu_visit softnpu_begin_visit(void);
void softnpu_end_visit(softnpu_visit visit);

#endif
