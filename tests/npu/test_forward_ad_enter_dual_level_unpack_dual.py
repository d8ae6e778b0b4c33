"""
Why this file is needed: nearly all of PyTorch's tests of torch.autograd.forward_ad make their
tensors on the CPU. The few that put one on an NPU call neither enter_dual_level nor compare with
the CPU, so nothing shows that a level, a dual tensor and its tangent behave there as they do on it.

What it validates, for enter_dual_level and unpack_dual, one group of tests for each item:
  1. enter_dual_level returns a valid integer level
  2. that level, passed on to make_dual and unpack_dual, makes and unpacks a dual tensor
  3. primal and tangent stay on the device
  4. exit_dual_level ends the level: the tangent of a dual tensor made in it is None
  5. the forward gradient of x * x is 2 * x * tangent
  6. primal and tangent equal those that the CPU computes
  7. float16 and float32 dual tensors unpack in the dtype that they were made with
  8. unpack_dual of an ordinary tensor gives the tensor and None
"""

import torch
import torch.autograd.forward_ad as fwAD
from torch.testing._internal.common_utils import TestCase, run_tests

device = torch.accelerator.current_accelerator()


class TestForwardADEnterDualLevelUnpackDual(TestCase):
    def setUp(self):
        super().setUp()
        # The same numbers twice: on the CPU for the expectation, on the device for the test.
        # Each is exact in float16, and so are the results.
        self.cpu_x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.5]])
        self.cpu_v = torch.tensor([[2.0, 0.5, -1.0], [1.0, 4.0, -2.0]])
        self.x = self.cpu_x.to(device)
        self.v = self.cpu_v.to(device)

    # 1. level creation

    def test_item1_level_is_a_valid_integer(self):
        level = fwAD.enter_dual_level()
        self.addCleanup(fwAD.exit_dual_level, level=level)
        self.assertIs(type(level), int)
        self.assertGreaterEqual(level, 0)

    def test_item1_level_is_free_again_after_exit(self):
        first = fwAD.enter_dual_level()
        fwAD.exit_dual_level(level=first)
        second = fwAD.enter_dual_level()
        fwAD.exit_dual_level(level=second)
        self.assertEqual(first, second)

    def test_item1_second_level_is_refused(self):
        level = fwAD.enter_dual_level()
        self.addCleanup(fwAD.exit_dual_level, level=level)
        with self.assertRaisesRegex(RuntimeError, "Nested forward mode AD is not supported"):
            fwAD.enter_dual_level()

    # 2. explicit level

    def test_item2_explicit_level_makes_and_unpacks(self):
        level = fwAD.enter_dual_level()
        self.addCleanup(fwAD.exit_dual_level, level=level)
        dual = fwAD.make_dual(self.x, self.v, level=level)
        unpacked = fwAD.unpack_dual(dual, level=level)
        self.assertIsInstance(unpacked, fwAD.UnpackedDualTensor)
        self.assertEqual(unpacked.primal.cpu(), self.cpu_x)
        self.assertEqual(unpacked.tangent.cpu(), self.cpu_v)

    def test_item2_explicit_level_is_the_default_level(self):
        level = fwAD.enter_dual_level()
        self.addCleanup(fwAD.exit_dual_level, level=level)
        dual = fwAD.make_dual(self.x, self.v, level=level)
        self.assertEqual(fwAD.unpack_dual(dual).tangent.cpu(), self.cpu_v)

    # 3. device kept

    def test_item3_primal_and_tangent_stay_on_the_device(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            primal, tangent = fwAD.unpack_dual(dual)
            self.assertEqual(dual.device, self.x.device)
            self.assertEqual(primal.device, self.x.device)
            self.assertEqual(tangent.device, self.x.device)
            self.assertEqual(tangent.device.type, device.type)

    def test_item3_result_stays_on_the_device(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            primal, tangent = fwAD.unpack_dual(dual * dual)
            self.assertEqual(primal.device, self.x.device)
            self.assertEqual(tangent.device, self.x.device)

    def test_item3_memory_is_shared_not_copied(self):
        with fwAD.dual_level():
            primal, tangent = fwAD.unpack_dual(fwAD.make_dual(self.x, self.v))
            self.assertEqual(primal.data_ptr(), self.x.data_ptr())
            self.assertEqual(tangent.data_ptr(), self.v.data_ptr())

    # 4. exit and clean-up

    def test_item4_tangent_is_none_after_exit(self):
        level = fwAD.enter_dual_level()
        dual = fwAD.make_dual(self.x, self.v)
        before = fwAD.unpack_dual(dual)
        fwAD.exit_dual_level(level=level)
        after = fwAD.unpack_dual(dual)
        self.assertEqual(before.tangent.cpu(), self.cpu_v)
        self.assertIsNone(after.tangent)
        self.assertEqual(after.primal.cpu(), self.cpu_x)

    def test_item4_next_level_does_not_see_the_old_tangent(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
        with fwAD.dual_level():
            self.assertIsNone(fwAD.unpack_dual(dual).tangent)

    def test_item4_tangent_held_elsewhere_stays_valid(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            tangent = fwAD.unpack_dual(dual * dual).tangent
        self.assertEqual(tangent.cpu(), 2 * self.cpu_x * self.cpu_v)

    # 5. forward gradient

    def test_item5_square_has_the_closed_form_gradient(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            primal, tangent = fwAD.unpack_dual(dual * dual)
            self.assertEqual(primal.cpu(), self.cpu_x**2)
            self.assertEqual(tangent.cpu(), 2 * self.cpu_x * self.cpu_v)

    # 6. CPU and device agree

    def test_item6_forward_mode_on_the_cpu_agrees(self):
        with fwAD.dual_level():
            expected = fwAD.unpack_dual(self.chain(fwAD.make_dual(self.cpu_x, self.cpu_v)))
            actual = fwAD.unpack_dual(self.chain(fwAD.make_dual(self.x, self.v)))
            self.assertEqual(actual.primal.cpu(), expected.primal)
            self.assertEqual(actual.tangent.cpu(), expected.tangent)

    def test_item6_reverse_mode_on_the_cpu_agrees(self):
        # Another algorithm on another device: row i of the Jacobian from backward, times v.
        jacobian = torch.autograd.functional.jacobian(self.chain, self.cpu_x)
        expected = torch.tensordot(jacobian, self.cpu_v, dims=2)
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            tangent = fwAD.unpack_dual(self.chain(dual)).tangent
            self.assertEqual(tangent.cpu(), expected)

    # 7. dtypes

    def test_item7_float16(self):
        self.check_dtype(torch.float16)

    def test_item7_float32(self):
        self.check_dtype(torch.float32)

    # 8. plain tensor

    def test_item8_plain_tensor_inside_a_level(self):
        with fwAD.dual_level():
            primal, tangent = fwAD.unpack_dual(self.x)
            self.assertIsNone(tangent)
            self.assertEqual(primal.device, self.x.device)
            self.assertEqual(primal.cpu(), self.cpu_x)

    def test_item8_plain_tensor_outside_a_level(self):
        primal, tangent = fwAD.unpack_dual(self.x)
        self.assertIs(primal, self.x)
        self.assertIsNone(tangent)

    # What the tests share

    @staticmethod
    def chain(x):
        """Several operators, one of which mixes the elements."""
        return torch.exp(-x * x) + x.sum() * torch.sin(x)

    def check_dtype(self, dtype):
        cpu_x, cpu_v = self.cpu_x.to(dtype), self.cpu_v.to(dtype)
        with fwAD.dual_level():
            dual = fwAD.make_dual(cpu_x.to(device), cpu_v.to(device))
            primal, tangent = fwAD.unpack_dual(dual)
            self.assertEqual(primal.dtype, dtype)
            self.assertEqual(tangent.dtype, dtype)
            self.assertEqual(primal.cpu(), cpu_x)
            self.assertEqual(tangent.cpu(), cpu_v)
            primal, tangent = fwAD.unpack_dual(dual * dual)
            self.assertEqual(primal.dtype, dtype)
            self.assertEqual(tangent.dtype, dtype)
            self.assertEqual(primal.cpu(), cpu_x * cpu_x)
            self.assertEqual(tangent.cpu(), 2 * cpu_x * cpu_v)


if __name__ == "__main__":
    run_tests()
