/* What torch_npu links against but the software NPU does not emulate. Each of
 * these exists, because the wheel does not load without it, and fails by name. */
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define UNSUPPORTED(name)                                                                       \
    EXPORT aclError name(void) {                                                                \
        return softnpu_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "softnpu does not emulate " #name); \
    }

/* The old operator path: descriptions can be made, only running one fails, so
 * that the error names the operator. */
static char placeholder[64];

EXPORT void *aclopCreateAttr(void) { return placeholder; }
EXPORT void aclopDestroyAttr(const void *attribute) { (void)attribute; }
EXPORT void *aclCreateTensorDesc(int dtype, int rank, const int64_t *shape, int format) {
    return (void)dtype, (void)rank, (void)shape, (void)format, placeholder;
}
EXPORT void aclDestroyTensorDesc(const void *description) { (void)description; }
EXPORT void *aclCreateDataBuffer(void *data, size_t size) {
    return (void)data, (void)size, placeholder;
}
EXPORT aclError aclDestroyDataBuffer(const void *buffer) { return (void)buffer, ACL_SUCCESS; }
EXPORT void aclSetTensorDescName(void *description, const char *name) {
    (void)description, (void)name;
}

#define ACCEPTED(name) \
    EXPORT aclError name(void) { return ACL_SUCCESS; }
ACCEPTED(aclSetTensorFormat)
ACCEPTED(aclSetTensorPlaceMent)
ACCEPTED(aclSetTensorShape)
ACCEPTED(aclopSetAttrBool)
ACCEPTED(aclopSetAttrDataType)
ACCEPTED(aclopSetAttrFloat)
ACCEPTED(aclopSetAttrInt)
ACCEPTED(aclopSetAttrListBool)
ACCEPTED(aclopSetAttrListFloat)
ACCEPTED(aclopSetAttrListInt)
ACCEPTED(aclopSetAttrListListInt)
ACCEPTED(aclopSetAttrString)

static aclError no_such_path(const char *operator) {
    return softnpu_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                        "softnpu emulates aclnn operators only; torch_npu asked for the older "
                        "operator %s. This says nothing about a chip.",
                        operator? operator: "(unnamed)");
}

EXPORT aclError aclopCompileAndExecute(const char *operator) { return no_such_path(operator); }
EXPORT aclError aclopCompileAndExecuteV2(const char *operator) { return no_such_path(operator); }

/* Reading back a tensor description belongs to the same path. */
UNSUPPORTED(aclGetTensorDescDimV2)
UNSUPPORTED(aclGetTensorDescFormat)
UNSUPPORTED(aclGetTensorDescNumDims)
UNSUPPORTED(aclGetTensorDescType)

/* Dumping, host callbacks, hand-written kernels. */
UNSUPPORTED(aclmdlInitDump)
UNSUPPORTED(aclmdlSetDump)
UNSUPPORTED(aclmdlFinalizeDump)
UNSUPPORTED(aclrtProcessReport)
UNSUPPORTED(aclrtBinaryLoadFromData)
UNSUPPORTED(aclrtBinaryGetFunction)
UNSUPPORTED(aclrtGetFunctionAddr)
UNSUPPORTED(rtDevBinaryRegister)
UNSUPPORTED(rtFunctionRegister)
UNSUPPORTED(rtKernelLaunch)
UNSUPPORTED(rtGetC2cCtrlAddr)

/* Virtual memory (expandable segments) and memory shared between processes. */
UNSUPPORTED(aclrtReserveMemAddress)
UNSUPPORTED(aclrtReleaseMemAddress)
UNSUPPORTED(aclrtMallocPhysical)
UNSUPPORTED(aclrtFreePhysical)
UNSUPPORTED(aclrtMapMem)
UNSUPPORTED(aclrtUnmapMem)
UNSUPPORTED(aclrtMemExportToShareableHandle)
UNSUPPORTED(aclrtMemImportFromShareableHandle)
UNSUPPORTED(aclrtMemSetPidToShareableHandle)

static aclError no_sharing(void) {
    return softnpu_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                        "softnpu does not emulate NPU memory shared between processes: send a copy in "
                        "host memory, x.cpu(). This says nothing about a chip.");
}

EXPORT aclError aclrtIpcMemGetExportKey(void) { return no_sharing(); }
EXPORT aclError aclrtIpcMemImportByKey(void) { return no_sharing(); }
EXPORT aclError aclrtIpcMemSetImportPid(void) { return no_sharing(); }
EXPORT aclError aclrtIpcMemClose(void) { return no_sharing(); }
