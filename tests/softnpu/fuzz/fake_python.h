/* The interpreter that the fuzzer runs operators with, and the memory of its tensors. */
#ifndef FUZZ_FAKE_PYTHON_H
#define FUZZ_FAKE_PYTHON_H

/* Objects that somebody still holds. */
long fake_python_objects(void);

/* What torch does with a DLPack tensor: read and write all of it, and drop it. (dlpack.c) */
void dlpack_touch(void *tensor);
void dlpack_drop(void *tensor);

#endif
