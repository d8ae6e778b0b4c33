/* The blocks of memory that are handed out, and their content. */
#ifndef SOFTNPU_BLOCKS_H
#define SOFTNPU_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

/* Where copies and kernels find the content of an address, and whose memory it is. */
enum { SOFTNPU_PINNED = -1, SOFTNPU_ELSEWHERE = -2 }; /* page-locked; not from here */
typedef struct {
    char *bytes;
    int device;     /* or one of the two above */
    bool too_short; /* fewer than `size` bytes from there */
} softnpu_place;
softnpu_place softnpu_reach(const void *address, size_t size);

/* A block of a device, or of page-locked memory for SOFTNPU_PINNED. */
aclError softnpu_allocate(void **result, size_t size, int device);
aclError softnpu_deallocate(void *start, bool of_device);

void softnpu_set_memory(size_t bytes); /* of each device */
void softnpu_get_memory(int device, size_t *free_bytes, size_t *total_bytes);

#endif
