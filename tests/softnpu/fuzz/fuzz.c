/* One input: a sequence of AscendCL calls with hostile arguments.
 *
 * Each call must come back, with success or an error code. What an input makes is destroyed after
 * it, so that inputs do not depend on each other. */
#include "fuzz.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "fake_python.h"
#include "values.h"

enum { MAX_CALLS = 64, MAX_ITEMS = 64, HOST_BYTES = 65536 };

/* Memory that a call may be given, and how much of it there is. Of the host's memory the caller
 * has to tell the truth, as in C everywhere; an address of the device, also one that is freed or
 * just beside a block, is the library's to check. */
typedef struct {
    char *start;
    size_t room;
} region;

static region any_region(void) {
    static char host[HOST_BYTES];
    static const size_t offsets[] = {0, 1, 63, 4096, HOST_BYTES - 1};
    size_t offset = offsets[below(5)];
    char *pinned = live_handle(PINNED, next_byte());
    switch (below(8)) {
    case 0:
        return (region){NULL, 0};
    case 1:
    case 2:
        return (region){host + offset, HOST_BYTES - offset};
    case 3:
        offset = pinned && offset <= live_size(pinned) ? offset : 0;
        return (region){pinned ? pinned + offset : NULL, pinned ? live_size(pinned) - offset : 0};
    case 4:
        return (region){freed_handle(BLOCK, next_byte()), SIZE_MAX};
    default: {
        char *block = live_handle(BLOCK, next_byte());
        const size_t places[] = {offset, live_size(block), live_size(block) - 1, (size_t)-1,
                                 live_size(block) + offset};
        uintptr_t place = (uintptr_t)block + (below(4) ? offset : places[below(5)]);
        return block ? (region){(char *)place, SIZE_MAX} : (region){NULL, 0};
    }
    }
}

static size_t smallest(size_t a, size_t b) { return a < b ? a : b; }

static void copy(void) {
    region to = any_region(), from = any_region();
    size_t size = smallest(any_size(), smallest(to.room, from.room));
    size_t room = below(4) ? size : any_size();
    int kind = below(4) ? (int)below(5) : (int)any_integer();
    void *stream = below(4) ? NULL : any_handle(STREAM);
    called("aclrtMemcpy", 5,
           (int64_t[]){(intptr_t)to.start, (int64_t)room, (intptr_t)from.start, (int64_t)size, kind});
    if (below(2)) {
        aclrtMemcpy(to.start, room, from.start, size, kind);
    } else {
        aclrtMemcpyAsync(to.start, room, from.start, size, kind, stream);
    }
}

static void set(void) {
    region to = any_region();
    size_t size = smallest(any_size(), to.room);
    size_t room = below(4) ? size : any_size();
    int32_t value = (int32_t)any_integer();
    void *stream = below(4) ? NULL : any_handle(STREAM);
    called("aclrtMemset", 4,
           (int64_t[]){(intptr_t)to.start, (int64_t)room, value, (int64_t)size});
    if (below(2)) {
        aclrtMemset(to.start, room, value, size);
    } else {
        aclrtMemsetAsync(to.start, room, value, size, stream);
    }
}

/* A rank that the arrays have, or one that no memory could hold. */
static uint64_t any_rank(void) {
    static const uint64_t absurd[] = {MAX_ITEMS, 1ull << 60, UINT64_MAX, 1ull << 63, UINT64_MAX / 8};
    return below(16) ? below(5) : absurd[below(5)];
}

static void tensor(void) {
    static int64_t shape[MAX_ITEMS], strides[MAX_ITEMS], storage[MAX_ITEMS];
    uint64_t rank = any_rank(), storage_rank = below(2) ? 1 : any_rank();
    bool tame = below(4) != 0;
    int64_t length = 1;
    for (int i = MAX_ITEMS - 1; i >= 0; i--) {
        bool used = (uint64_t)i < rank;
        shape[i] = !used ? 1 : tame ? below(5) : any_integer();
        strides[i] = tame ? length : any_integer();
        length *= used && tame ? shape[i] : 1;
        storage[i] = storage_rank == 1 && below(4) ? length : any_integer();
    }
    storage[0] = tame && storage_rank == 1 ? length : storage[0];
    int64_t offset = below(4) ? 0 : any_integer();
    void *data = below(4) ? live_handle(BLOCK, next_byte()) : any_handle(BLOCK);
    int dtype = any_dtype(), format = below(2) ? 2 : (int)any_integer();
    const int64_t *given[] = {below(32) ? shape : NULL, below(32) ? strides : NULL,
                              below(32) ? storage : NULL};
    called("aclCreateTensor", 9,
           (int64_t[]){(intptr_t)given[0], (int64_t)rank, dtype, (intptr_t)given[1], offset, format,
                       (intptr_t)given[2], (int64_t)storage_rank, (intptr_t)data});
    made(TENSOR,
         aclCreateTensor(given[0], rank, dtype, given[1], offset, format, given[2], storage_rank,
                         data),
         0);
}

/* What most calls need, so that they get further than to an absent argument. */
static void make_usual(void) {
    static const int64_t shapes[][2] = {{2, 3}, {3, 2}, {6, 1}, {1, 6}};
    void *block = NULL, *handle = NULL;
    if (aclrtMalloc(&block, 4096, 0) == ACL_SUCCESS) {
        made(BLOCK, block, 4096);
    }
    for (int i = 0; i < 4; i++) {
        static const int dtypes[] = {0, 0, 9, 3}; /* float, int64, int32 */
        int64_t strides[] = {shapes[i][1], 1}, length = 6;
        uint64_t rank = below(4) ? 2 : 1;
        made(TENSOR,
             aclCreateTensor(shapes[i], rank, dtypes[i], strides, 0, 2, &length, 1, block), 0);
    }
    if (aclrtCreateStream(&handle) == ACL_SUCCESS) {
        made(STREAM, handle, 0);
    }
    if (aclrtCreateEventWithFlag(&handle, 0) == ACL_SUCCESS) {
        made(EVENT, handle, 0);
    }
}

static void view_shape(void) {
    int64_t *shape = NULL;
    uint64_t rank = 0;
    void *handle = any_handle(TENSOR);
    int64_t **shape_out = below(16) ? &shape : NULL;
    uint64_t *rank_out = below(16) ? &rank : NULL;
    called("aclGetViewShape", 3,
           (int64_t[]){(intptr_t)handle, (intptr_t)shape_out, (intptr_t)rank_out});
    if (aclGetViewShape(handle, shape_out, rank_out) == ACL_SUCCESS) {
        if (!is_live(TENSOR, handle)) {
            violation("gave the shape of what is no tensor", handle);
        }
        int64_t sum = 0;
        for (uint64_t i = 0; i < rank; i++) {
            sum ^= shape[i]; /* reads what the caller would read */
        }
        *(volatile int64_t *)&sum = sum;
        free(shape);
    }
}

/* Arrays and lists: what `create` is given has the length that is said, or an absurd one. */
void *fuzz_items(enum kind members, uint64_t *length) {
    static union {
        int64_t integers[MAX_ITEMS];
        void *handles[MAX_ITEMS];
    } items;
    *length = below(2) ? below(4) : any_rank();
    for (uint64_t i = 0; i < MAX_ITEMS; i++) {
        if (members == KINDS) {
            items.integers[i] = i < 4 ? any_integer() : 1;
        } else {
            items.handles[i] = i < 4 ? any_handle(members) : NULL;
        }
    }
    return below(32) ? &items : NULL;
}

/* Calls of which the arguments belong together; the others are generated (dispatch.py). */
static void (*const written[])(void) = {copy, set, tensor, tensor, view_shape};
enum { WRITTEN = sizeof written / sizeof *written };

/* Most second phases run what the first has just prepared. */
static void operator(unsigned which) {
    static unsigned count;
    while (!count || operators[count].name) {
        count++;
    }
    const fuzzed_operator *chosen = &operators[which % count];
    void *executor = NULL;
    if (below(2) && chosen->fill(chosen->name, chosen->prepare, &executor) == ACL_SUCCESS) {
        made(EXECUTOR, executor, 0);
    }
    if (below(4)) {
        executor = executor && below(8) ? executor : any_handle(EXECUTOR);
        called(chosen->name, 3, (int64_t[]){0, 0, (intptr_t)executor});
        if (chosen->execute(NULL, any_size(), executor, any_handle(STREAM)) == ACL_SUCCESS) {
            ended(EXECUTOR, executor);
        }
    }
}

static void one_call(void) {
    unsigned which = (unsigned)next_byte() << 8 | next_byte();
    switch (below(4)) {
    case 0:
        written[which % WRITTEN]();
        return;
    case 1:
        operator(which);
        return;
    case 2:
        fuzz_making(which);
        return;
    default:
        fuzz_function(which);
    }
}

static void *in_a_thread(void *unused) {
    one_call();
    return unused;
}

#ifdef BROKEN_ON_PURPOSE
/* Mistakes that the tests must see: 1 reads freed memory, 2 loses memory, 3 overflows an integer. */
static void break_something(void) {
    static volatile int largest = INT32_MAX;
    char *volatile lost = malloc(100); /* volatile: the compiler must not see the mistake */
    if (BROKEN_ON_PURPOSE == 1) {
        free(lost);
        *lost = 1;
    } else if (BROKEN_ON_PURPOSE == 3) {
        free(lost);
        largest = largest + 1;
    }
    lost = NULL;
}
#endif

/* As softnpu/bridge.py does it, but that one operator in eight or so has no kernel. */
static void start(void) {
    static char names[65536] = "\n";
    size_t length = 1;
    for (unsigned i = 0; operators[i].name; i++) {
        if (strlen(operators[i].name) % 8) {
            length += (size_t)snprintf(names + length, sizeof names - length, "%s\n",
                                       operators[i].name);
        }
    }
    aclInit(NULL);
    softnpu_configure("Ascend910B1", 0, DEVICE_BYTES);
    softnpu_kernel_names(names);
    aclrtSetDevice(0);
    aclrtSynchronizeStream(NULL); /* makes the stream that null names, which stays */
}

static void check_that_nothing_is_left(uint64_t handles, long objects) {
    size_t free_bytes = 0, total_bytes = 1;
    if (fake_python_objects() != objects) {
        violation("Python objects were not given back", NULL);
    }
    if (softnpu_live_handles() != handles) {
        violation("handles are live after everything was destroyed", NULL);
    }
    aclrtGetMemInfo(0, &free_bytes, &total_bytes);
    if (free_bytes != total_bytes) {
        violation("device memory is in use after everything was destroyed", NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool started;
    if (!started) {
        started = true;
        start();
    }
    begin_values(data, size);
    aclrtSetDevice(0);
    long objects = fake_python_objects();
    uint64_t handles = softnpu_live_handles();
    make_usual();
    size_t most = size / 4 < MAX_CALLS ? size / 4 : MAX_CALLS;
    for (size_t i = 0; i < most; i++) {
        pthread_t other;
        if (below(32) == 31 && pthread_create(&other, NULL, in_a_thread, NULL) == 0) {
            pthread_join(other, NULL);
        } else {
            one_call();
        }
    }
    fuzz_destroy_all();
    aclrtSynchronizeDevice();
    check_that_nothing_is_left(handles, objects);
#ifdef BROKEN_ON_PURPOSE
    break_something();
#endif
    return 0;
}
