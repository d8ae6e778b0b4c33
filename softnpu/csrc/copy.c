/* Copies between host and device, and within a device. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backlog.h"
#include "blocks.h"
#include "error.h"
#include "stream.h"

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT };

/* Whether both ends of a range of the host's memory are mapped: what a driver would find out. */
static bool is_mapped(const char *start, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    char *first = (char *)((uintptr_t)start / page * page);
    char *last = (char *)((uintptr_t)(start + size - 1) / page * page);
    return size <= (size_t)PTRDIFF_MAX && mincore(first, page, &resident) == 0 &&
           mincore(last, page, &resident) == 0;
}

static bool is_usable(softnpu_place place, size_t size) {
    return !place.too_short && (place.device != SOFTNPU_ELSEWHERE || is_mapped(place.bytes, size));
}

static aclError move(softnpu_task *task) {
    memmove(task->to, task->from, task->size);
    return ACL_SUCCESS;
}

/* What to run for a copy, in `task`; its `run` stays NULL where there is nothing to copy. */
static aclError plan(softnpu_task *task, void *to, size_t room, const void *from, size_t size,
                     int kind) {
    if (size == 0) {
        return ACL_SUCCESS;
    }
    if (!to || !from || size > room) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "softnpu: cannot copy %zu bytes from %p to %p (room %zu)", size, from, to,
                            room);
    }
    softnpu_place target = softnpu_reach(to, size), source = softnpu_reach(from, size);
    bool to_device = target.device >= 0, from_device = source.device >= 0;
    int is = (from_device ? DEVICE_TO_HOST : HOST_TO_HOST) + (to_device ? HOST_TO_DEVICE : 0);
    if (kind != DEFAULT && kind != is) {
        static const char *const names[] = {"host to host", "host to device", "device to host",
                                            "device to device"};
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "softnpu: a copy %s was asked for, but %p to %p is %s",
                            kind >= 0 && kind < DEFAULT ? names[kind] : "of unknown kind", from, to,
                            names[is]);
    }
    if (!is_usable(target, size) || !is_usable(source, size)) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "softnpu: %zu bytes from %p to %p reach out of what was allocated", size,
                            from, to);
    }
    *task = (softnpu_task){.run = move, .to = target.bytes, .from = source.bytes, .size = size};
    return ACL_SUCCESS;
}

EXPORT aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t size, int kind) {
    softnpu_task task = {0};
    aclError code = plan(&task, to, room, from, size, kind);
    return code || !task.run ? code : task.run(&task);
}

EXPORT aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, int kind,
                                 void *handle) {
    softnpu_task task = {0};
    softnpu_stream *stream = softnpu_stream_of(handle);
    aclError code = stream ? plan(&task, to, room, from, size, kind) : ACL_ERROR_RT_PARAM_INVALID;
    return code || !task.run ? code : softnpu_launch(stream, task);
}

static aclError fill(softnpu_task *task) {
    if (task->size) {
        memset(task->to, task->value, task->size);
    }
    return ACL_SUCCESS;
}

static aclError plan_fill(softnpu_task *task, void *to, size_t room, int32_t value, size_t size) {
    softnpu_place target = softnpu_reach(to, size);
    if (size > room || (size > 0 && (target.device < 0 || target.too_short))) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: cannot set %zu bytes at %p (room %zu)",
                            size, to, room);
    }
    *task = (softnpu_task){.run = fill, .to = target.bytes, .size = size, .value = value};
    return ACL_SUCCESS;
}

EXPORT aclError aclrtMemset(void *to, size_t room, int32_t value, size_t size) {
    softnpu_task task;
    aclError code = plan_fill(&task, to, room, value, size);
    return code ? code : task.run(&task);
}

EXPORT aclError aclrtMemsetAsync(void *to, size_t room, int32_t value, size_t size, void *handle) {
    softnpu_task task;
    softnpu_stream *stream = softnpu_stream_of(handle);
    aclError code = stream ? plan_fill(&task, to, room, value, size) : ACL_ERROR_RT_PARAM_INVALID;
    return code ? code : softnpu_launch(stream, task);
}
