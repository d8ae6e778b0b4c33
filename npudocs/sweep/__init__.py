"""The sweep: every operator with a forward formula, on the CPU and on the NPU, with random tangents.

``python -m npudocs.sweep`` (``make sweep``) runs it and writes one record into ``evidence/sweeps``.
"""


class SweepError(Exception):
    """The sweep cannot run or be merged, in words that say what to do."""
