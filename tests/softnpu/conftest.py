"""The tests run on the software NPU: it is turned on before torch is imported."""

import softnpu

softnpu.activate()
