"""
Why this file is needed: PyTorch's class TestAutograd checks forward mode in gradcheck and in custom Functions, and
makes every tensor on the CPU. Nothing shows that both do the same with tensors of an NPU.

What it validates, for tensors of the device:
  - gradcheck finds a wrong tangent and takes a right one
  - the jvp of a custom Function is called, checked and refused as on the CPU
Values are compared with a closed form; gradcheck compares with finite differences. By CANN's documents the operators
that gradcheck itself calls take no complex numbers, and the norm of a vector, which fast_mode and the check of
undefined tangents call, no float64: these two are checked in float32, with a larger step and a wider tolerance.
"""

import torch
import torch.autograd.forward_ad as fwAD
from torch.autograd import Function, gradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.testing._internal.common_utils import (
    TestCase,
    instantiate_parametrized_tests,
    parametrize,
    run_tests,
)

device = torch.accelerator.current_accelerator()


def tensor(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=device)


def double(*values, dtype=torch.float64):
    return tensor(*values, dtype=dtype).requires_grad_()


def single(*values):
    return tensor(*values).requires_grad_()


def tangent(value):
    return fwAD.unpack_dual(value).tangent


COARSE = {"eps": 1e-2, "atol": 1e-3}


def forward_only(function, inputs, **options):
    off = {"check_backward_ad": False, "check_batched_grad": False, "check_undefined_grad": False}
    return gradcheck(function, inputs, check_forward_ad=True, **{**off, **options})


class Twice(Function):
    """2 * x; `fault` says what its formulas do wrong."""

    @staticmethod
    def forward(ctx, x, fault):
        ctx.fault = fault
        return 2 * x

    @staticmethod
    def vjp(ctx, grad):
        assert ctx.fault != "backward", "the backward formula was called"
        return 2 * grad, None

    @staticmethod
    def jvp(ctx, x_t, _):
        assert ctx.fault != "forward", "the forward formula was called"
        if ctx.fault == "random":
            torch.randn_like(x_t)
        return (3 if ctx.fault == "wrong" else 2) * x_t


class Head(Function):
    """A view of the first two elements; `kind` says which tensor its jvp returns."""

    @staticmethod
    def forward(ctx, x, kind):
        ctx.kind = kind
        return x.narrow(0, 0, 2)

    @staticmethod
    def jvp(ctx, x_t, _):
        view = x_t.narrow(0, 0, 2)
        return {"view": view, "copy": view.clone(), "view of a copy": view.clone()[:]}[ctx.kind]


class InPlace(Function):
    """x *= 2; `kind` says whether its jvp works in place too."""

    @staticmethod
    def forward(ctx, x, kind):
        ctx.kind = kind
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, x_t, _):
        return x_t.mul_(2) if ctx.kind == "in place" else 2 * x_t


class SumAndInput(Function):
    """x + y and x itself; `kind` says what its jvp returns for the latter."""

    @staticmethod
    def forward(ctx, x, y, kind):
        ctx.kind = kind
        return x + y, x

    @staticmethod
    def jvp(ctx, x_t, y_t, _):
        second = {"view": x_t.view_as(x_t), "itself": x_t, "other": 2 * x_t}[ctx.kind]
        return (x_t if y_t is None else x_t + y_t), second


class Product(Function):
    """z * x * y with z no tensor, from what it saved."""

    @staticmethod
    def forward(ctx, z, x, name, y):
        ctx.z = z
        ctx.save_for_forward(x, y)
        ctx.save_for_backward(x, y)
        return z * x * y

    @staticmethod
    def jvp(ctx, z_t, x_t, name_t, y_t):
        assert z_t is None and name_t is None
        x, y = ctx.saved_tensors
        return ctx.z * (y * x_t + x * y_t)

    @staticmethod
    def vjp(ctx, grad):
        x, y = ctx.saved_tensors
        return None, ctx.z * grad * y, None, ctx.z * grad * x


class BesideOne(Function):
    """x and a second output that has no tangent; `fault` gives it one."""

    @staticmethod
    def forward(ctx, x, y, fault):
        second = y.clone()
        ctx.fault, ctx.floating = fault, y.is_floating_point()
        if ctx.floating:
            ctx.mark_non_differentiable(second)
        return x.clone(), second

    @staticmethod
    def jvp(ctx, x_t, y_t, _):
        assert ctx.floating or y_t is None
        return x_t, (x_t.clone() if ctx.fault else None)


class WithoutJvp(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()


class TestForwardADModeFunctions(TestCase):
    def setUp(self):
        super().setUp()
        self.x, self.v = tensor(1.0, 2.0), tensor(3.0, -1.0)

    # Views, in-place operators and what has no tangent

    # gradcheck

    @parametrize("fast", [True, False])
    def test_gradcheck_finds_a_wrong_tangent(self, fast):
        def wrong(x, y):
            if tangent(y) is not None:
                y = fwAD.make_dual(fwAD.unpack_dual(y).primal, 1.1 * tangent(y))
            return x + y, y

        def parts(function):
            return lambda re, im: tuple(map(torch.view_as_real, function(re + 0j, 1j * im)))

        x, y = (single if fast else double)(1.0, 2.0), (single if fast else double)(3.0, 4.0)
        options = {"check_forward_ad": True, "fast_mode": fast}
        options |= COARSE if fast else {"check_undefined_grad": False}
        words = "Jacobian computed with forward mode mismatch for output 0 with respect to input 1"

        def right(x, y):
            return x + y, y

        for good, bad in ((right, wrong), (parts(right), parts(wrong))):
            self.assertTrue(gradcheck(good, (x, y), **options))
            with self.assertRaisesRegex(GradcheckError, words):
                gradcheck(bad, (x, y), **options)
        with self.assertRaisesRegex(GradcheckError, "Jacobian computed with forward mode mismatch"):
            gradcheck(Twice.apply, (x, "wrong"), **options)

    def test_gradcheck_of_batches_and_of_empty_tensors(self):
        x, y = double(1.0, 2.0), double(3.0, 4.0)
        empty = double().reshape(0, 1).detach().requires_grad_()
        for function, inputs in (
            (torch.sin, (x,)),
            (torch.add, (x, y)),
            (lambda a, b: a.clone(), (x, y)),
        ):
            self.assertTrue(forward_only(function, inputs, check_batched_forward_grad=True))
        self.assertTrue(
            gradcheck(torch.diagonal, (empty,), check_forward_ad=True, check_undefined_grad=False)
        )
        empty = empty.detach().float().requires_grad_()
        self.assertTrue(gradcheck(torch.diagonal, (empty,), check_forward_ad=True))
        self.assertTrue(forward_only(Twice.apply, (x, "random")))
        with self.assertRaisesRegex(RuntimeError, "random operations inside of vmap"):
            forward_only(Twice.apply, (x, "random"), check_batched_forward_grad=True)

    @parametrize("mode,other", [("forward", "backward"), ("backward", "forward")])
    def test_gradcheck_of_one_mode_does_not_call_the_other(self, mode, other):
        forward = mode == "forward"
        options = {"check_forward_ad": forward, "check_backward_ad": not forward}
        options |= {"check_batched_grad": False, "check_undefined_grad": False}
        self.assertTrue(gradcheck(Twice.apply, (double(1.0, 2.0), other), **options))
        with self.assertRaisesRegex(AssertionError, f"the {mode} formula was called"):
            gradcheck(Twice.apply, (double(1.0, 2.0), mode), **options)

    @parametrize("both", [True, False])
    def test_gradcheck_differentiates_what_requires_grad_alone(self, both):
        seen = []

        def function(x, y):
            if tangent(x) is not None:
                seen.append((tangent(y) is not None, x.requires_grad))
            return x * y

        forward_only(function, (double(1.0), double(2.0).requires_grad_(both)))
        self.assertEqual({*seen}, {(both, False)})

    # Custom Functions

    def test_function_without_jvp_is_refused(self):
        with (
            fwAD.dual_level(),
            self.assertRaisesRegex(RuntimeError, "must implement the jvp function"),
        ):
            WithoutJvp.apply(fwAD.make_dual(self.x, self.v))

    def test_function_that_returns_a_view_has_a_view_as_tangent(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(tensor(1.0, 2.0, 3.0), tensor(4.0, 5.0, 6.0))
            self.assertEqual(tangent(Head.apply(dual, "view")), tensor(4.0, 5.0))
            for kind, words in (
                ("copy", "jvp is not returning a view"),
                ("view of a copy", "view of the given"),
            ):
                with self.assertRaisesRegex(RuntimeError, words):
                    Head.apply(dual, kind)

    def test_function_in_place_changes_the_tangent_in_place(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            self.assertIs(InPlace.apply(dual, "in place"), dual)
            self.assertEqual(tuple(fwAD.unpack_dual(dual)), (tensor(2.0, 4.0), tensor(6.0, -2.0)))
            with self.assertRaisesRegex(RuntimeError, "in ?place"):
                InPlace.apply(fwAD.make_dual(tensor(1.0), tensor(1.0)), "out of place")

    def test_function_that_returns_its_input_needs_a_view_as_tangent(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            self.assertIs(tangent(SumAndInput.apply(dual, self.x, "view")[1])._base, self.v)
            for kind in ("itself", "other"):
                words = "forward is returning a view \\(or an input as-is\\)"
                with self.assertRaisesRegex(RuntimeError, words):
                    SumAndInput.apply(dual, self.x, kind)

    def test_function_saves_for_forward_beside_what_is_no_tensor(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v), fwAD.make_dual(self.v, self.x)
            result = Product.apply(4, dual[0], "name", dual[1])
            self.assertEqual(tangent(result), 4 * (self.v * self.v + self.x * self.x))
        inputs = (4, double(1.0, 2.0), "name", double(3.0, 4.0))
        self.assertTrue(
            gradcheck(Product.apply, inputs, check_forward_ad=True, check_undefined_grad=False)
        )
        inputs = (4, single(1.0, 2.0), "name", single(3.0, 4.0))
        self.assertTrue(gradcheck(Product.apply, inputs, check_forward_ad=True, **COARSE))

    def test_function_with_an_output_that_has_no_tangent(self):
        with fwAD.dual_level():
            dual = fwAD.make_dual(self.x, self.v)
            for second in (self.x, torch.tensor([1, 2], device=device)):
                first, other = BesideOne.apply(dual, second, False)
                self.assertEqual((tangent(first), tangent(other)), (self.v, None))
            with self.assertRaisesRegex(RuntimeError, "is not a differentiable Tensor"):
                BesideOne.apply(dual, self.x, True)


instantiate_parametrized_tests(TestForwardADModeFunctions)

if __name__ == "__main__":
    run_tests()
