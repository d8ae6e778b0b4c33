/* Shared declarations of the software AscendCL runtime.
 *
 * The C interface of AscendCL is declared here in our own words, from CANN's
 * public headers; only what torch_npu needs. Handles are opaque to callers, so
 * their layout is ours. */
#ifndef SOFTNPU_H
#define SOFTNPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef int aclError;

/* Return codes, with the values of CANN's acl_base.h and aclnn error table. */
enum {
    ACL_SUCCESS = 0,
    ACL_ERROR_INVALID_PARAM = 100000,
    ACL_ERROR_REPEAT_INITIALIZE = 100002,
    ACL_ERROR_RT_PARAM_INVALID = 107000,
    ACL_ERROR_RT_INVALID_DEVICEID = 107001,
    ACL_ERROR_RT_CONTEXT_NULL = 107002,
    ACLNN_ERR_PARAM_NULLPTR = 161001,
    ACLNN_ERR_PARAM_INVALID = 161002,
    ACL_ERROR_BAD_ALLOC = 200000,
    ACL_ERROR_FEATURE_UNSUPPORTED = 200006,
    ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
    ACLNN_ERR_RUNTIME = 361001,
    ACLNN_ERR_NO_KERNEL = 561103,
};

#define SOFTNPU_MAX_DEVICES 16

/* Keeps a message for aclGetRecentErrMsg() of this thread and returns `code`. */
aclError softnpu_fail(aclError code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

EXPORT const char *aclGetRecentErrMsg(void);

/* The device that this thread has set, or -1. */
int softnpu_current_device(void);

int softnpu_device_count(void);
void softnpu_set_memory(size_t bytes); /* of each device */

/* One lock for handles, memory and streams (pool.c). Nobody waits for Python while holding it. */
void softnpu_lock(void);
void softnpu_unlock(void);
void softnpu_wait(void); /* with the lock: until softnpu_notify() */
void softnpu_notify(void);

aclError softnpu_check_process(void); /* fails in a forked child, as a chip's driver does */

/* What every handle begins with (pool.c). */
typedef struct softnpu_handle {
    uint32_t magic;
    int32_t references;
    bool destroyed; /* for callers; somebody inside may hold it still */
    union {
        void (*clear)(void *); /* frees what the handle owns */
        struct softnpu_handle *next_free;
    };
} softnpu_handle;
enum { SOFTNPU_SLOT_BYTES = 256 };

void *softnpu_new(uint32_t magic, void (*clear)(void *)); /* zeroed; NULL and a message if full */
void *softnpu_find(const void *pointer, uint32_t magic);  /* NULL unless it is live and of this kind */
bool softnpu_destroy(const void *pointer, uint32_t magic);
void softnpu_hold(void *handle);
void softnpu_release(void *handle);

/* Where copies and kernels find the content of an address, and whose memory it is (memory.c). */
enum { SOFTNPU_PINNED = -1, SOFTNPU_ELSEWHERE = -2 }; /* page-locked; not from here */
typedef struct {
    char *bytes;
    int device; /* or one of the two above */
    bool too_short; /* fewer than `size` bytes from there */
} softnpu_place;
softnpu_place softnpu_reach(const void *address, size_t size);

void softnpu_guard(void);                /* guard.c */
const char *softnpu_last_operator(void); /* of this thread */
aclError softnpu_synchronize_all(void);  /* stream.c; an error where it cannot be waited for */
aclError softnpu_synchronize_device(int device);

/* What an operator accepts, as limits.py writes it; a bit for each dtype, rank or format that
 * passes. (limits.c) */
enum { SOFTNPU_PRODUCTS = 3 };
typedef struct {
    const char *parameter;
    uint64_t dtypes[SOFTNPU_PRODUCTS]; /* 0: any */
    uint64_t ranks;                    /* 0: nothing is known of this parameter */
    uint64_t formats;                  /* private ones */
} softnpu_limit;

typedef struct {
    const char *document;
    int products;               /* a bit for each product */
    bool first_required;        /* the first parameter must not be null */
    const softnpu_limit *parameters; /* one for each of the operator */
} softnpu_limits;

/* The product that is emulated: its place in soc.py's list. (device.c) */
int softnpu_product(void);

/* What the C side of an `aclnn` call needs to know about one operator. The
 * table is generated from operators.tsv together with the trampolines. */
typedef struct {
    const char *name;
    const char *kinds; /* one letter per parameter, see operators.py */
    const softnpu_limits *limits; /* NULL: none are known */
} softnpu_operator;

typedef union {
    void *pointer;
    int64_t integer;
    double real;
} softnpu_slot;

/* Called by the generated trampolines in libopapi.so. */
EXPORT aclError softnpu_prepare(const softnpu_operator *table, int index, const softnpu_slot *slots,
                                uint64_t *workspace_size, void **executor);
EXPORT aclError softnpu_execute(void *executor, void *stream);

/* The kinds of parameters that are handles. */
#define SOFTNPU_HANDLE_KINDS "TSLZIBF"

/* Refuses arguments, all of them live handles, that CANN's documents do not accept. (limits.c) */
aclError softnpu_check_limits(const softnpu_operator *op, const softnpu_slot *slots);

/* Handles that torch_npu makes for the arguments of an operator. */
enum { SOFTNPU_USUAL_RANK = 8 }; /* more is kept elsewhere */
typedef struct {
    softnpu_handle handle;
    int32_t dtype;
    int32_t format;
    int32_t rank;
    int64_t offset;         /* elements */
    int64_t storage_length; /* elements in the storage */
    void *data;             /* start of the storage, as the host names it */
    char *elements;         /* the same, as kernels reach it; set when it has been checked */
    int64_t *shape;
    int64_t *strides;
    int64_t *result_shape;  /* set by a kernel whose output shape depends on data */
    int32_t result_rank;
    int64_t usual[2 * SOFTNPU_USUAL_RANK];
} softnpu_tensor;

/* Bits of an element of an aclDataType, 0 for an unknown one (handle.c). */
int softnpu_bits(int dtype);
/* The last element that a view with elements reaches; false where it is beyond counting, or steps
 * go back (handle.c). */
bool softnpu_last_element(const softnpu_tensor *tensor, int64_t *last);
/* Whether a tensor lies inside device memory; a code and a message if not (handle.c). */
aclError softnpu_check_tensor(softnpu_tensor *tensor, const char *operator, size_t parameter);

typedef struct {
    softnpu_handle handle;
    int32_t dtype;
    union {
        uint8_t bytes[16];
        double complex_parts[2];
    } value;
} softnpu_scalar;

typedef struct {
    softnpu_handle handle;
    char kind; /* as in softnpu_operator */
    uint64_t length;
    void *items;
} softnpu_array; /* int64, bool, float arrays; tensor and scalar lists hold pointers */

enum {
    MAGIC_TENSOR = 0x4e544e53,
    MAGIC_SCALAR = 0x4353534e,
    MAGIC_ARRAY = 0x5241534e,
    MAGIC_EXECUTOR = 0x5845534e,
    MAGIC_STREAM = 0x5453534e,
    MAGIC_EVENT = 0x5645534e,
};

/* The bridge to Python (python.c). */
aclError softnpu_python_start(void);
bool softnpu_is_python_thread(void);
bool softnpu_inside_kernel(void); /* this thread: a signal handler or a finalizer asks */
/* By the main thread, with Python's lock, when it comes to it; false if it will not. */
bool softnpu_call_later(int (*function)(void *), void *argument);
bool softnpu_python_has_kernel(const softnpu_operator *op, int index);
aclError softnpu_python_call(const softnpu_operator *op, int index, const softnpu_slot *slots);
void softnpu_deliver_interrupt(void); /* one that ended a kernel: to the program, after the backlog */
void *softnpu_leave_python(void); /* lets other threads have the interpreter, if this one has it */
void softnpu_return_to_python(void *state);

#endif
