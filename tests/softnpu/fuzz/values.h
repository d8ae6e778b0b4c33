/* Where the arguments of a fuzzed call come from: every value is chosen by bytes of the input. */
#ifndef FUZZ_VALUES_H
#define FUZZ_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call can make; each has a function that ends it. */
enum kind {
    BLOCK, /* of device memory */
    PINNED,
    STREAM,
    EVENT,
    CONTEXT,
    TENSOR,
    SCALAR,
    INT_ARRAY,
    FLOAT_ARRAY,
    BOOL_ARRAY,
    TENSOR_LIST,
    SCALAR_LIST,
    EXECUTOR,
    KINDS,
};

/* The memory of the emulated device: small, so that a call that fills it costs little. */
#define DEVICE_BYTES ((size_t)64 << 20)

/* What a call may write through a pointer for its results. */
enum { OUT_BYTES = 8192 };

uint8_t next_byte(void);
unsigned below(unsigned limit);
int64_t any_integer(void);
double any_real(void);
size_t any_size(void);
int any_dtype(void);
const char *any_text(void);

/* A handle: mostly a live one of this kind, else null, freed, of another kind or invented. */
void *any_handle(enum kind wanted);
/* Room for results, or null; big enough for every structure of the interface. */
void *any_out(void);

/* What the harness knows of the handles. `made` ignores null, `ended` says whether the
 * library was right to end this one. */
void made(enum kind kind, void *handle, size_t size);
void ended(enum kind kind, void *handle);
bool is_live(enum kind kind, const void *handle);
size_t live_size(const void *block);
/* A live handle of this kind, or null; `which` counts through them. */
void *live_handle(enum kind kind, unsigned which);
void *freed_handle(enum kind kind, unsigned which);

void begin_values(const uint8_t *data, size_t size);

/* Prints the call if FUZZ_TRACE is set: a crash can then be written down as C. */
void called(const char *name, int count, const int64_t *arguments);
/* Ends the process: the library said or did something that it must not. */
_Noreturn void violation(const char *what, const void *handle);

#endif
