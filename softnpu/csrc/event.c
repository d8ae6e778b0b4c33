/* Events: a place in a stream, and the time at which it was reached. */
#include <time.h>

#include "backlog.h"
#include "error.h"
#include "pool.h"
#include "stream.h"

enum { MAGIC_EVENT = 0x5645534e };

typedef struct {
    softnpu_handle handle;
    bool recorded;
    softnpu_stream *stream; /* held; where it was last recorded, */
    uint64_t number;        /* as this task */
    struct timespec when;
} event;

static void clear_event(void *pointer) {
    event *old = pointer;
    if (old->stream) {
        softnpu_release(old->stream);
    }
}

static event *as_event(void *handle) {
    event *known = softnpu_find(handle, MAGIC_EVENT);
    if (!known) {
        softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p is not an event", handle);
    }
    return known;
}

static bool is_complete(const event *known) {
    return known->recorded && softnpu_has_done(known->stream, known->number);
}

EXPORT aclError aclrtCreateEventWithFlag(void **result, uint32_t flags) {
    (void)flags;
    if (!result) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateEvent: the result pointer is null");
    }
    *result = softnpu_new(MAGIC_EVENT, clear_event);
    return *result ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

EXPORT aclError aclrtCreateEventExWithFlag(void **result, uint32_t flags) {
    return aclrtCreateEventWithFlag(result, flags);
}

EXPORT aclError aclrtDestroyEvent(void *handle) {
    return softnpu_destroy(handle, MAGIC_EVENT)
               ? ACL_SUCCESS
               : softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p is not an event", handle);
}

static aclError stamp(softnpu_task *task) {
    clock_gettime(CLOCK_MONOTONIC, &((event *)task->handle)->when);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtRecordEvent(void *handle, void *on_stream) {
    event *known = as_event(handle);
    softnpu_stream *stream = softnpu_stream_of(on_stream);
    if (!known || !stream) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    softnpu_hold(known);
    softnpu_launch(stream, (softnpu_task){.run = stamp, .handle = known});
    softnpu_hold(stream);
    if (known->stream) {
        softnpu_release(known->stream);
    }
    known->stream = stream;
    known->number = softnpu_launched(stream);
    known->recorded = true;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtResetEvent(void *handle, void *on_stream) {
    (void)on_stream;
    return as_event(handle) ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID;
}

static aclError wait_for(softnpu_task *task) {
    return softnpu_advance(task->other, task->number);
}

EXPORT aclError aclrtStreamWaitEvent(void *on_stream, void *handle) {
    event *known = as_event(handle);
    softnpu_stream *stream = softnpu_stream_of(on_stream);
    if (!known || !stream) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (!known->recorded || known->stream == stream) {
        return ACL_SUCCESS;
    }
    softnpu_hold(known->stream);
    return softnpu_launch(
        stream, (softnpu_task){.run = wait_for, .other = known->stream, .number = known->number});
}

EXPORT aclError aclrtSynchronizeEvent(void *handle) {
    event *known = as_event(handle);
    if (!known) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (!known->recorded) {
        return ACL_SUCCESS;
    }
    return softnpu_finish(known->stream, known->number);
}

static aclError query(void *handle, int *status, int complete, int not_ready) {
    event *known = as_event(handle);
    if (!known || !status) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: no event or no place for the answer");
    }
    bool done = known->recorded && softnpu_ask(known->stream, known->number);
    *status = done ? complete : not_ready;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtQueryEventStatus(void *handle, int *status) {
    enum { NOT_READY, COMPLETE };
    return query(handle, status, COMPLETE, NOT_READY);
}

EXPORT aclError aclrtQueryEventWaitStatus(void *handle, int *status) {
    enum { COMPLETE, NOT_READY = 0xffff };
    event *known = as_event(handle);
    if (known && status && !known->recorded) { /* nobody waits for it */
        *status = COMPLETE;
        return ACL_SUCCESS;
    }
    return query(handle, status, COMPLETE, NOT_READY);
}

EXPORT aclError aclrtEventElapsedTime(float *milliseconds, void *start, void *end) {
    event *first = as_event(start), *last = as_event(end);
    if (!milliseconds || !first || !last || !is_complete(first) || !is_complete(last)) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "softnpu: both events must have been recorded and reached");
    }
    *milliseconds = (float)((double)(last->when.tv_sec - first->when.tv_sec) * 1e3 +
                            (double)(last->when.tv_nsec - first->when.tv_nsec) / 1e6);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtEventGetTimestamp(void *handle, uint64_t *microseconds) {
    event *known = as_event(handle);
    if (!known || !microseconds || !is_complete(known)) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: the event was not recorded and reached");
    }
    *microseconds = (uint64_t)known->when.tv_sec * 1000000u + (uint64_t)known->when.tv_nsec / 1000u;
    return ACL_SUCCESS;
}
