/* Streams: their handles, and the calls that name one. What waits in them: backlog.c. */
#include <stdlib.h>

#include "backlog.h"
#include "device.h"
#include "error.h"
#include "lock.h"
#include "pool.h"
#include "stream.h"

enum { MAGIC_STREAM = 0x5453534e };

static softnpu_stream *all;
static softnpu_stream *own[SOFTNPU_MAX_DEVICES]; /* the stream that NULL names */
static int32_t ids;

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

typedef struct {
    softnpu_stream *stream; /* held */
    uint64_t number;
} goal;

/* The streams of a device, of any device for -1, with what is launched now: others may launch more
 * for as long as they like. */
static size_t goals_of(int device, goal **goals) {
    size_t count = 0, used = 0;
    softnpu_lock();
    for (softnpu_stream *stream = all; stream; stream = stream->next) {
        count++;
    }
    *goals = malloc(count * sizeof **goals + 1);
    for (softnpu_stream *stream = *goals ? all : NULL; stream; stream = stream->next) {
        if ((device < 0 || stream->device == device) && stream->handle.references > 0) {
            softnpu_hold(stream);
            (*goals)[used++] = (goal){stream, stream->launched};
        }
    }
    softnpu_unlock();
    return used;
}

/* The first error there is stays in its stream, if it is not taken. */
static aclError synchronize(int device, bool take_error) {
    goal *goals;
    size_t count = goals_of(device, &goals);
    aclError code = goals ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
    for (size_t i = 0; i < count; i++) {
        softnpu_stream *stream = goals[i].stream;
        if (!code) {
            code = (take_error ? softnpu_finish : softnpu_advance)(stream, goals[i].number);
        }
        softnpu_release(stream);
    }
    free(goals);
    return code;
}

aclError softnpu_synchronize_device(int device) { return synchronize(device, true); }

aclError softnpu_synchronize_all(void) { return synchronize(-1, false); }

EXPORT aclError aclrtSynchronizeDevice(void) {
    if (softnpu_current_device() < 0) {
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    return softnpu_synchronize_device(softnpu_current_device());
}

EXPORT aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds) {
    (void)milliseconds;
    return aclrtSynchronizeDevice();
}

EXPORT aclError aclrtResetDevice(int32_t device) {
    if (device == softnpu_current_device()) {
        softnpu_synchronize_device(device);
        softnpu_leave_device();
    }
    return ACL_SUCCESS;
}

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
    return softnpu_finish(stream, softnpu_launched(stream));
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
