/* Streams and events. An operator runs inside the call that launches it, so a
 * stream never has a backlog and an event is complete once it is recorded. */
#include <stdlib.h>
#include <time.h>

#include "softnpu.h"

typedef struct {
    uint32_t magic;
    int32_t id;
} stream;

typedef struct {
    uint32_t magic;
    bool recorded;
    struct timespec when;
} event;

static int32_t next_stream_id = 1;

EXPORT aclError aclrtCreateStream(void **result) {
    stream *made = calloc(1, sizeof *made);
    if (!result || !made) {
        free(made);
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: cannot make a stream");
    }
    made->magic = MAGIC_STREAM;
    made->id = __sync_fetch_and_add(&next_stream_id, 1);
    *result = made;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtCreateStreamWithConfig(void **result, uint32_t priority, uint32_t flags) {
    (void)priority, (void)flags;
    return aclrtCreateStream(result);
}

EXPORT aclError aclrtDestroyStream(void *handle) {
    stream *old = handle;
    if (!old || old->magic != MAGIC_STREAM) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p is not a stream", handle);
    }
    old->magic = 0;
    free(old);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtDestroyStreamForce(void *handle) { return aclrtDestroyStream(handle); }

EXPORT aclError aclrtStreamGetId(void *handle, int32_t *id) {
    *id = handle ? ((stream *)handle)->id : 0;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtStreamQuery(void *handle, int *status) {
    enum { COMPLETE };
    (void)handle;
    *status = COMPLETE;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSynchronizeStream(void *handle) { return (void)handle, ACL_SUCCESS; }

EXPORT aclError aclrtSynchronizeStreamWithTimeout(void *handle, int32_t milliseconds) {
    return (void)handle, (void)milliseconds, ACL_SUCCESS;
}

EXPORT aclError aclrtSetStreamFailureMode(void *handle, uint64_t mode) {
    return (void)handle, (void)mode, ACL_SUCCESS;
}

EXPORT aclError aclrtSetStreamAttribute(void *handle, int attribute, void *value) {
    return (void)handle, (void)attribute, (void)value, ACL_SUCCESS;
}

EXPORT aclError aclrtSetStreamOverflowSwitch(void *handle, uint32_t flag) {
    return (void)handle, (void)flag, ACL_SUCCESS;
}

EXPORT aclError aclrtGetStreamOverflowSwitch(void *handle, uint32_t *flag) {
    *flag = 0;
    return (void)handle, ACL_SUCCESS;
}

EXPORT aclError aclrtCreateEventWithFlag(void **result, uint32_t flags) {
    (void)flags;
    event *made = calloc(1, sizeof *made);
    if (!result || !made) {
        free(made);
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: cannot make an event");
    }
    made->magic = MAGIC_EVENT;
    *result = made;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtCreateEventExWithFlag(void **result, uint32_t flags) {
    return aclrtCreateEventWithFlag(result, flags);
}

static event *as_event(void *handle) {
    event *known = handle;
    return known && known->magic == MAGIC_EVENT ? known : NULL;
}

static aclError not_an_event(void *handle) {
    return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p is not an event", handle);
}

EXPORT aclError aclrtDestroyEvent(void *handle) {
    event *old = as_event(handle);
    if (!old) {
        return not_an_event(handle);
    }
    old->magic = 0;
    free(old);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtRecordEvent(void *handle, void *on_stream) {
    event *known = as_event(handle);
    (void)on_stream;
    if (!known) {
        return not_an_event(handle);
    }
    clock_gettime(CLOCK_MONOTONIC, &known->when);
    known->recorded = true;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtResetEvent(void *handle, void *on_stream) {
    (void)on_stream;
    return as_event(handle) ? ACL_SUCCESS : not_an_event(handle);
}

EXPORT aclError aclrtStreamWaitEvent(void *on_stream, void *handle) {
    (void)on_stream;
    return as_event(handle) ? ACL_SUCCESS : not_an_event(handle);
}

EXPORT aclError aclrtSynchronizeEvent(void *handle) {
    return as_event(handle) ? ACL_SUCCESS : not_an_event(handle);
}

EXPORT aclError aclrtQueryEventStatus(void *handle, int *status) {
    enum { NOT_READY, COMPLETE };
    event *known = as_event(handle);
    if (!known) {
        return not_an_event(handle);
    }
    *status = known->recorded ? COMPLETE : NOT_READY;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtQueryEventWaitStatus(void *handle, int *status) {
    enum { WAIT_COMPLETE };
    *status = WAIT_COMPLETE;
    return as_event(handle) ? ACL_SUCCESS : not_an_event(handle);
}

EXPORT aclError aclrtEventElapsedTime(float *milliseconds, void *start, void *end) {
    event *first = as_event(start), *last = as_event(end);
    if (!first || !last || !first->recorded || !last->recorded) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: both events must have been recorded");
    }
    *milliseconds = (float)((double)(last->when.tv_sec - first->when.tv_sec) * 1e3 +
                            (double)(last->when.tv_nsec - first->when.tv_nsec) / 1e6);
    return ACL_SUCCESS;
}

EXPORT aclError aclrtEventGetTimestamp(void *handle, uint64_t *microseconds) {
    event *known = as_event(handle);
    if (!known || !known->recorded) {
        return not_an_event(handle);
    }
    *microseconds = (uint64_t)known->when.tv_sec * 1000000u + (uint64_t)known->when.tv_nsec / 1000u;
    return ACL_SUCCESS;
}
