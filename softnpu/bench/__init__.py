"""What the software NPU costs: ``python -m softnpu.bench``."""
