/* Pools of arguments, and a model of which handles are alive. */
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HANDLES = 1024 };

static const uint8_t *at, *end;
static struct {
    void *handle;
    size_t size;
    enum kind kind;
    bool live;
} handles[MAX_HANDLES];
static unsigned handle_count;

/* An input that is used up goes on with zeros. */
uint8_t next_byte(void) { return at < end ? *at++ : 0; }
unsigned below(unsigned limit) { return next_byte() % limit; }

int64_t any_integer(void) {
    static const int64_t pool[] = {0,          1,          2,         3,          7,        8,
                                   -1,         -2,         16,        255,        256,      4096,
                                   INT32_MAX,  INT32_MIN,  INT64_MAX, INT64_MIN,  UINT32_MAX,
                                   1ll << 32,  1ll << 40,  1ll << 61, -(1ll << 40)};
    return pool[below(sizeof pool / sizeof *pool)];
}

double any_real(void) {
    static const double pool[] = {0, 1, -1, 0.5, 1e308, -1e308, 5e-324, __builtin_inf()};
    unsigned chosen = below(sizeof pool / sizeof *pool + 1);
    return chosen < sizeof pool / sizeof *pool ? pool[chosen] : __builtin_nan("");
}

size_t any_size(void) {
    static const size_t pool[] = {512,     64,     4096,     1,           0,       7,
                                  65536,   1 << 20, 2 << 20, DEVICE_BYTES, DEVICE_BYTES + 1,
                                  (size_t)1 << 62, SIZE_MAX, SIZE_MAX - 4095};
    return pool[below(sizeof pool / sizeof *pool)];
}

int any_dtype(void) {
    static const int known[] = {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 16, 17, 27, 33};
    return below(4) ? known[below(sizeof known / sizeof *known)] : (int)any_integer();
}

const char *any_text(void) {
    static const char *const pool[] = {"", NULL, "%s%n", "x", "Ascend910B1",
                                       "a text that is longer than every name of a chip is, so that "
                                       "it does not fit where one of those would be kept"};
    return pool[below(sizeof pool / sizeof *pool)];
}

static void *invented(void) {
    static uint64_t zeros[32];
    static const intptr_t pool[] = {1, 8, 64, -1, -8, INTPTR_MIN, 0x7fffffff0000, 4096};
    unsigned chosen = below(sizeof pool / sizeof *pool + 2);
    if (chosen < sizeof pool / sizeof *pool) {
        return (void *)pool[chosen]; /* NOLINT */
    }
    return (char *)zeros + (chosen & 1); /* readable, and no handle */
}

void *any_handle(enum kind wanted) {
    void *live = live_handle(wanted, next_byte());
    switch (live ? below(32) : below(4)) {
    case 0:
        return NULL;
    case 1:
        return invented();
    case 2: /* of any kind, alive or not */
    case 3: {
        unsigned which = (unsigned)(next_byte() << 8 | next_byte());
        char *any = handle_count ? handles[which % handle_count].handle : NULL;
        return any && below(4) == 3 ? any + 1 + below(64) : any;
    }
    default:
        return live;
    }
}

void *any_out(void) {
    static uint64_t room[8][OUT_BYTES / 8]; /* eight, so that the results of a call do not overlap */
    static unsigned turn;
    if (below(8) == 7) {
        return NULL;
    }
    turn = (turn + 1) % 8;
    return memset(room[turn], 0, sizeof room[turn]);
}

void made(enum kind kind, void *handle, size_t size) {
    if (!handle) {
        return;
    }
    unsigned i = 0;
    while (i < handle_count && handles[i].handle != handle) {
        i++;
    }
    /* The others may have ended without our knowledge: with their list, or by being run. */
    bool owned = kind != CONTEXT && kind != TENSOR && kind != SCALAR && kind != EXECUTOR;
    if (i < handle_count && handles[i].live && handles[i].kind == kind && owned) {
        violation("a live handle was handed out again", handle);
    }
    if (i == MAX_HANDLES) {
        i = 0;
        while (i < MAX_HANDLES - 1 && handles[i].live) {
            i++;
        }
    }
    handle_count += i == handle_count;
    handles[i].handle = handle;
    handles[i].size = size;
    handles[i].kind = kind;
    handles[i].live = true;
}

void ended(enum kind kind, void *handle) {
    for (unsigned i = 0; i < handle_count; i++) {
        if (handles[i].handle == handle && handles[i].kind == kind && handles[i].live) {
            handles[i].live = false;
            return;
        }
    }
    if (handle) {
        violation("destroyed what is not alive", handle);
    }
}

bool is_live(enum kind kind, const void *handle) {
    for (unsigned i = 0; i < handle_count; i++) {
        if (handles[i].handle == handle && handles[i].kind == kind && handles[i].live) {
            return true;
        }
    }
    return false;
}

size_t live_size(const void *block) {
    for (unsigned i = 0; i < handle_count; i++) {
        if (handles[i].handle == block && handles[i].live) {
            return handles[i].size;
        }
    }
    return 0;
}

static void *pick(enum kind kind, bool live, unsigned which) {
    unsigned found[MAX_HANDLES], count = 0;
    for (unsigned i = 0; i < handle_count; i++) {
        if (handles[i].live == live && handles[i].kind == kind) {
            found[count++] = i;
        }
    }
    return count ? handles[found[which % count]].handle : NULL;
}

void *live_handle(enum kind kind, unsigned which) { return pick(kind, true, which); }
void *freed_handle(enum kind kind, unsigned which) { return pick(kind, false, which); }

void begin_values(const uint8_t *data, size_t size) {
    at = data;
    end = data + size;
    handle_count = 0;
}

void called(const char *name, int count, const int64_t *arguments) {
    static int wanted = -1;
    if (wanted < 0) {
        wanted = getenv("FUZZ_TRACE") != NULL;
    }
    if (wanted) {
        fprintf(stderr, "%s(", name);
        for (int i = 0; i < count; i++) {
            fprintf(stderr, "%s%#llx", i ? ", " : "", (unsigned long long)arguments[i]);
        }
        fprintf(stderr, ")\n");
    }
}

_Noreturn void violation(const char *what, const void *handle) {
    fprintf(stderr, "VIOLATION: %s: %p\n", what, handle);
    abort();
}
