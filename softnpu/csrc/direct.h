/* Which calls torch can compute right into the output. */
#ifndef SOFTNPU_DIRECT_H
#define SOFTNPU_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "signature.h"

/* Whether a pointwise function may write into the output, by out=. */
bool softnpu_tensors_agree(const softnpu_operator *op, const softnpu_slot *slots, intptr_t out);

#endif
