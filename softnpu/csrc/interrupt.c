/* What reaches a thread inside a kernel, and comes again when the kernel and the backlog are done. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "interpreter.h"
#include "interrupt.h"
#include "python.h"

static __thread int inside; /* kernels that this thread runs: one in another's signal handler */
static __thread uint64_t deferred; /* signals */
static __thread object *interrupt; /* the first since it was delivered last */

bool softnpu_inside_kernel(void) { return inside > 0; }

static bool is_main_thread(void) { return getpid() == syscall(SYS_gettid); }

/* For softnpu/signals.py too: whether this signal comes again, after the kernel. */
EXPORT int softnpu_defer_signal(int number) {
    uint64_t signal = UINT64_C(1) << (number - 1);
    bool defer = inside > 0 && !(deferred & signal);
    deferred = defer ? deferred | signal : deferred & ~signal;
    return defer;
}

static struct sigaction before; /* Python's own handler of Ctrl-C, below the program's */

static void on_interrupt(int number, siginfo_t *information, void *context) {
    if (!is_main_thread()) { /* it is the one in which Python's handlers run */
        syscall(SYS_tgkill, getpid(), getpid(), number);
    } else if (!softnpu_defer_signal(number)) {
        if (before.sa_flags & SA_SIGINFO) {
            before.sa_sigaction(number, information, context);
        } else {
            before.sa_handler(number);
        }
    }
}

/* Called by softnpu/bridge.py while aclInit runs. A handler that the program sets later takes the
 * place of this one. */
EXPORT void softnpu_defer_interrupts(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_sigaction != on_interrupt &&
        now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
        before = now;
        now.sa_sigaction = on_interrupt;
        now.sa_flags |= SA_SIGINFO;
        sigaction(SIGINT, &now, NULL);
    }
}

void softnpu_keep_interrupt(object *exception, object *trace) {
    if (interrupt) {
        return;
    }
    if (trace) {
        PyException_SetTraceback(exception, trace);
    }
    Py_IncRef(exception);
    interrupt = exception;
}

void softnpu_enter_kernel(void) {
    object *type = NULL, *value = NULL, *trace = NULL;
    inside++;
    /* What came before the kernel would reach its handler at the kernel's first line. */
    if (PyErr_CheckSignals()) {
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        softnpu_keep_interrupt(value, trace);
        forget(type), forget(value), forget(trace);
    }
}

void softnpu_leave_kernel(void) { inside--; }

static int raise_again(void *exception) {
    if (inside) { /* the next kernel has begun */
        softnpu_keep_interrupt(exception, NULL);
        forget(exception);
        return 0;
    }
    object *type = PyObject_Type(exception);
    PyErr_SetObject(type, exception);
    forget(type), forget(exception);
    return -1;
}

void softnpu_deliver_interrupt(void) {
    if (inside) {
        return;
    }
    uint64_t again = deferred;
    deferred = 0;
    for (int number = 1; again; number++, again >>= 1) {
        if (again & 1) {
            PyErr_SetInterruptEx(number);
        }
    }
    object *given = interrupt;
    if (!given) {
        return;
    }
    interrupt = NULL;
    if (is_main_thread()) {
        interrupt = softnpu_call_later(raise_again, given) ? NULL : given;
        return;
    }
    int lock_state = PyGILState_Ensure(); /* pending calls are the main thread's */
    object *type = PyObject_Type(given);
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
    forget(type), forget(given);
    PyGILState_Release(lock_state);
}
