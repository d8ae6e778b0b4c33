/* Calls of the kernels, which are Python functions. */
#ifndef SOFTNPU_KERNEL_H
#define SOFTNPU_KERNEL_H

#include <stdbool.h>

#include "error.h"
#include "signature.h"

/* Also reads the file that aclInit was given, for the default device; -1 where it names none. */
aclError softnpu_kernels_start(const char *config_path, int *default_device);
bool softnpu_has_kernel(const softnpu_operator *op, int index);
aclError softnpu_call_kernel(const softnpu_operator *op, int index, const softnpu_slot *slots);

#endif
