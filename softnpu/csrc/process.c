/* The beginning and the end of the NPU in a process: here the parts are put together. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "blocks.h"
#include "device.h"
#include "error.h"
#include "guard.h"
#include "kernel.h"
#include "limits.h"
#include "stream.h"

static bool initialized;
static char soc_name[64] = "Ascend910B1";

/* How Python code tells the software library from CANN's. */
EXPORT int softnpu_is_software(void) { return 1; }

EXPORT aclError aclInit(const char *config_path) {
    if (initialized) {
        return ACL_ERROR_REPEAT_INITIALIZE;
    }
    int device = -1;
    aclError code = softnpu_kernels_start(config_path, &device);
    initialized = code == ACL_SUCCESS;
    if (initialized) {
        softnpu_set_default_device(device);
        softnpu_guard();
    }
    return code;
}

EXPORT aclError aclFinalize(void) {
    softnpu_synchronize_all();
    softnpu_set_default_device(-1);
    initialized = false;
    return ACL_SUCCESS;
}

/* Called by softnpu/bridge.py while aclInit runs, with values it has checked. */
EXPORT void softnpu_configure(const char *soc, int product, uint64_t memory_bytes) {
    softnpu_set_product(product);
    snprintf(soc_name, sizeof soc_name, "%s", soc);
    softnpu_set_memory(memory_bytes);
}

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
