/* Codes of errors, and the message of a thread's last one. */
#ifndef SOFTNPU_ERROR_H
#define SOFTNPU_ERROR_H

#define EXPORT __attribute__((visibility("default")))

typedef int aclError;

/* Return codes, with the values of CANN's acl_base.h and aclnn error table. */
enum {
    ACL_SUCCESS = 0,
    ACL_ERROR_INVALID_PARAM = 100000,
    ACL_ERROR_REPEAT_INITIALIZE = 100002,
    ACL_ERROR_RT_PARAM_INVALID = 107000,
    ACL_ERROR_RT_INVALID_DEVICEID = 107001,
    ACL_ERROR_RT_CONTEXT_NULL = 107002,
    ACLNN_ERR_PARAM_NULLPTR = 161001,
    ACLNN_ERR_PARAM_INVALID = 161002,
    ACL_ERROR_BAD_ALLOC = 200000,
    ACL_ERROR_FEATURE_UNSUPPORTED = 200006,
    ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
    ACL_ERROR_RT_NO_DEVICE = 207004,
    ACLNN_ERR_RUNTIME = 361001,
    ACLNN_ERR_NO_KERNEL = 561103,
};

/* Keeps a message for aclGetRecentErrMsg() of this thread and returns `code`. */
aclError softnpu_fail(aclError code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

EXPORT const char *aclGetRecentErrMsg(void);

#endif
