/* Versions, abilities and settings: what torch_npu asks for and sets, and changes nothing here. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

#define CANN_VERSION "9.1.0" /* the CANN whose answers are emulated */

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
