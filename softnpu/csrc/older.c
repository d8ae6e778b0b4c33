/* The older way to call an operator: descriptions of tensors, buffers and attributes, in one call.
 * Those that have a kernel get their inputs, their outputs and their attributes as text. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "handle.h"
#include "older.h"
#include "operator.h"
#include "pool.h"

enum {
    MAGIC_DESCRIPTION = 0x43534453,
    MAGIC_BUFFER = 0x46554253,
    MAGIC_ATTRIBUTES = 0x54544153,
};
enum { MOST_DIMENSIONS = 64, MOST_TENSORS = 64 };

typedef struct {
    softnpu_handle handle;
    int dtype; /* negative for a tensor that is absent */
    int format;
    int rank;
    int64_t shape[MOST_DIMENSIONS];
} description;

typedef struct {
    softnpu_handle handle;
    void *data;
} buffer;

typedef struct {
    softnpu_handle handle;
    char *text; /* a line "name=value" for each */
} attributes;

static const softnpu_operator *table;
static int table_length;

EXPORT void softnpu_take_operators(const softnpu_operator *operators, int count) {
    table = operators;
    table_length = count;
}

EXPORT void *aclCreateTensorDesc(int dtype, int rank, const int64_t *shape, int format) {
    if (rank < 0 || rank > MOST_DIMENSIONS || (rank && !shape)) {
        softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: aclCreateTensorDesc: %d dimensions", rank);
        return NULL;
    }
    description *made = softnpu_new(MAGIC_DESCRIPTION, NULL);
    if (made) {
        made->dtype = dtype;
        made->format = format;
        made->rank = rank;
        for (int i = 0; i < rank; i++) {
            made->shape[i] = shape[i];
        }
    }
    return made;
}

EXPORT void aclDestroyTensorDesc(const void *handle) { softnpu_destroy(handle, MAGIC_DESCRIPTION); }

EXPORT void *aclCreateDataBuffer(void *data, size_t size) {
    (void)size;
    buffer *made = softnpu_new(MAGIC_BUFFER, NULL);
    if (made) {
        made->data = data;
    }
    return made;
}

EXPORT aclError aclDestroyDataBuffer(const void *handle) {
    softnpu_destroy(handle, MAGIC_BUFFER);
    return ACL_SUCCESS;
}

/* What only a chip's compiler needs: names, private formats and where a value lies. */
#define ACCEPTED(name) \
    EXPORT aclError name(void) { return ACL_SUCCESS; }
ACCEPTED(aclSetTensorDescName)
ACCEPTED(aclSetTensorFormat)
ACCEPTED(aclSetTensorPlaceMent)
ACCEPTED(aclSetTensorShape)
/* No operator with a kernel has attributes of these types. */
ACCEPTED(aclopSetAttrDataType)
ACCEPTED(aclopSetAttrListBool)
ACCEPTED(aclopSetAttrListFloat)
ACCEPTED(aclopSetAttrListInt)
ACCEPTED(aclopSetAttrListListInt)

static void clear_attributes(void *pointer) { free(((attributes *)pointer)->text); }

EXPORT void *aclopCreateAttr(void) { return softnpu_new(MAGIC_ATTRIBUTES, clear_attributes); }
EXPORT void aclopDestroyAttr(const void *handle) { softnpu_destroy(handle, MAGIC_ATTRIBUTES); }

static aclError add(void *handle, const char *name, const char *value) {
    attributes *known = softnpu_find(handle, MAGIC_ATTRIBUTES);
    char *longer = NULL;
    if (!known || !name || !value ||
        asprintf(&longer, "%s%s=%s\n", known->text ? known->text : "", name, value) < 0) {
        return softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: an attribute of an older operator is lost");
    }
    free(known->text);
    known->text = longer;
    return ACL_SUCCESS;
}

EXPORT aclError aclopSetAttrString(void *handle, const char *name, const char *value) {
    return add(handle, name, value);
}

EXPORT aclError aclopSetAttrInt(void *handle, const char *name, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return add(handle, name, text);
}

EXPORT aclError aclopSetAttrBool(void *handle, const char *name, uint8_t value) {
    return add(handle, name, value ? "1" : "0");
}

EXPORT aclError aclopSetAttrFloat(void *handle, const char *name, float value) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", (double)value);
    return add(handle, name, text);
}

static int index_of(const char *name) {
    for (int i = 0; name && i < table_length; i++) {
        if (strcmp(table[i].name, name) == 0 && strcmp(table[i].kinds, SOFTNPU_OLDER_KINDS) == 0) {
            return i;
        }
    }
    return -1;
}

/* A list of tensors; NULL and a message where one cannot be made. */
static softnpu_array *list_of(int count, void *const *descriptions, void *const *buffers) {
    softnpu_tensor *tensors[MOST_TENSORS];
    if (count < 0 || count > MOST_TENSORS || (count && (!descriptions || !buffers))) {
        softnpu_fail(ACL_ERROR_INVALID_PARAM, "softnpu: an older operator with %d tensors", count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        const description *of = softnpu_find(descriptions[i], MAGIC_DESCRIPTION);
        const buffer *in = softnpu_find(buffers[i], MAGIC_BUFFER);
        bool there = of && in && of->dtype >= 0;
        tensors[i] = there ? aclCreateTensor(of->shape, (uint64_t)of->rank, of->dtype, NULL, 0,
                                             of->format, of->shape, (uint64_t)of->rank, in->data)
                           : NULL;
    }
    return aclCreateTensorList(tensors, (uint64_t)count);
}

static aclError execute(const char *name, int inputs, void *const *input_descriptions,
                        void *const *input_buffers, int outputs, void *const *output_descriptions,
                        void *const *output_buffers, const void *attributes_handle, void *stream) {
    int index = index_of(name);
    if (index < 0) {
        return softnpu_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "softnpu has no kernel for the older operator %s. This says nothing about "
                            "a chip.",
                            name ? name : "(unnamed)");
    }
    const attributes *given = softnpu_find(attributes_handle, MAGIC_ATTRIBUTES);
    softnpu_array *in = list_of(inputs, input_descriptions, input_buffers);
    softnpu_array *out = list_of(outputs, output_descriptions, output_buffers);
    softnpu_slot slots[] = {{.pointer = in},
                            {.pointer = out},
                            {.pointer = given && given->text ? given->text : ""}};
    uint64_t size;
    void *executor;
    aclError code = in && out ? softnpu_prepare(table, index, slots, &size, &executor)
                              : ACL_ERROR_INVALID_PARAM;
    if (code == ACL_SUCCESS) {
        code = softnpu_execute(executor, stream);
    }
    aclDestroyTensorList(in);
    aclDestroyTensorList(out);
    return code;
}

EXPORT aclError aclopCompileAndExecute(const char *name, int inputs, void *const *input_descriptions,
                                       void *const *input_buffers, int outputs,
                                       void *const *output_descriptions, void *const *output_buffers,
                                       const void *attribute, int engine, int flag, const char *path,
                                       void *stream) {
    (void)engine, (void)flag, (void)path;
    return execute(name, inputs, input_descriptions, input_buffers, outputs, output_descriptions,
                   output_buffers, attribute, stream);
}

EXPORT aclError aclopCompileAndExecuteV2(const char *name, int inputs, void *const *input_descriptions,
                                         void *const *input_buffers, int outputs,
                                         void *const *output_descriptions,
                                         void *const *output_buffers, const void *attribute, int engine,
                                         int flag, const char *path, void *stream) {
    (void)engine, (void)flag, (void)path;
    return execute(name, inputs, input_descriptions, input_buffers, outputs, output_descriptions,
                   output_buffers, attribute, stream);
}
