"""
Why this file is needed: forward-mode AD keeps the dtype of primal and tangent, and nothing shows
for which dtypes that holds on an NPU. Upstream tests it on the CPU, and what is published of the
NPU names no dtype but one.

What it validates, for each public name of torch.autograd.forward_ad and each dtype: the API does
its job with tensors of that dtype on the device. The name of a test is test_API_DTYPE.
  - values equal those that the CPU computes; each is exact in every dtype
  - dtype and device are those of the tensors that went in
"""

import torch
import torch.autograd.forward_ad as fwAD
from torch.testing._internal.common_utils import (
    TestCase,
    instantiate_parametrized_tests,
    parametrize,
    run_tests,
)

device = torch.accelerator.current_accelerator()

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


class TestForwardADDtypes(TestCase):
    @parametrize("dtype", DTYPES, name_fn=name_of)
    def test_enter_dual_level(self, dtype):
        self.make_tensors(dtype)
        level = fwAD.enter_dual_level()
        self.addCleanup(fwAD.exit_dual_level, level=level)
        self.assertIs(type(level), int)
        dual = fwAD.make_dual(self.x, self.v, level=level)
        self.check_pair(fwAD.unpack_dual(dual, level=level), self.cpu_x, self.cpu_v)

    @parametrize("dtype", DTYPES, name_fn=name_of)
    def test_exit_dual_level(self, dtype):
        self.make_tensors(dtype)
        level = fwAD.enter_dual_level()
        dual = fwAD.make_dual(self.x, self.v)
        held = fwAD.unpack_dual(dual * dual)
        fwAD.exit_dual_level(level=level)
        primal, tangent = fwAD.unpack_dual(dual)
        self.assertIsNone(tangent)
        self.check_tensor(primal, self.cpu_x)
        # What was taken out of the level stays valid.
        self.check_pair(held, self.cpu_x * self.cpu_x, 2 * self.cpu_x * self.cpu_v)

    @parametrize("dtype", DTYPES, name_fn=name_of)
    def test_dual_level(self, dtype):
        self.make_tensors(dtype)
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            inside = fwAD.unpack_dual(dual + dual)
        self.check_pair(inside, 2 * self.cpu_x, 2 * self.cpu_v)
        self.assertIsNone(fwAD.unpack_dual(dual).tangent)

    @parametrize("dtype", DTYPES, name_fn=name_of)
    def test_make_dual(self, dtype):
        self.make_tensors(dtype)
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            self.assertEqual(dual.dtype, dtype)
            self.assertEqual(dual.device, self.x.device)
            self.check_pair(
                fwAD.unpack_dual(dual * dual),
                self.cpu_x * self.cpu_x,
                2 * self.cpu_x * self.cpu_v,
            )
            self.assertIsNone(fwAD.unpack_dual(self.x).tangent)

    @parametrize("dtype", DTYPES, name_fn=name_of)
    def test_unpack_dual(self, dtype):
        self.make_tensors(dtype)
        with fwAD.dual_level():
            self.check_pair(
                fwAD.unpack_dual(fwAD.make_dual(self.x, self.v)), self.cpu_x, self.cpu_v
            )
            primal, tangent = fwAD.unpack_dual(self.x)
            self.assertIsNone(tangent)
            self.check_tensor(primal, self.cpu_x)

    @parametrize("dtype", DTYPES, name_fn=name_of)
    def test_UnpackedDualTensor(self, dtype):
        self.make_tensors(dtype)
        with fwAD.dual_level():
            unpacked = fwAD.unpack_dual(fwAD.make_dual(self.x, self.v))
            self.assertIs(type(unpacked), fwAD.UnpackedDualTensor)
            self.assertEqual(unpacked._fields, ("primal", "tangent"))
            self.check_tensor(unpacked.primal, self.cpu_x)
            self.check_tensor(unpacked[1], self.cpu_v)

    # What the tests share

    def make_tensors(self, dtype):
        x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.5]])
        v = torch.tensor([[2.0, 0.5, -1.0], [1.0, 4.0, -2.0]])
        if dtype.is_complex:
            x, v = torch.complex(x, v), torch.complex(v, -x)
        self.cpu_x, self.cpu_v = x.to(dtype), v.to(dtype)
        self.x, self.v = self.cpu_x.to(device), self.cpu_v.to(device)

    def check_pair(self, unpacked, primal, tangent):
        self.check_tensor(unpacked.primal, primal)
        self.check_tensor(unpacked.tangent, tangent)

    def check_tensor(self, actual, expected):
        self.assertEqual(actual.dtype, expected.dtype)
        self.assertEqual(actual.device, self.x.device)
        self.assertEqual(actual.cpu(), expected, rtol=0, atol=0)


instantiate_parametrized_tests(TestForwardADDtypes)

if __name__ == "__main__":
    run_tests()
