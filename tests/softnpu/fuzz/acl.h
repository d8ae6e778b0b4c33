/* The functions that the harness calls by name; handle.h has the types. */
#ifndef FUZZ_ACL_H
#define FUZZ_ACL_H

#include "handle.h"

softnpu_array *aclCreateBoolArray(const bool *items, uint64_t length);
softnpu_array *aclCreateFloatArray(const float *items, uint64_t length);
softnpu_array *aclCreateIntArray(const int64_t *items, uint64_t length);
softnpu_scalar *aclCreateScalar(const void *value, int dtype);
softnpu_array *aclCreateScalarList(softnpu_scalar *const *items, uint64_t length);
softnpu_tensor *aclCreateTensor(const int64_t *shape, uint64_t rank, int dtype,
                                const int64_t *strides, int64_t offset, int format,
                                const int64_t *storage_shape, uint64_t storage_rank, void *data);
softnpu_array *aclCreateTensorList(softnpu_tensor *const *items, uint64_t length);
aclError aclDestroyAclOpExecutor(void *executor);
aclError aclDestroyBoolArray(softnpu_array *array);
aclError aclDestroyFloatArray(softnpu_array *array);
aclError aclDestroyIntArray(softnpu_array *array);
aclError aclDestroyScalar(softnpu_scalar *scalar);
aclError aclDestroyScalarList(softnpu_array *list);
aclError aclDestroyTensor(softnpu_tensor *tensor);
aclError aclDestroyTensorList(softnpu_array *list);
aclError aclGetViewShape(const softnpu_tensor *tensor, int64_t **shape, uint64_t *rank);
aclError aclInit(const char *config_path);
int aclnnAbs(void *workspace, uint64_t size, void *executor, void *stream);
int aclnnAbsGetWorkspaceSize(void *self, void *out, uint64_t *size, void **executor);
int aclnnCat(void *workspace, uint64_t size, void *executor, void *stream);
int aclnnCatGetWorkspaceSize(void *tensors, int64_t dim, void *out, uint64_t *size, void **executor);
aclError aclrtCreateEventWithFlag(void **result, uint32_t flags);
aclError aclrtCreateStream(void **result);
aclError aclrtDestroyEvent(void *event);
aclError aclrtDestroyStream(void *stream);
aclError aclrtFree(void *start);
aclError aclrtFreeHost(void *start);
aclError aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total_bytes);
aclError aclrtMalloc(void **result, size_t size, int policy);
aclError aclrtMallocHost(void **result, size_t size);
aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t size, int kind);
aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, int kind,
                          void *stream);
aclError aclrtMemset(void *to, size_t room, int32_t value, size_t size);
aclError aclrtMemsetAsync(void *to, size_t room, int32_t value, size_t size, void *stream);
aclError aclrtRecordEvent(void *event, void *stream);
aclError aclrtSetDevice(int32_t device);
aclError aclrtStreamWaitEvent(void *stream, void *event);
aclError aclrtSynchronizeDevice(void);
aclError aclrtSynchronizeStream(void *stream);
void softnpu_configure(const char *soc, int product, uint64_t memory_bytes);
void softnpu_kernel_names(const char *lines);
uint64_t softnpu_live_handles(void);

#endif
