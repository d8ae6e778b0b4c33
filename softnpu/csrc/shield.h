/* Calls of kernels, shielded from the state of the caller's thread. */
#ifndef SOFTNPU_SHIELD_H
#define SOFTNPU_SHIELD_H

#include <stdbool.h>

#include "python.h"

/* Makes the shield ready; false and a Python error where that fails. */
bool softnpu_shield_start(object *bridge);

/* NULL and a Python error where the kernel raises. */
object *softnpu_call_shielded(object *kernel, object *arguments, object *keywords);

#endif
