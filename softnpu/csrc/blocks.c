/* Device memory: host memory that the host cannot reach.
 *
 * An address that is handed out is reserved and protected, as a chip's memory is not mapped
 * in the host either: whoever reads or writes it directly is stopped at once (guard.c). The
 * bytes lie elsewhere; copies and kernels get there by softnpu_reach(). */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "blocks.h"
#include "device.h"
#include "error.h"
#include "lock.h"

typedef struct {
    char *start; /* the address that was handed out */
    char *bytes; /* where the content is; the same for page-locked host memory */
    size_t size;
    int device; /* -1 for page-locked host memory */
} block;

/* Ordered by start. torch_npu asks for large blocks and cuts them up itself, so there are few. */
static block *blocks;
static size_t block_count, block_room;
static size_t used[SOFTNPU_MAX_DEVICES];
static size_t memory_total = (size_t)16 << 30;

void softnpu_set_memory(size_t bytes) { memory_total = bytes; }

/* The first block that begins after an address. */
static size_t place_of(const char *address) {
    size_t low = 0, high = block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const block *block_of(const void *pointer) {
    const char *address = pointer;
    size_t place = place_of(address);
    const block *found = place ? &blocks[place - 1] : NULL;
    return found && address < found->start + found->size ? found : NULL;
}

static void *map(size_t size, int access) {
    void *start = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

/* The addresses of all devices: one protected range, so that an address that was freed, or that
 * lies beside a block, is never taken for the host's. It is handed out in turn: what was freed
 * is used again as late as possible. */
static char *range;
static size_t range_size, next;

static bool is_in_range(const void *address) {
    return range && (uintptr_t)address - (uintptr_t)range < range_size;
}

/* Twice what the devices have, so that there is room between blocks; not more, since an emulator
 * such as qemu keeps books on every page that is reserved. */
static bool reserve_range(void) {
    if (!range) {
        range_size = 2 * (size_t)softnpu_device_count() * memory_total;
        range = map(range_size, PROT_NONE);
    }
    return range != NULL;
}

/* Room for `size` bytes and a page behind them that is in no block: the first from `next` on, or
 * from the beginning. */
static char *take_addresses(size_t size) {
    enum { PAGE = 1 << 16 }; /* the largest page there is */
    if (!reserve_range() || size > range_size / 2) {
        return NULL;
    }
    for (int turn = 0; turn < 2; turn++, next = 0) {
        size_t start = next, end = range_size;
        for (size_t i = 0; i < block_count && end == range_size; i++) {
            if (!is_in_range(blocks[i].start)) { /* page-locked memory of the host */
                continue;
            }
            size_t first = (size_t)(blocks[i].start - range), behind = first + blocks[i].size;
            if (first >= start + size + PAGE) {
                end = first;
            } else if (behind > start) {
                start = (behind + 2 * PAGE - 1) / PAGE * PAGE;
            }
        }
        if (start + size + PAGE <= end) {
            next = (start + size + 2 * PAGE - 1) / PAGE * PAGE;
            return range + start;
        }
    }
    return NULL;
}

static bool make_room(void) {
    if (block_count < block_room) {
        return true;
    }
    size_t room = block_room ? 2 * block_room : 64;
    block *grown = realloc(blocks, room * sizeof *grown);
    if (grown) {
        blocks = grown;
        block_room = room;
    }
    return grown != NULL;
}

/* Called with the lock. */
static char *add_block(size_t size, int device) {
    char *bytes = make_room() ? map(size, PROT_READ | PROT_WRITE) : NULL;
    char *start = bytes && device >= 0 ? take_addresses(size) : bytes;
    if (!start) {
        if (bytes) {
            munmap(bytes, size);
        }
        return NULL;
    }
    size_t place = place_of(start);
    memmove(&blocks[place + 1], &blocks[place], (block_count - place) * sizeof *blocks);
    blocks[place] = (block){start, bytes, size, device};
    block_count++;
    if (device >= 0) {
        used[device] += size;
    }
    return start;
}

aclError softnpu_allocate(void **result, size_t size, int device) {
    if (!result || size == 0) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: cannot allocate %zu bytes", size);
    }
    softnpu_lock();
    size_t in_use = device >= 0 ? used[device] : 0;
    bool fits = device < 0 || size <= memory_total - in_use;
    *result = fits ? add_block(size, device) : NULL;
    softnpu_unlock();
    if (!fits) {
        return softnpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                            "softnpu: out of memory on device %d: %zu bytes asked, %zu of %zu in use",
                            device, size, in_use, memory_total);
    }
    return *result ? ACL_SUCCESS
                   : softnpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                                  "softnpu: the host has no room for %zu bytes", size);
}

aclError softnpu_deallocate(void *start, bool of_device) {
    softnpu_lock();
    size_t place = place_of(start);
    block *old = place ? &blocks[place - 1] : NULL;
    bool known = old && old->start == start && (old->device >= 0) == of_device;
    if (known) {
        munmap(old->bytes, old->size);
        if (of_device) {
            used[old->device] -= old->size;
        }
        memmove(old, old + 1, (block_count - place) * sizeof *blocks);
        block_count--;
    }
    softnpu_unlock();
    return known ? ACL_SUCCESS
                 : softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "softnpu: %p was not allocated here", start);
}

softnpu_place softnpu_reach(const void *address, size_t size) {
    softnpu_place place = {(char *)address, SOFTNPU_ELSEWHERE, false};
    softnpu_lock();
    const block *found = block_of(address);
    if (!found && is_in_range(address)) {
        place = (softnpu_place){NULL, 0, true}; /* a device's, and nothing is there */
    } else if (found) {
        size_t offset = (size_t)((const char *)address - found->start);
        place = (softnpu_place){found->bytes + offset,
                                found->device < 0 ? SOFTNPU_PINNED : found->device,
                                size > found->size - offset};
    }
    softnpu_unlock();
    return place;
}

void softnpu_get_memory(int device, size_t *free_bytes, size_t *total_bytes) {
    softnpu_lock();
    *total_bytes = memory_total;
    *free_bytes = memory_total - used[device];
    softnpu_unlock();
}
