/* The guard of the NPU's memory against the host's code. */
#ifndef SOFTNPU_GUARD_H
#define SOFTNPU_GUARD_H

void softnpu_guard(void); /* from here on */

#endif
