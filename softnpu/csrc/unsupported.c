/* What torch_npu links against but the software NPU does not emulate. Each of
 * these exists, because the wheel does not load without it, and fails by name. */
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define UNSUPPORTED(name)                                                                       \
    EXPORT aclError name(void) {                                                                \
        return softnpu_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "softnpu does not emulate " #name); \
    }

/* Reading back a tensor description of an older operator. */
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
