"""The fates of a tangent, and how near counts as equal. Needs no torch."""

# The worst first: an operator has the worst status of its samples.
STATUSES = {
    "crashed": "the process died",
    "timeout": "no answer within the time limit",
    "no kernel": "the software NPU has no kernel for an operator that is called",
    "tangent lost": "the CPU has a tangent, the NPU has none, and no error is raised",
    "wrong": "value or tangent differ from the CPU's beyond the tolerance",
    "no error": "the CPU raises an error, the NPU does not",
    "cpu wrong": "the NPU equals the CPU's dual numbers, the CPU's result in this form does not",
    "error": "the NPU raises an error, the CPU does not",
    "cpu fallback": "equal, but torch_npu computes an operator on the host",
    "same": "value and tangent equal the CPU's",
    "both refuse": "the CPU and the NPU both raise an error",
}

# As torch.testing.assert_close, with room for sums in another order.
TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (5e-2, 1e-2),
}
