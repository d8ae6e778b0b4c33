/* What the generated dispatch (dispatch.py) and the harness call of each other. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "values.h"

/* One call, chosen by a number: to an exported function, or to one that makes a handle. */
void fuzz_function(unsigned which);
void fuzz_making(unsigned which);

/* Both phases of every operator; the last entry is empty. `fill` draws the arguments for the
 * first phase and calls it. */
typedef struct {
    const char *name;
    int (*fill)(const char *name, void (*prepare)(void), void **executor);
    void (*prepare)(void);
    int (*execute)(void *workspace, uint64_t size, void *executor, void *stream);
} fuzzed_operator;
extern const fuzzed_operator operators[];

/* Destroys all handles that are alive, lists before their members. */
void fuzz_destroy_all(void);

/* Items of an array, or members of a list, and their number. */
void *fuzz_items(enum kind members, uint64_t *length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
