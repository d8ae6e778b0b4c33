/* What waits in a stream. By default nothing: a task runs inside the call that launches it. With
 * SOFTNPU_ASYNC=1, or with torch_npu's own queue on, it waits until somebody synchronizes: the
 * slowest device that still keeps the order that streams and events ask for. No thread is needed
 * for that, so it is the same in every run. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backlog.h"
#include "error.h"
#include "interpreter.h"
#include "interrupt.h"
#include "lock.h"
#include "pool.h"

enum { BACKLOG = 1024 }; /* a launch into a full stream waits, as on a chip; not the queue thread */

static bool is_on(const char *variable) {
    const char *text = getenv(variable);
    return text && *text && strcmp(text, "0") != 0;
}

/* torch_npu's queue thread must never run a kernel: torch_npu waits for it with Python's lock
 * held, which a kernel needs. */
static bool asynchronous(void) { return is_on("SOFTNPU_ASYNC") || is_on("TASK_QUEUE_ENABLE"); }

static void let_go(softnpu_task *task) {
    if (task->handle) {
        softnpu_release(task->handle);
    }
    if (task->other) {
        softnpu_release(task->other);
    }
}

static uint64_t now(void) { /* nanoseconds */
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t tasks_left(softnpu_stream *stream) {
    softnpu_lock();
    uint64_t number = stream->launched - stream->done;
    softnpu_unlock();
    return number;
}

/* torch_npu's queue thread must not wait for room in a full stream: somebody may wait for it with
 * Python's lock, which a kernel needs. So Python's main thread makes room when it has a moment, not
 * for long at a time: other threads may fill the stream for ever. */
static int make_room(void *full) {
    enum { TURN = 10000000 }; /* nanoseconds */
    softnpu_stream *stream = full;
    uint64_t end = now() + TURN;
    while (!softnpu_inside_kernel() && tasks_left(stream) > BACKLOG && now() < end) {
        softnpu_ask(stream, softnpu_launched(stream));
    }
    stream->asked = false;
    softnpu_release(stream);
    return 0;
}

/* What the queue thread does about a stream with so many tasks. It goes slowly where that is not
 * enough, the slower the more there are: then its queue fills too, and holds up who fills it. */
static void ask_for_room(softnpu_stream *stream, uint64_t tasks) {
    if (tasks > BACKLOG && !__atomic_exchange_n(&stream->asked, true, __ATOMIC_ACQ_REL)) {
        softnpu_hold(stream);
        if (!softnpu_call_later(make_room, stream)) {
            stream->asked = false;
            softnpu_release(stream);
        }
    }
    uint64_t over = tasks / (4 * BACKLOG);
    if (over) {
        uint64_t microseconds = 100 * over * over;
        usleep(microseconds < 100000 ? (useconds_t)microseconds : 100000);
    }
}

aclError softnpu_launch(softnpu_stream *stream, softnpu_task task) {
    static int chosen = -1; /* once: a process is one or the other */
    if (chosen < 0) {
        chosen = asynchronous();
    }
    softnpu_task *waiting = chosen ? malloc(sizeof *waiting) : NULL;
    if (!waiting) {
        aclError code = task.run(&task);
        let_go(&task);
        softnpu_deliver_interrupt();
        return code;
    }
    *waiting = task;
    waiting->next = NULL;
    softnpu_lock();
    *(stream->newest ? &stream->newest->next : &stream->oldest) = waiting;
    stream->newest = waiting;
    uint64_t launched = ++stream->launched, tasks = launched - stream->done;
    softnpu_unlock();
    if (!softnpu_is_python_thread()) {
        ask_for_room(stream, tasks);
    } else if (tasks > BACKLOG && !softnpu_inside_kernel()) {
        softnpu_advance(stream, launched - BACKLOG);
    }
    return ACL_SUCCESS;
}

/* Runs the oldest task. Called with the lock, which is open while the task runs. */
static void step(softnpu_stream *stream) {
    softnpu_task *task = stream->oldest;
    stream->oldest = task->next;
    if (!stream->oldest) {
        stream->newest = NULL;
    }
    stream->busy = true;
    softnpu_unlock();
    aclError code = task->run(task);
    let_go(task);
    free(task);
    const char *message = code ? aclGetRecentErrMsg() : NULL;
    softnpu_lock();
    if (code && !stream->error) {
        stream->error = code;
        stream->message = strdup(message ? message : "softnpu: a task failed");
    }
    stream->busy = false;
    stream->done++;
    softnpu_notify();
}

aclError softnpu_advance(softnpu_stream *stream, uint64_t number) {
    static __thread int depth; /* a task may wait for another stream */
    if (softnpu_inside_kernel() && !softnpu_has_done(stream, number)) {
        return softnpu_fail(ACLNN_ERR_RUNTIME,
                            "softnpu: Python code that came in the middle of a kernel, a signal handler "
                            "or a finalizer, cannot wait for the NPU");
    }
    depth++;
    softnpu_hold(stream);
    softnpu_lock();
    while (stream->done < number) {
        if (!stream->busy) {
            step(stream);
            continue;
        }
        /* Another thread runs a task, and its kernel may need what this thread holds. */
        softnpu_unlock();
        void *python = softnpu_leave_python();
        softnpu_lock();
        while (stream->busy && stream->done < number) {
            softnpu_wait();
        }
        softnpu_unlock();
        softnpu_return_to_python(python);
        softnpu_lock();
    }
    softnpu_unlock();
    softnpu_release(stream);
    if (--depth == 0) {
        softnpu_deliver_interrupt();
    }
    return ACL_SUCCESS;
}

uint64_t softnpu_launched(softnpu_stream *stream) {
    softnpu_lock();
    uint64_t number = stream->launched;
    softnpu_unlock();
    return number;
}

bool softnpu_has_done(softnpu_stream *stream, uint64_t number) {
    softnpu_lock();
    bool done = stream->done >= number;
    softnpu_unlock();
    return done;
}

bool softnpu_ask(softnpu_stream *stream, uint64_t number) {
    softnpu_lock();
    bool done = stream->done >= number;
    uint64_t next = stream->done + 1;
    softnpu_unlock();
    if (!done) {
        softnpu_advance(stream, next);
    }
    return done;
}

/* The first error of the tasks that ran since the last call, with its message. */
static aclError take_error(softnpu_stream *stream) {
    softnpu_lock();
    aclError code = stream->error;
    char *message = stream->message;
    stream->error = ACL_SUCCESS;
    stream->message = NULL;
    softnpu_unlock();
    if (code) {
        softnpu_fail(code, "%s", message ? message : "");
    }
    free(message);
    return code;
}

aclError softnpu_finish(softnpu_stream *stream, uint64_t number) {
    aclError code = softnpu_advance(stream, number);
    return code ? code : take_error(stream);
}
