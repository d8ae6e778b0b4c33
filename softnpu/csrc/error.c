/* Error messages: each thread keeps its last one until it is asked for. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

enum { MESSAGE_SIZE = 16384 };

static __thread char pending[MESSAGE_SIZE];
static __thread char handed_out[MESSAGE_SIZE];

aclError softnpu_fail(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(pending, sizeof pending, format, arguments);
    va_end(arguments);
    return code;
}

/* CANN hands a message out once; the pointer stays valid until the next call. */
EXPORT const char *aclGetRecentErrMsg(void) {
    if (pending[0] == '\0') {
        return NULL;
    }
    memcpy(handed_out, pending, sizeof handed_out);
    pending[0] = '\0';
    return handed_out;
}
