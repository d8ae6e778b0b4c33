/* Process, device and context: who is there, what it is called, what it can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnpu.h"

#define CANN_VERSION "9.1.0" /* the CANN whose answers are emulated */

static bool initialized;
static __thread int current_device = -1;
static char contexts[SOFTNPU_MAX_DEVICES]; /* a context is the address of its entry */

int softnpu_device_count(void) {
    const char *text = getenv("SOFTNPU_DEVICES");
    int count = text ? atoi(text) : 1;
    return count < 1 ? 1 : count > SOFTNPU_MAX_DEVICES ? SOFTNPU_MAX_DEVICES : count;
}

int softnpu_current_device(void) { return current_device; }

/* How Python code tells the software library from CANN's. */
EXPORT int softnpu_is_software(void) { return 1; }

EXPORT aclError aclInit(const char *config_path) {
    (void)config_path;
    if (initialized) {
        return ACL_ERROR_REPEAT_INITIALIZE;
    }
    aclError code = softnpu_python_start();
    initialized = code == ACL_SUCCESS;
    if (initialized) {
        softnpu_guard();
    }
    return code;
}

EXPORT aclError aclFinalize(void) {
    softnpu_synchronize_all();
    initialized = false;
    return ACL_SUCCESS;
}

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

EXPORT aclError aclrtResetDevice(int32_t device) {
    if (device == current_device) {
        softnpu_synchronize_device(device);
        current_device = -1;
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

static char soc_name[64] = "Ascend910B1";
static int product;

/* Called by softnpu/bridge.py while aclInit runs, with values it has checked. */
EXPORT void softnpu_configure(const char *soc, int soc_product, uint64_t memory_bytes) {
    product = soc_product;
    snprintf(soc_name, sizeof soc_name, "%s", soc);
    softnpu_set_memory(memory_bytes);
}

int softnpu_product(void) { return product; }

/* Up to the first answer after aclInit it is the bare SoC name, which torch_npu
 * looks up in its table of chips and keeps. Every later answer goes to a person
 * or a log, so it says that there is no chip. */
EXPORT const char *aclrtGetSocName(void) {
    static char labelled[96];
    static bool known;
    if (!known) {
        known = initialized;
        return soc_name;
    }
    snprintf(labelled, sizeof labelled, "%s (softnpu)", soc_name);
    return labelled;
}

EXPORT aclError aclsysGetVersionStr(char *package, char *version) {
    (void)package;
    if (!version) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionStr: version is null");
    }
    strcpy(version, CANN_VERSION);
    return ACL_SUCCESS;
}

typedef struct {
    char version[128];
    char parts[4][64]; /* major, minor, release, patch */
    char reserved[128];
} cann_package_version;

EXPORT aclError aclsysGetCANNVersion(int package, cann_package_version *version) {
    (void)package;
    if (!version) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "aclsysGetCANNVersion: version is null");
    }
    memset(version, 0, sizeof *version);
    snprintf(version->version, sizeof version->version, "%s", CANN_VERSION);
    return ACL_SUCCESS;
}

/* Core counts and cache size have no meaning here; torch_npu wants numbers. */
EXPORT aclError aclGetDeviceCapability(uint32_t device, int info, int64_t *value) {
    enum { CUBE_CORES, VECTOR_CORES, L2_BYTES };
    (void)device;
    if (!value) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: value is null");
    }
    switch (info) {
    case CUBE_CORES:
    case VECTOR_CORES:
        *value = 1;
        return ACL_SUCCESS;
    case L2_BYTES:
        *value = 0;
        return ACL_SUCCESS;
    default:
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: unknown device capability %d", info);
    }
}

EXPORT aclError aclGetCannAttribute(int attribute, int32_t *value) {
    (void)attribute; /* the only one asked for is INF/NaN support */
    if (!value) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: value is null");
    }
    *value = 1;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSynchronizeDevice(void) {
    if (current_device < 0) {
        return softnpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "no device was set in this thread");
    }
    return softnpu_synchronize_device(current_device);
}

EXPORT aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds) {
    (void)milliseconds;
    return aclrtSynchronizeDevice();
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

EXPORT aclError aclrtGetLastError(int level) {
    (void)level;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtPeekAtLastError(int level) {
    (void)level;
    return ACL_SUCCESS;
}

/* Options that steer a chip: accepted, and kept where they can be read back. */
enum { SYSTEM_OPTIONS = 16 };
static int64_t system_options[SYSTEM_OPTIONS];

EXPORT aclError aclrtSetSysParamOpt(int option, int64_t value) {
    if (option < 0 || option >= SYSTEM_OPTIONS) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: unknown system option %d", option);
    }
    system_options[option] = value;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtGetSysParamOpt(int option, int64_t *value) {
    if (option < 0 || option >= SYSTEM_OPTIONS || !value) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: unknown system option %d, or no result",
                            option);
    }
    *value = system_options[option];
    return ACL_SUCCESS;
}

EXPORT aclError aclrtCtxSetSysParamOpt(int option, int64_t value) {
    return aclrtSetSysParamOpt(option, value);
}

EXPORT aclError aclrtSetDeviceSatMode(int mode) {
    (void)mode;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSetOpExecuteTimeOut(uint32_t seconds) {
    (void)seconds;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSetOpExecuteTimeOutV2(uint64_t microseconds, uint64_t *actual) {
    if (!actual) {
        return softnpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetOpExecuteTimeOutV2: actual is null");
    }
    *actual = microseconds;
    return ACL_SUCCESS;
}

EXPORT aclError aclrtSetOpWaitTimeout(uint32_t seconds) {
    (void)seconds;
    return ACL_SUCCESS;
}

/* Compile options belong to the old `aclop` path. "disable" for every one of
 * them keeps torch_npu on the `aclnn` operators (jit compile off). */
EXPORT aclError aclSetCompileopt(int option, const char *value) {
    (void)option, (void)value;
    return ACL_SUCCESS;
}

EXPORT size_t aclGetCompileoptSize(int option) {
    (void)option;
    return sizeof "disable";
}

EXPORT aclError aclGetCompileopt(int option, char *value, size_t length) {
    (void)option;
    if (!value || length < sizeof "disable") {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: no room for the value");
    }
    snprintf(value, length, "disable");
    return ACL_SUCCESS;
}

/* Logs and profiling of torch_npu itself: nothing to keep. */
EXPORT void aclAppLog(int level, const char *function, const char *file, uint32_t line,
                      const char *format, ...) {
    (void)level, (void)function, (void)file, (void)line, (void)format;
}

EXPORT uint64_t MsprofSysCycleTime(void) { return 0; }
EXPORT uint64_t MsprofGetHashId(const char *text, size_t length) { return (void)text, length; }
EXPORT int32_t MsprofRegisterCallback(uint32_t module, void *callback) {
    return (void)module, (void)callback, 0;
}
EXPORT int32_t MsprofReportApi(uint32_t aging, const void *data) {
    return (void)aging, (void)data, 0;
}
EXPORT int32_t MsprofReportCompactInfo(uint32_t aging, const void *data, uint32_t length) {
    return (void)aging, (void)data, (void)length, 0;
}
EXPORT int32_t MsprofReportAdditionalInfo(uint32_t aging, const void *data, uint32_t length) {
    return (void)aging, (void)data, (void)length, 0;
}
