"""Forward-mode AD that is right on the Ascend NPU.

``npu_forward_ad.repair()``, once after ``import torch``, replaces those kernels of torch_npu that lose or
spoil tangents while something is differentiated forward; everything else stays torch_npu's own.
"""

from npu_forward_ad.guard import TangentGuard
from npu_forward_ad.registration import Repair, RepairError, repair, repaired

__all__ = ["Repair", "RepairError", "TangentGuard", "repair", "repaired"]
