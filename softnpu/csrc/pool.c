/* Where handles live: one reserved range of equal slots.
 *
 * A handle that was destroyed, or never made, is told from a live one by its address and its
 * slot, and that never touches memory that is not ours. A slot is used again as late as
 * possible, so that a stale handle is not taken for a new one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "lock.h"
#include "pool.h"

enum { SLOT = 256, SLOTS = 1 << 20 };

static char *first; /* the range; its pages come into being when they are touched */
static size_t made; /* slots that were ever used */
static size_t live;
static softnpu_handle *oldest_free, *newest_free;

static bool left_behind; /* a child of a process that had used the device */

static void after_fork_in_child(void) {
    left_behind = first != NULL;
    softnpu_unlock();
}

__attribute__((constructor)) static void survive_forks(void) {
    pthread_atfork(softnpu_lock, softnpu_unlock, after_fork_in_child);
}

aclError softnpu_check_process(void) {
    return left_behind ? softnpu_fail(ACLNN_ERR_RUNTIME,
                                      "softnpu: this process was forked from one that had used the NPU "
                                      "and cannot use it: start it by multiprocessing's \"spawn\".")
                       : ACL_SUCCESS;
}

static softnpu_handle *take_slot(void) {
    if (oldest_free && (live + 1024 < made || made == SLOTS)) { /* some rest for each slot */
        softnpu_handle *slot = oldest_free;
        oldest_free = slot->next_free;
        if (!oldest_free) {
            newest_free = NULL;
        }
        return slot;
    }
    if (!first) {
        void *range = mmap(NULL, (size_t)SLOTS * SLOT, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        first = range == MAP_FAILED ? NULL : range;
    }
    return first && made < SLOTS ? (softnpu_handle *)(first + SLOT * made++) : NULL;
}

void *softnpu_new(uint32_t magic, void (*clear)(void *)) {
    softnpu_lock();
    softnpu_handle *handle = take_slot();
    if (handle) {
        live++;
        memset(handle, 0, SLOT);
        handle->magic = magic;
        handle->references = 1;
        handle->clear = clear;
    }
    softnpu_unlock();
    if (!handle) {
        softnpu_fail(ACL_ERROR_BAD_ALLOC, "softnpu: no room for another handle, %zu are live", live);
    }
    return handle;
}

void *softnpu_find(const void *pointer, uint32_t magic) {
    const char *place = pointer;
    softnpu_handle *found = NULL;
    softnpu_lock();
    if (first && place >= first && place < first + SLOT * made && (place - first) % SLOT == 0) {
        softnpu_handle *handle = (softnpu_handle *)pointer;
        found = handle->magic == magic && !handle->destroyed ? handle : NULL;
    }
    softnpu_unlock();
    return found;
}

void softnpu_hold(void *pointer) {
    softnpu_handle *handle = pointer;
    __atomic_add_fetch(&handle->references, 1, __ATOMIC_RELAXED);
}

void softnpu_release(void *pointer) {
    softnpu_handle *handle = pointer;
    softnpu_lock();
    bool last = __atomic_sub_fetch(&handle->references, 1, __ATOMIC_ACQ_REL) == 0;
    softnpu_unlock();
    if (!last) {
        return;
    }
    if (handle->clear) {
        handle->clear(handle);
    }
    softnpu_lock();
    live--;
    handle->magic = 0;
    handle->next_free = NULL;
    if (newest_free) {
        newest_free->next_free = handle;
    } else {
        oldest_free = handle;
    }
    newest_free = handle;
    softnpu_unlock();
}

bool softnpu_destroy(const void *pointer, uint32_t magic) {
    softnpu_handle *handle = softnpu_find(pointer, magic);
    if (!handle || __atomic_exchange_n(&handle->destroyed, true, __ATOMIC_ACQ_REL)) {
        return false;
    }
    softnpu_release(handle);
    return true;
}

/* How many handles are live: what a leak would make grow. */
EXPORT uint64_t softnpu_live_handles(void) {
    softnpu_lock();
    uint64_t count = live;
    softnpu_unlock();
    return count;
}
