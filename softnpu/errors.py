"""The one exception that softnpu raises for a mistake a person can correct."""


class SoftNpuError(RuntimeError):
    """What is wrong and what to do about it, in one message."""
