/* The arguments of an operator as Python objects. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "handle.h"
#include "interpreter.h"
#include "python.h"
#include "signature.h"

/* DLPack, the interchange format for tensors that torch reads without a copy. */
typedef struct managed_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t type_code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *context;
    void (*deleter)(struct managed_tensor *);
    int64_t shape_and_strides[];
} managed_tensor;

static object *from_dlpack; /* torch's importer of DLPack capsules */

bool softnpu_convert_start(object *bridge) {
    return (from_dlpack = PyObject_GetAttrString(bridge, "from_dlpack")) != NULL;
}

static void drop_managed(managed_tensor *tensor) { free(tensor); }

/* DLPack's type codes for an aclDataType; bits is 0 for one torch cannot hold. */
static void dlpack_type(int dtype, uint8_t *code, uint8_t *bits) {
    enum { INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4, COMPLEX = 5, BOOL = 6 };
    static const struct {
        uint8_t code, bits;
    } types[] = {
        [0] = {FLOAT, 32},  [1] = {FLOAT, 16},    [2] = {INT, 8},       [3] = {INT, 32},
        [4] = {UINT, 8},    [6] = {INT, 16},      [7] = {UINT, 16},     [8] = {UINT, 32},
        [9] = {INT, 64},    [10] = {UINT, 64},    [11] = {FLOAT, 64},   [12] = {BOOL, 8},
        [16] = {COMPLEX, 64}, [17] = {COMPLEX, 128}, [27] = {BFLOAT, 16}, [33] = {COMPLEX, 32},
    };
    bool known = dtype >= 0 && (size_t)dtype < sizeof types / sizeof *types;
    *code = known ? types[dtype].code : 0;
    *bits = known ? types[dtype].bits : 0;
}

static object *as_tensor(const softnpu_tensor *tensor) {
    if (!tensor || tensor->handle.magic != MAGIC_TENSOR) {
        Py_IncRef(softnpu_none);
        return softnpu_none;
    }
    uint8_t code, bits;
    dlpack_type(tensor->dtype, &code, &bits);
    if (bits == 0) {
        return PyErr_Format(PyExc_NotImplementedError,
                            "softnpu's kernels have no tensors of the aclDataType %d", tensor->dtype);
    }
    size_t rank = (size_t)tensor->rank;
    managed_tensor *managed = calloc(1, sizeof *managed + 2 * rank * sizeof(int64_t));
    /* Not in byte_offset, which torch 2.7 does not look at. */
    if (tensor->elements) { /* not set where there are no elements: then the offset is anything */
        managed->data = tensor->elements + tensor->offset * bits / 8;
    }
    managed->device_type = 1; /* kDLCPU */
    managed->rank = tensor->rank;
    managed->type_code = code;
    managed->bits = bits;
    managed->lanes = 1;
    managed->shape = managed->shape_and_strides;
    managed->strides = managed->shape + rank;
    memcpy(managed->shape, tensor->shape, rank * sizeof(int64_t));
    memcpy(managed->strides, tensor->strides, rank * sizeof(int64_t));
    managed->deleter = drop_managed;
    object *capsule = PyCapsule_New(managed, "dltensor", NULL);
    object *view = PyObject_CallFunctionObjArgs(from_dlpack, capsule, NULL);
    forget(capsule);
    return view;
}

static double half_to_double(uint16_t half) {
    int exponent = (half >> 10) & 31;
    double fraction = half & 1023;
    double magnitude = exponent == 31  ? (fraction ? __builtin_nan("") : __builtin_inf())
                       : exponent == 0 ? fraction * 0x1p-24
                                       : (1024 + fraction) * __builtin_ldexp(1.0, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static double bfloat_to_double(uint16_t value) {
    uint32_t bits = (uint32_t)value << 16;
    float single;
    memcpy(&single, &bits, sizeof single);
    return single;
}

static object *as_number(const softnpu_scalar *scalar) {
    if (!scalar || scalar->handle.magic != MAGIC_SCALAR) {
        Py_IncRef(softnpu_none);
        return softnpu_none;
    }
    union {
        uint8_t bytes[16];
        float f[2];
        double d[2];
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } value;
    memcpy(value.bytes, scalar->value.bytes, sizeof value.bytes);
    switch (scalar->dtype) {
    case 0:
        return PyFloat_FromDouble(value.f[0]);
    case 1:
        return PyFloat_FromDouble(half_to_double(value.u16));
    case 2:
        return PyLong_FromLongLong(value.i8);
    case 3:
        return PyLong_FromLongLong(value.i32);
    case 4:
        return PyLong_FromLongLong(value.u8);
    case 6:
        return PyLong_FromLongLong(value.i16);
    case 7:
        return PyLong_FromLongLong(value.u16);
    case 8:
        return PyLong_FromLongLong(value.u32);
    case 9:
        return PyLong_FromLongLong(value.i64);
    case 10:
        return PyLong_FromUnsignedLongLong(value.u64);
    case 11:
        return PyFloat_FromDouble(value.d[0]);
    case 12:
        return PyBool_FromLong(value.u8);
    case 16:
        return PyComplex_FromDoubles(value.f[0], value.f[1]);
    case 17:
        return PyComplex_FromDoubles(value.d[0], value.d[1]);
    case 27:
        return PyFloat_FromDouble(bfloat_to_double(value.u16));
    default:
        Py_IncRef(softnpu_none);
        return softnpu_none;
    }
}

static object *item_of(const softnpu_array *array, uint64_t i, char kind) {
    switch (kind) {
    case 'L':
        return as_tensor(((softnpu_tensor **)array->items)[i]);
    case 'Z':
        return as_number(((softnpu_scalar **)array->items)[i]);
    case 'I':
        return PyLong_FromLongLong(((int64_t *)array->items)[i]);
    case 'B':
        return PyBool_FromLong(((bool *)array->items)[i]);
    default:
        return PyFloat_FromDouble(((float *)array->items)[i]);
    }
}

static object *as_tuple(const softnpu_array *array, char kind) {
    if (!array || array->handle.magic != MAGIC_ARRAY) {
        Py_IncRef(softnpu_none);
        return softnpu_none;
    }
    object *tuple = PyTuple_New((intptr_t)array->length);
    for (uint64_t i = 0; i < array->length; i++) {
        object *item = item_of(array, i, kind);
        if (!item) {
            forget(tuple);
            return NULL;
        }
        PyTuple_SetItem(tuple, (intptr_t)i, item);
    }
    return tuple;
}

object *softnpu_as_argument(softnpu_slot slot, char kind) {
    switch (kind) {
    case 'T':
        return as_tensor(slot.pointer);
    case 'S':
        return as_number(slot.pointer);
    case 'L':
    case 'Z':
    case 'I':
    case 'B':
    case 'F':
        return as_tuple(slot.pointer, kind);
    case 'd':
        return PyFloat_FromDouble(slot.real);
    case 'b':
        return PyBool_FromLong((long)slot.integer);
    case 's':
        return PyUnicode_FromString(slot.pointer ? slot.pointer : "");
    default:
        return PyLong_FromLongLong(slot.integer);
    }
}
