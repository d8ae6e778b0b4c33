"""
Why this file is needed: PyTorch checks tangents below views, in-place operators and vmap on the CPU
(TestAutogradForwardMode, TestAutogradForwardModeBatchedGrad, a few tests of other classes). Nothing shows
that they are right for tensors of an NPU, where torch_npu has operators of its own below them.

What it validates, for tensors of the device:
  - in-place operators and views, copy_, joined tensors, and what has no tangent
  - a batch of tangents below vmap
Values are compared with a closed form.
"""

import torch
import torch.autograd.forward_ad as fwAD
from torch._vmap_internals import _vmap
from torch.testing._internal.common_utils import (
    TestCase,
    instantiate_parametrized_tests,
    parametrize,
    run_tests,
)

device = torch.accelerator.current_accelerator()

IN_PLACE = {"add": torch.Tensor.add_, "mul": torch.Tensor.mul_, "copy": torch.Tensor.copy_}


def tensor(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=device)


def tangent(value):
    return fwAD.unpack_dual(value).tangent


class TestForwardADModeViews(TestCase):
    def setUp(self):
        super().setUp()
        self.x, self.v = tensor(1.0, 2.0), tensor(3.0, -1.0)

    # Views, in-place operators and what has no tangent

    def test_in_place_reaches_primal_and_tangent_apart(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            dual *= 2
            self.assertIsNone(tangent(self.x))
            self.assertEqual((self.x, self.v), (tensor(2.0, 4.0), tensor(6.0, -2.0)))
            primal, v = fwAD.unpack_dual(dual)
            self.assertEqual((tangent(primal), tangent(v)), (None, None))
            primal *= 2
            self.assertEqual(tuple(fwAD.unpack_dual(dual)), (tensor(4.0, 8.0), tensor(6.0, -2.0)))
            v *= 2
            self.assertEqual(tuple(fwAD.unpack_dual(dual)), (tensor(4.0, 8.0), tensor(12.0, -4.0)))

    def test_in_place_on_a_view_updates_the_tangent_of_its_base(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            view = dual.narrow(0, 0, 1)
            view *= 2
            self.assertEqual(tangent(dual), tensor(6.0, -1.0))
            self.assertEqual(tangent(view), tensor(6.0))
            plain = tensor(7.0, 8.0)
            plain += dual
            self.assertEqual(tangent(plain), tensor(6.0, -1.0))
            partly = tensor(7.0, 8.0)
            partly[0] = dual[0]
            self.assertEqual(tuple(fwAD.unpack_dual(partly)), (tensor(2.0, 8.0), tensor(6.0, 0.0)))
            base = tensor(7.0, 8.0)
            detached = base.detach()
            detached += dual
            self.assertIsNone(tangent(base))

    @parametrize("name", [*IN_PLACE])
    def test_in_place_on_a_transpose_gives_the_base_a_tangent_it_shares(self, name):
        base = tensor([1.0, 2.0], [3.0, 4.0])
        view, v = base.t(), tensor([1.0, -1.0], [2.0, 0.5])
        scale = {"add": v, "mul": v * view, "copy": v}[name]
        with fwAD.dual_level():
            IN_PLACE[name](view, fwAD.make_dual(tensor([5.0, 6.0], [7.0, 8.0]), v))
            self.assertEqual(tangent(base), scale.t())
            view *= 2
            self.assertEqual(tangent(base), 2 * scale.t())

    def test_out_variants_are_refused(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            with self.assertRaisesRegex(RuntimeError, "out= function"):
                torch.add(self.x, self.x, out=dual)
            with self.assertRaisesRegex(RuntimeError, "out= function"):
                torch.add(dual, self.x, out=tensor(0.0, 0.0))

    def test_a_comparison_has_no_tangent(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            self.assertIsNone(tangent(dual == self.x))
            self.assertEqual(fwAD.unpack_dual(dual.eq_(self.x)).primal, tensor(1.0, 1.0))

    def test_an_output_that_is_masked_out_stays_undefined(self):
        x, weight = tensor([[[1.0, 2.0, 3.0]]]), tensor([[[4.0, 5.0]]])
        with fwAD.dual_level():
            dual = fwAD.make_dual(weight, torch.ones_like(weight))
            of_input, of_weight, _ = torch.ops.aten.convolution_backward(
                *(tensor([[[1.0, 1.0]]]), x, dual, (0,), (1,), (0,), (1,), False, (0,), 1),
                (False, True, False),
            )
        self.assertIsNone(of_input)
        self.assertEqual(of_weight, tensor([[[3.0, 5.0]]]))

    def test_copy_broadcasts_a_tangent_into_one_of_its_own(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            rows = torch.zeros(2, 2, device=device).copy_(dual)
            same = torch.zeros(2, device=device).copy_(dual)
            self.assertEqual(tangent(rows), tensor([3.0, -1.0], [3.0, -1.0]))
            self.assertEqual(tangent(same), self.v)
            self.assertIsNot(tangent(same), self.v)

    @parametrize("join", [torch.cat, torch.stack])
    def test_a_real_and_a_complex_tangent_join(self, join):
        z, w = self.x * (1 + 1j), self.v * (2 - 1j)
        with fwAD.dual_level():
            pair = (fwAD.make_dual(self.x, self.v), fwAD.make_dual(z, w))
            # Compared on the CPU: CANN's document of isclose names no complex dtype.
            v, w = (self.v + 0j).cpu(), w.cpu()
            self.assertEqual(tangent(join(pair)).cpu(), join((v, w)))
            self.assertEqual(tangent(join(pair[::-1])).cpu(), join((w, v)))

    def test_an_operator_without_a_forward_formula_says_so(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            words = "Trying to use forward AD with .* that does not support it"
            with self.assertRaisesRegex(NotImplementedError, words):
                torch.igamma(dual, dual)

    def test_an_operator_with_formulas_for_cuda_takes_the_usual_one(self):
        # torch_npu's copy of upstream's test expects a refusal, as on CUDA, and is disabled: this operator has
        # formulas of its own for CUDA alone.
        with fwAD.dual_level():
            result = torch._test_autograd_multiple_dispatch(fwAD.make_dual(self.x, self.v))
            expected = torch._test_autograd_multiple_dispatch(self.v.cpu())
            self.assertEqual(tangent(result).cpu(), expected)

    # A batch of tangents

    def test_batched_tangents_have_the_closed_form(self):
        def jvp(v):
            with fwAD.dual_level():
                dual = fwAD.make_dual(self.x, v)
                return tangent(dual.sin()), tangent(dual + dual)

        vs = tensor([1.0, 0.0], [0.0, 1.0], [3.0, -1.0])
        of_sin, of_sum = _vmap(jvp)(vs)
        self.assertEqual(of_sin, vs * self.x.cos())
        self.assertEqual(of_sum, 2 * vs)

    def test_batched_tangents_take_the_layout_of_the_primal(self):
        def jvp(v):
            with fwAD.dual_level():
                return tangent(fwAD.make_dual(torch.zeros(2, 2, device=device).t(), v))

        vs = torch.arange(8.0, device=device).view(2, 2, 2)
        self.assertIsNot(_vmap(jvp)(vs), vs)
        self.assertEqual(_vmap(jvp)(vs), vs)

    @parametrize("same_layout", [True, False])
    def test_batched_tangents_reach_the_base_of_a_view(self, same_layout):
        x, vs = torch.zeros(2, 2, device=device), torch.arange(8.0, device=device).view(2, 2, 2)
        base = torch.zeros(2, 2, device=device)
        view = base.view_as(base) if same_layout else base.t()

        def jvp(v):
            with fwAD.dual_level():
                dual = fwAD.make_dual(x, v)
                view.copy_(dual)
                return tangent(dual), tangent(view), tangent(view._base)

        of_x, of_view, of_base = _vmap(jvp)(vs)
        self.assertIs(of_x, vs)
        self.assertEqual(of_view, vs)
        self.assertEqual(of_base, vs if same_layout else vs.transpose(1, 2))
        self.assertIs(of_base, of_view if same_layout else of_view._base)

    def test_batched_tangents_ignore_the_size_of_the_storage(self):
        x, vs = tensor(1.0, 2.0, 3.0)[:2], tensor([1.0, 0.0], [3.0, -1.0])

        def jvp(v):
            with fwAD.dual_level():
                dual = fwAD.make_dual(x, v)
                self.assertIs(tangent(dual), v)
                with self.assertRaisesRegex(RuntimeError, "can access memory outside of `tensor`"):
                    dual.as_strided((3,), (1,), 0)
                return tangent(dual)

        self.assertEqual(_vmap(jvp)(vs), vs)


instantiate_parametrized_tests(TestForwardADModeViews)

if __name__ == "__main__":
    run_tests()
