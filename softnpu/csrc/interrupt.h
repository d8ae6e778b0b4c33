/* Signals and exceptions that reach a thread inside a kernel. */
#ifndef SOFTNPU_INTERRUPT_H
#define SOFTNPU_INTERRUPT_H

#include <stdbool.h>

#include "python.h"

void softnpu_enter_kernel(void); /* both with Python's lock */
void softnpu_leave_kernel(void);
bool softnpu_inside_kernel(void); /* this thread: a signal handler or a finalizer asks */

/* What ended a kernel and is no error of the kernel's: a SystemExit, or pytest's failure, raised by
 * a signal handler inside it. An AscendCL call can only fail; it comes again after the backlog. */
void softnpu_keep_interrupt(object *exception, object *trace);
void softnpu_deliver_interrupt(void); /* to the program, with the signals that came in a kernel */

#endif
