/* Refuses what CANN's operator documents do not accept: products, dtypes, ranks, storage formats.
 * The tables come from limits.tsv, through limits.py. */
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "handle.h"
#include "limits.h"
#include "signature.h"

static int product; /* that is emulated */

void softnpu_set_product(int emulated) { product = emulated; }

static const char *const products[SOFTNPU_PRODUCTS] = {"A2", "A3", "950DT"};

static const char *const dtypes[64] = {
    [0] = "DT_FLOAT",          [1] = "DT_FLOAT16",      [2] = "DT_INT8",
    [3] = "DT_INT32",          [4] = "DT_UINT8",        [6] = "DT_INT16",
    [7] = "DT_UINT16",         [8] = "DT_UINT32",       [9] = "DT_INT64",
    [10] = "DT_UINT64",        [11] = "DT_DOUBLE",      [12] = "DT_BOOL",
    [13] = "DT_STRING",        [16] = "DT_COMPLEX64",   [17] = "DT_COMPLEX128",
    [27] = "DT_BFLOAT16",      [29] = "DT_INT4",        [33] = "DT_COMPLEX32",
    [34] = "DT_HIFLOAT8",      [35] = "DT_FLOAT8_E5M2", [36] = "DT_FLOAT8_E4M3FN",
    [37] = "DT_FLOAT8_E8M0",   [40] = "DT_FLOAT4_E2M1", [41] = "DT_FLOAT4_E1M2",
};

/* aclFormat: NC1HWC0, FRACTAL_Z, NZ, NDC1HWC0, FRACTAL_Z_3D. Every other one is plain. */
static const uint64_t private_formats =
    1ULL << 3 | 1ULL << 4 | 1ULL << 29 | 1ULL << 32 | 1ULL << 33;

/* The start of every message: CANN's code for a wrong parameter, process and time as CANN has
 * them, and that there is no chip. */
static aclError refuse(aclError code, const softnpu_operator *op, const char *why) {
    struct timeval now;
    struct tm parts;
    char when[32] = "";
    gettimeofday(&now, NULL);
    if (localtime_r(&now.tv_sec, &parts)) {
        strftime(when, sizeof when, "%Y-%m-%d-%H:%M:%S", &parts);
    }
    return softnpu_fail(code, "EZ1001: [PID: %d] %s.%03d.%03d (softnpu) %s: %s. Source: %s",
                        (int)getpid(), when, (int)(now.tv_usec / 1000), (int)(now.tv_usec % 1000),
                        op->name, why, op->limits->document);
}

static const char *dtype_name(int dtype) {
    const char *name = dtype >= 0 && dtype < 64 ? dtypes[dtype] : NULL;
    return name ? name : "an unknown dtype";
}

static aclError refuse_dtype(const softnpu_operator *op, const char *name, int dtype,
                             uint64_t accepted) {
    char why[1024];
    int length = snprintf(why, sizeof why, "%s not implemented for %s, should be in dtype support list [",
                          name, dtype_name(dtype));
    for (int i = 0; i < 64; i++) {
        if (accepted >> i & 1) {
            length += snprintf(why + length, sizeof why - (size_t)length, "%s,", dtype_name(i));
        }
    }
    snprintf(why + length - 1, sizeof why - (size_t)length + 1, "] on %s",
             products[product]);
    return refuse(ACLNN_ERR_PARAM_INVALID, op, why);
}

static aclError refuse_rank(const softnpu_operator *op, const char *name, int rank,
                            uint64_t accepted) {
    char why[512];
    int length = snprintf(why, sizeof why, "%s has %d dimensions, should have ", name, rank);
    for (int i = 0; i < 64; i++) {
        if (accepted >> i & 1) {
            length += snprintf(why + length, sizeof why - (size_t)length, "%d,", i);
        }
    }
    why[length - 1] = '\0'; /* the last comma */
    return refuse(ACLNN_ERR_PARAM_INVALID, op, why);
}

static aclError check_tensor(const softnpu_operator *op, const softnpu_limit *limit,
                             const softnpu_tensor *tensor) {
    if (!tensor || !limit->ranks) {
        return ACL_SUCCESS; /* absent, or not in the document */
    }
    uint64_t accepted = limit->dtypes[product];
    if (accepted && !(accepted >> (tensor->dtype & 63) & 1)) {
        return refuse_dtype(op, limit->parameter, tensor->dtype, accepted);
    }
    if (tensor->rank > 63 || !(limit->ranks >> tensor->rank & 1)) {
        return refuse_rank(op, limit->parameter, tensor->rank, limit->ranks);
    }
    if (tensor->format > 0 && (private_formats & ~limit->formats) >> (tensor->format & 63) & 1) {
        char why[256];
        snprintf(why, sizeof why, "%s has the private storage format %d, which is not accepted",
                 limit->parameter, tensor->format);
        return refuse(ACLNN_ERR_PARAM_INVALID, op, why);
    }
    return ACL_SUCCESS;
}

/* torch_npu fills the gaps of a list of indices with tensors of no elements. */
static bool is_gap(const softnpu_tensor *tensor) {
    return tensor && tensor->rank == 1 && tensor->shape[0] == 0;
}

static aclError check_list(const softnpu_operator *op, const softnpu_limit *limit,
                           const softnpu_array *list) {
    aclError code = ACL_SUCCESS;
    for (uint64_t i = 0; list && i < list->length && code == ACL_SUCCESS; i++) {
        const softnpu_tensor *member = ((softnpu_tensor *const *)list->items)[i];
        code = is_gap(member) ? ACL_SUCCESS : check_tensor(op, limit, member);
    }
    return code;
}

aclError softnpu_check_limits(const softnpu_operator *op, const softnpu_slot *slots) {
    const softnpu_limits *limits = op->limits;
    if (!limits) {
        return ACL_SUCCESS;
    }
    if (!(limits->products >> product & 1)) {
        char why[128];
        snprintf(why, sizeof why, "not supported on %s", products[product]);
        return refuse(ACLNN_ERR_PARAM_INVALID, op, why);
    }
    if (limits->first_required && !slots[0].pointer) {
        char why[256];
        snprintf(why, sizeof why, "%s must not be null", limits->parameters[0].parameter);
        return refuse(ACLNN_ERR_PARAM_NULLPTR, op, why);
    }
    aclError code = ACL_SUCCESS;
    for (int i = 0; op->kinds[i] && code == ACL_SUCCESS; i++) {
        if (op->kinds[i] == 'T') {
            code = check_tensor(op, &limits->parameters[i], slots[i].pointer);
        } else if (op->kinds[i] == 'L') {
            code = check_list(op, &limits->parameters[i], slots[i].pointer);
        }
    }
    return code;
}
