/* A stream, and what waits in it. */
#ifndef SOFTNPU_BACKLOG_H
#define SOFTNPU_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "pool.h"

typedef struct softnpu_stream softnpu_stream;

/* One step of a stream. What it needs of the fields is up to its `run`. */
typedef struct softnpu_task {
    aclError (*run)(struct softnpu_task *);
    void *handle; /* held until the task has run, or NULL */
    char *to;
    const char *from;
    size_t size;
    int value;
    softnpu_stream *other; /* a stream to wait for, held as well, */
    uint64_t number;       /* until it has done this many tasks */
    struct softnpu_task *next;
} softnpu_task;

struct softnpu_stream {
    softnpu_handle handle;
    int32_t id;
    int device;
    bool busy;               /* some thread runs the oldest task */
    uint64_t launched, done; /* tasks so far */
    bool asked;              /* Python's main thread, to make room */
    softnpu_task *oldest, *newest;
    aclError error;
    char *message;
    softnpu_stream *next, *previous; /* all streams */
};

/* Runs a task now, or puts it at the end of the stream in the asynchronous mode. */
aclError softnpu_launch(softnpu_stream *stream, softnpu_task task);

/* Runs what is in a stream up to the task of this number; its errors stay in the stream. An error,
 * and nothing done, where this thread is inside a kernel: others may wait for that one. */
aclError softnpu_advance(softnpu_stream *stream, uint64_t number);
uint64_t softnpu_launched(softnpu_stream *stream);
bool softnpu_has_done(softnpu_stream *stream, uint64_t number);

/* Whether a task of this number is done; if not, one more is after this call: to ask takes time,
 * and a loop that asks comes to an end. */
bool softnpu_ask(softnpu_stream *stream, uint64_t number);

/* The same, and takes the first error of the tasks that ran since the last call, with its message. */
aclError softnpu_finish(softnpu_stream *stream, uint64_t number);

#endif
