"""
Why this file is needed: PyTorch's class TestAutogradForwardMode checks what a dual tensor shares with its
parts, and makes every tensor on the CPU. Nothing shows that the same holds for tensors of an NPU, where
other code makes, copies and frees them. (Views and in-place operators: test_forward_ad_mode_views.py.)

What it validates, for tensors of the device:
  - what make_dual takes, refuses, shares and copies
  - what unpack_dual returns, and what backward sees of it
  - what is freed, and when
Values are compared with a closed form.
"""

import torch
import torch.autograd.forward_ad as fwAD
from torch.testing._internal.common_utils import (
    TestCase,
    instantiate_parametrized_tests,
    parametrize,
    run_tests,
)
from torch.utils._mode_utils import no_dispatch

device = torch.accelerator.current_accelerator()

BITS = {"plain": lambda z: z, "conj": torch.conj, "neg": torch._neg_view}
# Where both have bits, and not the same, releases of torch_npu differ: what they do is no test.
PAIRS = [("plain", "plain"), ("plain", "conj"), ("plain", "neg"), ("conj", "conj"), ("neg", "neg")]


def tensor(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=device)


class CountsAlias(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func.overloadpacket is torch.ops.aten.alias:
            cls.calls += 1
            with torch.overrides.enable_reentrant_dispatch():
                assert tensor(1.0).requires_grad_().exp().grad_fn is not None
        with no_dispatch():
            return func(*args, **(kwargs or {}))


class TestForwardADMode(TestCase):
    def setUp(self):
        super().setUp()
        self.x, self.v = tensor(1.0, 2.0), tensor(3.0, -1.0)

    def tangent(self, value):
        return fwAD.unpack_dual(value).tangent

    # What make_dual takes, refuses, shares and copies

    def test_make_dual_refuses_a_tangent_of_another_shape(self):
        with fwAD.dual_level():
            with self.assertRaisesRegex(RuntimeError, "forward gradient that has a different size"):
                fwAD.make_dual(self.x, tensor(1.0, 2.0, 3.0))
            part = tensor(1.0, 2.0, 3.0)[1:]
            self.assertEqual(self.tangent(fwAD.make_dual(self.x, part)), tensor(2.0, 3.0))

    def test_make_dual_refuses_integers(self):
        whole = torch.ones(2, dtype=torch.int64, device=device)
        with fwAD.dual_level():
            with self.assertRaisesRegex(ValueError, "Expected tangent to be floating point"):
                fwAD.make_dual(self.x, whole)
            for tangent in (whole, self.v):
                with self.assertRaisesRegex(ValueError, "Expected primal to be floating point"):
                    fwAD.make_dual(whole, tangent)

    def test_make_dual_refuses_a_tangent_that_has_one(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            with self.assertRaisesRegex(RuntimeError, "has a forward gradient at the same level"):
                fwAD.make_dual(tensor(0.0, 0.0), dual)

    def test_make_dual_shares_memory_and_version(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            primal, tangent = fwAD.unpack_dual(dual)
            self.assertEqual(primal.data_ptr(), self.x.data_ptr())
            self.assertIs(tangent, self.v)
            self.x.add_(1)
            self.v.add_(1)
            self.assertEqual([t._version for t in (self.x, dual, primal, tangent)], [1, 1, 1, 1])
            self.assertEqual(fwAD.unpack_dual(dual).primal, tensor(2.0, 3.0))
            self.assertEqual(self.tangent(dual), tensor(4.0, 0.0))

    def test_make_dual_copies_the_tangent_where_the_storage_of_the_primal_is_larger(self):
        x, v = tensor(1.0, 2.0, 3.0, 4.0, 5.0)[:4], tensor(1.0, 1.0, 2.0, 2.0)
        with fwAD.dual_level():
            dual = fwAD.make_dual(x, v)
            tangent = self.tangent(dual)
            tangent.mul_(2)
            self.assertEqual(v, tensor(1.0, 1.0, 2.0, 2.0))
            self.assertEqual(tangent, tensor(2.0, 2.0, 4.0, 4.0))
            whole = dual.as_strided((5,), (1,), 0)
            self.assertEqual(self.tangent(whole)[:4], tangent)

    def test_make_dual_takes_empty_tensors_of_other_strides(self):
        x = torch.ones(0, device=device).as_strided((0, 1), (1, 1), 0)
        v = torch.ones(0, device=device).as_strided((0, 1), (1, 0), 0)
        with fwAD.dual_level():
            diagonal = torch.diagonal(fwAD.make_dual(x, v))
            self.assertEqual(self.tangent(diagonal).shape, (0,))

    def test_make_dual_shares_an_empty_tangent_of_another_offset(self):
        x = tensor(1.0).as_strided((0,), (1,), 1)
        v = tensor(1.0).as_strided((0,), (1,), 2)
        with fwAD.dual_level():
            self.assertIs(self.tangent(fwAD.make_dual(x, v)), v)
            one = fwAD.make_dual(tensor(1.0).as_strided((1,), (2,), 0), tensor(2.0))
            self.assertEqual(self.tangent(one[1:]).shape, (0,))

    @parametrize("primal,tangent", PAIRS)
    def test_make_dual_keeps_the_value_of_a_tangent_with_bits(self, primal, tangent):
        self.check_bits(primal, tangent, lambda w: w)

    def test_a_plain_tangent_of_a_conjugate_primal_comes_out_conjugated(self):
        # Not what the CPU does, which keeps the value. The tangent is copied into a tensor with the bits of the
        # primal, and torch_npu's copy_ takes no notice of the conjugate bit of what it writes into
        # (torch_npu/csrc/aten/ops/op_api/CopyKernelOpApi.cpp).
        self.check_bits("conj", "plain", torch.conj)

    def check_bits(self, primal, tangent, changed):
        x = BITS[primal](tensor(1 + 2j, 3 - 1j, dtype=torch.complex64))
        v = BITS[tangent](tensor(2 - 1j, 1 + 4j, dtype=torch.complex64))
        expected = changed(BITS[tangent](torch.tensor([2 - 1j, 1 + 4j])))
        with fwAD.dual_level():
            dual = fwAD.make_dual(x, v)
            self.assertEqual(self.tangent(dual) is v, primal == tangent)
            self.assertEqual(self.tangent(dual).cpu(), expected)
            self.assertEqual(self.tangent(torch.real(dual)).cpu(), expected.real)
            self.assertEqual(self.tangent(torch.imag(dual)).cpu(), expected.imag)

    def test_make_dual_leaves_a_conjugate_primal_as_it_is(self):
        z = torch.ones(2, 2, dtype=torch.complex64).to(device).conj()
        self.check_rows(z, tensor([1j, 2j], [3j, 4j], dtype=torch.complex64).conj())

    def test_make_dual_leaves_a_negative_primal_as_it_is(self):
        z = torch.ones(2, 2, dtype=torch.complex64).to(device)
        self.check_rows(
            z.conj().imag, tensor([1j, 2j], [3j, 4j], dtype=torch.complex64).conj().imag
        )

    def check_rows(self, x, v):
        self.assertTrue(x.is_conj() or x.is_neg())
        with fwAD.dual_level():
            row = fwAD.make_dual(x, v)[1:]
            self.assertEqual((row.is_conj(), row.is_neg()), (x.is_conj(), x.is_neg()))
            # Compared on the CPU: CANN's document of isclose names no complex dtype.
            self.assertEqual(self.tangent(row).cpu(), v[1:].cpu())

    def test_zeros_for_a_tangent_have_the_layout_of_the_primal(self):
        zeros = torch.ops.aten._new_zeros_with_same_feature_meta
        likes = (
            torch.t,
            lambda t: t[:, :2],
            lambda t: t[1:],
            torch.sum,
            lambda t: t[:0],
            torch.neg,
        )
        for like in likes:
            for batched in (0, 1):
                rows, same_rows = torch.ones(4, 3), torch.ones(4, 3, device=device)
                expected = zeros(rows, like(rows), self_num_batch_dims=batched)
                made = zeros(same_rows, like(same_rows), self_num_batch_dims=batched)
                self.assertEqual(made.cpu(), expected)
                self.assertEqual(made.device, same_rows.device)
                self.assertEqual(made.stride(), expected.stride())
                self.assertEqual(
                    made.untyped_storage().nbytes(), expected.untyped_storage().nbytes()
                )

    def test_make_dual_in_inference_mode_is_no_view(self):
        with torch.inference_mode(), fwAD.dual_level():
            x, v = tensor(1.0, 2.0), tensor(3.0, -1.0)
            dual = fwAD.make_dual(x, v)
            self.assertFalse(dual._is_view())
            dual += 1
            self.assertEqual(x, tensor(2.0, 3.0))

    def test_make_dual_of_a_subclass_calls_alias_of_the_primal_alone(self):
        special = torch.Tensor._make_subclass(CountsAlias, tensor(1.0))
        CountsAlias.calls = 0
        with fwAD.dual_level():
            fwAD.make_dual(special, tensor(2.0))
            self.assertEqual(CountsAlias.calls, 1)
            fwAD.make_dual(tensor(2.0), special)
            self.assertEqual(CountsAlias.calls, 1)

    # What unpack_dual returns, and what backward sees of it

    def test_unpack_dual_returns_a_new_view_and_the_tangent_itself(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            first, second = fwAD.unpack_dual(dual), fwAD.unpack_dual(dual)
            self.assertIsNot(first.primal, second.primal)
            self.assertEqual(first.primal, second.primal)
            self.assertIs(first.tangent, self.v)
            self.assertIs(second.tangent, self.v)
            self.assertIsNone(self.tangent(self.x))
        self.assertIsNone(self.tangent(dual))
        self.assertEqual(fwAD.unpack_dual(dual).primal, tensor(1.0, 2.0))

    def test_unpack_dual_passes_backward_on_to_what_was_packed(self):
        x, v = self.x.requires_grad_(), self.v.requires_grad_()
        with fwAD.dual_level():
            primal, tangent = fwAD.unpack_dual(fwAD.make_dual(x, v))
            of_primal = torch.autograd.grad((3 * primal).sum(), (x, v), allow_unused=True)
            of_tangent = torch.autograd.grad((5 * tangent).sum(), (x, v), allow_unused=True)
        self.assertEqual(of_primal, (tensor(3.0, 3.0), None))
        self.assertEqual(of_tangent, (None, tensor(5.0, 5.0)))

    def test_detach_ends_a_tangent_and_no_grad_does_not(self):
        x, v = self.x.requires_grad_(), self.v.requires_grad_()
        with fwAD.dual_level():
            dual = fwAD.make_dual(x, v)
            self.assertIsNone(self.tangent(dual.detach() * 2))
            with torch.no_grad():
                primal, tangent = fwAD.unpack_dual(dual * 3)
            self.assertEqual((primal.requires_grad, tangent.requires_grad), (False, False))
            self.assertEqual((primal, tangent), (tensor(3.0, 6.0), tensor(9.0, -3.0)))
            clone = dual.clone()
            self.assertEqual(self.tangent(clone), v)
            self.assertIsNone(self.tangent(clone.detach_() * 2))

    def test_a_switched_off_forward_mode_gives_no_tangent(self):
        self.assertTrue(fwAD._is_fwd_grad_enabled())
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            with fwAD._set_fwd_grad_enabled(False):
                self.assertFalse(fwAD._is_fwd_grad_enabled())
                self.assertIsNone(self.tangent(dual * 2))
                with fwAD._set_fwd_grad_enabled(True):
                    self.assertEqual(self.tangent(dual * 2), tensor(6.0, -2.0))
            self.assertEqual(self.tangent(dual * 2), tensor(6.0, -2.0))

    def test_print_names_the_tangent_of_a_dual_tensor_alone(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            self.assertIn("tangent=", str(dual))
            for other in (self.x, *fwAD.unpack_dual(dual)):
                self.assertNotIn("tangent=", str(other))

    # What is freed, and when

    def test_dual_level_keeps_no_tangent_alive(self):
        v = tensor(3.0, -1.0).requires_grad_()
        held = torch._C._WeakTensorRef(v)
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, v)
            del v
            self.assertFalse(held.expired())
            del dual
            self.assertTrue(held.expired())

    def test_dual_level_starts_without_the_tangents_of_the_last(self):
        with fwAD.dual_level():
            old = fwAD.make_dual(self.x, self.v)
        with fwAD.dual_level():
            self.assertEqual((self.tangent(self.x), self.tangent(old)), (None, None))
            new = fwAD.make_dual(self.x, tensor(5.0, 6.0))
            self.assertEqual(self.tangent(new), tensor(5.0, 6.0))
            self.assertEqual(fwAD.unpack_dual(old).primal, fwAD.unpack_dual(new).primal)

    def test_dual_level_ends_where_dual_tensor_and_graph_hold_each_other(self):
        with fwAD.dual_level():
            v = self.v.requires_grad_()
            result = fwAD.make_dual(self.x, v).exp()
            held = torch._C._WeakTensorRef(result)
            del result
        self.assertTrue(held.expired())

    def test_detach_keeps_its_source_not_alive(self):
        x = tensor(1.0, 2.0)
        held = torch._C._WeakTensorRef(x)
        detached = x.detach()
        del x
        self.assertTrue(held.expired())
        self.assertEqual(detached, tensor(1.0, 2.0))


instantiate_parametrized_tests(TestForwardADMode)

if __name__ == "__main__":
    run_tests()
