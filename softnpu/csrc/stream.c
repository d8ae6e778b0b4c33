/* Streams. By default a task runs inside the call that launches it. With SOFTNPU_ASYNC=1, or with
 * torch_npu's own queue on, it waits in its stream until somebody synchronizes: the slowest device that still keeps the
 * order that streams and events ask for. No thread is needed for that, so it is the same in
 * every run. */
#include <stdlib.h>
#include <string.h>

#include "python.h"
#include "stream.h"

enum { BACKLOG = 1024 }; /* a launch into a full stream waits, as on a chip; not the queue thread */

struct softnpu_stream {
    softnpu_handle handle;
    int32_t id;
    int device;
    bool busy;               /* some thread runs the oldest task */
    uint64_t launched, done; /* tasks so far */
    softnpu_task *oldest, *newest;
    aclError error;
    char *message;
    softnpu_stream *next, *previous; /* all streams */
};

static softnpu_stream *all;
static softnpu_stream *own[SOFTNPU_MAX_DEVICES]; /* the stream that NULL names */
static int32_t ids;

static bool is_on(const char *variable) {
    const char *text = getenv(variable);
    return text && *text && strcmp(text, "0") != 0;
}

/* torch_npu's queue thread must never run a kernel: torch_npu waits for it with Python's lock
 * held, which a kernel needs. */
static bool asynchronous(void) { return is_on("SOFTNPU_ASYNC") || is_on("TASK_QUEUE_ENABLE"); }

static void clear_stream(void *pointer) {
    softnpu_stream *old = pointer;
    softnpu_lock();
    *(old->previous ? &old->previous->next : &all) = old->next;
    if (old->next) {
        old->next->previous = old->previous;
    }
    softnpu_unlock();
    free(old->message);
}

static softnpu_stream *make(void) {
    softnpu_stream *made = softnpu_new(MAGIC_STREAM, clear_stream);
    if (made) {
        made->device = softnpu_current_device() < 0 ? 0 : softnpu_current_device();
        softnpu_lock();
        made->id = ++ids;
        made->next = all;
        if (all) {
            all->previous = made;
        }
        all = made;
        softnpu_unlock();
    }
    return made;
}

softnpu_stream *softnpu_stream_of(void *handle) {
    if (handle) {
        softnpu_stream *known = softnpu_find(handle, MAGIC_STREAM);
        if (!known) {
            softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p is not a stream", handle);
        }
        return known;
    }
    int device = softnpu_current_device() < 0 ? 0 : softnpu_current_device();
    if (!own[device]) {
        softnpu_stream *made = make();
        if (made && !__sync_bool_compare_and_swap(&own[device], NULL, made)) {
            softnpu_release(made);
        }
    }
    return own[device];
}

static void let_go(softnpu_task *task) {
    if (task->handle) {
        softnpu_release(task->handle);
    }
    if (task->other) {
        softnpu_release(task->other);
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
    uint64_t launched = ++stream->launched;
    bool full = launched - stream->done > BACKLOG && softnpu_is_python_thread();
    softnpu_unlock();
    if (full) {
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

void softnpu_advance(softnpu_stream *stream, uint64_t number) {
    static __thread int depth; /* a task may wait for another stream */
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

aclError softnpu_stream_error(softnpu_stream *stream) {
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

/* A stream that has something left to run, or an error to tell, held; any device's for -1. */
static softnpu_stream *next_with_work(int device, bool or_error) {
    softnpu_lock();
    softnpu_stream *found = all;
    while (found && ((device >= 0 && found->device != device) || found->handle.references == 0 ||
                     (found->done == found->launched && !(or_error && found->error)))) {
        found = found->next;
    }
    if (found) {
        softnpu_hold(found);
    }
    softnpu_unlock();
    return found;
}

static aclError synchronize(int device, bool take_error) {
    aclError code = ACL_SUCCESS;
    softnpu_stream *stream;
    while (!code && (stream = next_with_work(device, take_error))) {
        softnpu_advance(stream, softnpu_launched(stream));
        code = take_error ? softnpu_stream_error(stream) : ACL_SUCCESS;
        softnpu_release(stream);
    }
    return code;
}

aclError softnpu_synchronize_device(int device) { return synchronize(device, true); }

void softnpu_synchronize_all(void) { synchronize(-1, false); }

EXPORT aclError aclrtCreateStream(void **result) {
    if (!result) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateStream: the result pointer is null");
    }
    *result = make();
    return *result ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

EXPORT aclError aclrtCreateStreamWithConfig(void **result, uint32_t priority, uint32_t flags) {
    (void)priority, (void)flags;
    return aclrtCreateStream(result);
}

EXPORT aclError aclrtDestroyStream(void *handle) {
    softnpu_stream *old = handle ? softnpu_stream_of(handle) : NULL;
    if (!old) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p is not a stream", handle);
    }
    softnpu_advance(old, softnpu_launched(old));
    softnpu_destroy(old, MAGIC_STREAM);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtDestroyStreamForce(void *handle) { return aclrtDestroyStream(handle); }

EXPORT aclError aclrtStreamGetId(void *handle, int32_t *id) {
    softnpu_stream *stream = softnpu_stream_of(handle);
    if (!stream || !id) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamGetId: no stream or no result");
    }
    *id = handle ? stream->id : 0;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtStreamQuery(void *handle, int *status) {
    enum { COMPLETE, NOT_READY };
    softnpu_stream *stream = softnpu_stream_of(handle);
    if (!stream || !status) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamQuery: no stream or no result");
    }
    *status = softnpu_ask(stream, softnpu_launched(stream)) ? COMPLETE : NOT_READY;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSynchronizeStream(void *handle) {
    softnpu_stream *stream = softnpu_stream_of(handle);
    if (!stream) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    softnpu_advance(stream, softnpu_launched(stream));
    return softnpu_stream_error(stream);
}

EXPORT aclError aclrtSynchronizeStreamWithTimeout(void *handle, int32_t milliseconds) {
    (void)milliseconds;
    return aclrtSynchronizeStream(handle);
}

/* Settings of a chip's streams that change nothing here. */
EXPORT aclError aclrtSetStreamFailureMode(void *handle, uint64_t mode) {
    (void)mode;
    return softnpu_stream_of(handle) ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID;
}

EXPORT aclError aclrtSetStreamAttribute(void *handle, int attribute, void *value) {
    (void)attribute, (void)value;
    return softnpu_stream_of(handle) ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID;
}

EXPORT aclError aclrtSetStreamOverflowSwitch(void *handle, uint32_t flag) {
    (void)flag;
    return softnpu_stream_of(handle) ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID;
}

EXPORT aclError aclrtGetStreamOverflowSwitch(void *handle, uint32_t *flag) {
    if (!softnpu_stream_of(handle) || !flag) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *flag = 0;
    return ACL_SUCCESS;
}
