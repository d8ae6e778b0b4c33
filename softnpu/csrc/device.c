/* Devices and contexts: how many there are, and which one a thread has set. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"
#include "error.h"

static __thread int current_device = -1;
static int default_device = -1; /* of the file that aclInit was given */
static char contexts[SOFTNPU_MAX_DEVICES]; /* a context is the address of its entry */

static int emulated(void) {
    const char *text = getenv("SOFTNPU_DEVICES");
    int count = text ? atoi(text) : 1;
    return count < 1 ? 1 : count > SOFTNPU_MAX_DEVICES ? SOFTNPU_MAX_DEVICES : count;
}

/* How many devices ASCEND_RT_VISIBLE_DEVICES leaves, by the rules of CANN's runtime (GetVisibleDevices
 * in hicann/runtime): the numbers before the first that is none or no device, in ascending order.
 * Negative where the order is another, or a number comes twice. */
static int visible(const char *list, int count) {
    int found = 0, last = -1;
    while (isdigit((unsigned char)*list) && found < count) {
        char *end;
        long device = strtol(list, &end, 10);
        if (device >= count) {
            break;
        }
        if (device <= last) {
            return -1;
        }
        last = (int)device;
        found++;
        list = *end == ',' ? end + 1 : "";
    }
    return found;
}

int softnpu_device_count(void) {
    const char *list = getenv("ASCEND_RT_VISIBLE_DEVICES");
    int found = list ? visible(list, emulated()) : emulated();
    return found < 0 ? 0 : found;
}

/* As CANN's runtime a thread that has set no device takes the default one when it needs one. */
int softnpu_current_device(void) {
    if (current_device < 0 && default_device < softnpu_device_count()) {
        current_device = default_device;
    }
    return current_device;
}

void softnpu_leave_device(void) { current_device = -1; }

void softnpu_set_default_device(int device) { default_device = device; }

EXPORT aclError aclrtGetDeviceCount(uint32_t *count) {
    if (!count) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDeviceCount: count is null");
    }
    *count = (uint32_t)softnpu_device_count();
    if (*count == 0) {
        return softnpu_fail(ACL_ERROR_RT_NO_DEVICE,
                            "EE2002: ASCEND_RT_VISIBLE_DEVICES=%s leaves no device (softnpu): it wants "
                            "numbers from 0 to %d in ascending order, with commas and nothing else",
                            getenv("ASCEND_RT_VISIBLE_DEVICES"), emulated() - 1);
    }
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSetDevice(int32_t device) {
    if (device < 0 || device >= softnpu_device_count()) {
        return softnpu_fail(ACL_ERROR_RT_INVALID_DEVICEID,
                            "softnpu: no device %d, there are %d (SOFTNPU_DEVICES%s)", device,
                            softnpu_device_count(),
                            getenv("ASCEND_RT_VISIBLE_DEVICES") ? ", ASCEND_RT_VISIBLE_DEVICES" : "");
    }
    current_device = device;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtGetDevice(int32_t *device) {
    if (!device) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDevice: device is null");
    }
    *device = current_device < 0 ? default_device : current_device;
    if (*device < 0) { /* torch_npu relies on this to find the first device */
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    return ACL_SUCCESS;
}

EXPORT aclError aclrtGetCurrentContext(void **context) {
    if (!context || current_device < 0) {
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    *context = &contexts[current_device];
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSetCurrentContext(void *context) {
    char *entry = context;
    if (entry < contexts || entry >= contexts + SOFTNPU_MAX_DEVICES) {
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetCurrentContext: not a context");
    }
    return aclrtSetDevice((int32_t)(entry - contexts));
}

/* torch_npu lists the devices in use by asking which contexts are active. */
EXPORT aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t *flags, int32_t *active) {
    if (flags) {
        *flags = 0;
    }
    if (active) {
        *active = device == current_device;
    }
    return ACL_SUCCESS;
}

static bool is_device(int32_t device) { return device >= 0 && device < softnpu_device_count(); }

static aclError refuse(const char *call) {
    return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                        "%s: a result pointer is null, or there is no such device", call);
}

EXPORT aclError aclrtDeviceCanAccessPeer(int32_t *can, int32_t device, int32_t peer) {
    if (!can || !is_device(device) || !is_device(peer)) {
        return refuse("aclrtDeviceCanAccessPeer");
    }
    *can = device != peer;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
    (void)flags;
    return is_device(peer) ? ACL_SUCCESS : refuse("aclrtDeviceEnablePeerAccess");
}

EXPORT aclError aclrtDeviceGetBareTgid(int32_t *pid) {
    if (!pid) {
        return refuse("aclrtDeviceGetBareTgid");
    }
    *pid = (int32_t)getpid();
    return ACL_SUCCESS;
}
