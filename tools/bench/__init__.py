"""What the software NPU costs: ``python -m tools.bench``."""
