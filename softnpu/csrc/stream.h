/* All streams, and the one that a caller names. */
#ifndef SOFTNPU_STREAM_H
#define SOFTNPU_STREAM_H

#include "backlog.h"
#include "error.h"

/* NULL names the device's own. NULL and a message if unknown. */
softnpu_stream *softnpu_stream_of(void *handle);

aclError softnpu_synchronize_all(void); /* an error where it cannot be waited for */
aclError softnpu_synchronize_device(int device);

#endif
