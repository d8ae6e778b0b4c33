/* What CANN's documents accept. */
#ifndef SOFTNPU_LIMITS_H
#define SOFTNPU_LIMITS_H

#include "error.h"
#include "signature.h"

/* Refuses arguments, all of them live handles, that CANN's documents do not accept. */
aclError softnpu_check_limits(const softnpu_operator *op, const softnpu_slot *slots);

void softnpu_set_product(int product); /* that is emulated: its place in soc.py's list */

#endif
