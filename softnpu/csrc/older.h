/* The older way to call an operator. */
#ifndef SOFTNPU_OLDER_H
#define SOFTNPU_OLDER_H

#include "error.h"
#include "signature.h"

/* The parameters of those that have a kernel: inputs, outputs, attributes. */
#define SOFTNPU_OLDER_KINDS "LLs"

/* Called by libopapi.so, which has the table, when it is loaded. */
EXPORT void softnpu_take_operators(const softnpu_operator *operators, int count);

#endif
