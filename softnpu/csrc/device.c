/* Devices and contexts: how many there are, and which one a thread has set. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"
#include "error.h"

static __thread int current_device = -1;
static char contexts[SOFTNPU_MAX_DEVICES]; /* a context is the address of its entry */

int softnpu_device_count(void) {
    const char *text = getenv("SOFTNPU_DEVICES");
    int count = text ? atoi(text) : 1;
    return count < 1 ? 1 : count > SOFTNPU_MAX_DEVICES ? SOFTNPU_MAX_DEVICES : count;
}

int softnpu_current_device(void) { return current_device; }

void softnpu_leave_device(void) { current_device = -1; }

EXPORT aclError aclrtGetDeviceCount(uint32_t *count) {
    if (!count) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDeviceCount: count is null");
    }
    *count = (uint32_t)softnpu_device_count();
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSetDevice(int32_t device) {
    if (device < 0 || device >= softnpu_device_count()) {
        return softnpu_fail(ACL_ERROR_RT_INVALID_DEVICEID,
                            "softnpu: no device %d, there are %d (SOFTNPU_DEVICES)", device,
                            softnpu_device_count());
    }
    current_device = device;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtGetDevice(int32_t *device) {
    if (!device) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDevice: device is null");
    }
    if (current_device < 0) { /* torch_npu relies on this to find the first device */
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    *device = current_device;
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
