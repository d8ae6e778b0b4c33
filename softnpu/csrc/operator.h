/* The two phases of an `aclnn` call. */
#ifndef SOFTNPU_OPERATOR_H
#define SOFTNPU_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "signature.h"

/* Called by the generated trampolines in libopapi.so. */
EXPORT aclError softnpu_prepare(const softnpu_operator *table, int index, const softnpu_slot *slots,
                                uint64_t *workspace_size, void **executor);
EXPORT aclError softnpu_execute(void *executor, void *stream);

/* The error of an operator that has none; also of those whose parameters are unknown. */
EXPORT aclError softnpu_no_kernel(const char *operator);

const char *softnpu_last_operator(void); /* of this thread */
EXPORT uint64_t softnpu_launches(void);  /* operators launched since the process began */

#endif
