"""A software Ascend NPU under the unmodified torch_npu wheel.

``activate()`` before ``import torch``, or ``source softnpu/set_env.sh``, or
``python -m softnpu run SCRIPT``. See softnpu/README.md.
"""

from .activation import activate, environment, fingerprint, is_software
from .errors import SoftNpuError

__all__ = ["SoftNpuError", "activate", "environment", "fingerprint", "is_software"]
__version__ = "0.1.0"
