/* Handles: what callers hold, and what is held while it is in use. */
#ifndef SOFTNPU_POOL_H
#define SOFTNPU_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

/* What every handle begins with. */
typedef struct softnpu_handle {
    uint32_t magic;
    int32_t references;
    bool destroyed; /* for callers; somebody inside may hold it still */
    union {
        void (*clear)(void *); /* frees what the handle owns */
        struct softnpu_handle *next_free;
    };
} softnpu_handle;

void *softnpu_new(uint32_t magic, void (*clear)(void *)); /* zeroed; NULL and a message if full */
void *softnpu_find(const void *pointer, uint32_t magic);  /* NULL unless it is live and of this kind */
bool softnpu_destroy(const void *pointer, uint32_t magic);
void softnpu_hold(void *handle);
void softnpu_release(void *handle);

aclError softnpu_check_process(void); /* fails in a forked child, as a chip's driver does */

#endif
