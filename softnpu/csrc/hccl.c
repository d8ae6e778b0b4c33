/* Collective communication (HCCL) is not emulated. torch_npu makes a communicator at the first
 * collective: the first rank asks for a root info and sends it to the others, then each rank
 * joins with it. Joining is what fails here, not asking: where asking failed, the other ranks
 * would wait for the first one until their timeout. */
#include <string.h>

#include "error.h"

enum { HCCL_SUCCESS = 0, HCCL_E_NOT_SUPPORT = 5 };

typedef struct {
    char internal[4108]; /* HCCL_ROOT_INFO_BYTES */
} root_info;

static int no_collectives(void) {
    return softnpu_fail(HCCL_E_NOT_SUPPORT,
                        "softnpu does not emulate HCCL (collective communication between NPUs). "
                        "Use the gloo backend with CPU tensors: "
                        "torch.distributed.init_process_group(\"gloo\"), and x.cpu() for a "
                        "collective. This says nothing about a chip.");
}

EXPORT int HcclGetRootInfo(root_info *info) {
    if (!info) {
        return 1;
    }
    memset(info, 0, sizeof *info);
    return HCCL_SUCCESS;
}

EXPORT int HcclCommInitRootInfo(void) { return no_collectives(); }
EXPORT int HcclCommInitRootInfoConfig(void) { return no_collectives(); }
EXPORT int HcclCommInitClusterInfoConfig(void) { return no_collectives(); }
EXPORT int HcclCommInitAll(void) { return no_collectives(); } /* torch.nn.DataParallel */
EXPORT int HcclGroupStart(void) { return no_collectives(); }  /* batch_isend_irecv */

/* torch_npu's graph library sets a configuration, before there is a communicator. */
EXPORT int HcclSetConfig(void) { return HCCL_SUCCESS; }
