"""
Why this file is needed: torch.func, torch.autograd.functional, gradcheck and custom Functions build on forward-mode
AD, and PyTorch's tests of them make most tensors on the CPU. What is published of them for an NPU contradicts
itself: torch.func.linearize is said to be there and torch.func.jvp is not.

What it validates, for each of these APIs and each dtype: it does its job with tensors of that dtype on the
device. The name of a test is test_MODULE_API_DTYPE.
  - values equal a closed form, or those that the CPU computes; each is exact in every dtype
  - dtype and device are those of the tensors that went in
"""

import torch
import torch.autograd.forward_ad as fwAD
from torch.autograd import Function, functional, gradcheck
from torch.func import hessian, jacfwd, jvp, linearize, vmap
from torch.testing._internal.common_utils import (
    TestCase,
    instantiate_parametrized_tests,
    parametrize,
    run_tests,
)

device = torch.accelerator.current_accelerator()

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
FORWARD = {"vectorize": True, "strategy": "forward-mode"}
OUTER = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def cube(a):
    return a * a * a


def square(a):
    return a * a


def total(a):
    return cube(a).sum()


def product(a, b):
    return a * a * b


class Cube(Function):
    """x**3 by a formula of its own for each mode."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a):
        return a * a * a

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (a,) = ctx.saved_tensors
        return 3 * a * a * tangent

    @staticmethod
    def backward(ctx, gradient):
        (a,) = ctx.saved_tensors
        return 3 * a * a * gradient


class ForwardOnly(Cube):
    """Saves nothing for backward, which is then never called."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        raise AssertionError("the backward formula was called")


each_dtype = parametrize("dtype", DTYPES, name_fn=name_of)


class TestForwardADFunctional(TestCase):
    # torch.func

    @each_dtype
    def test_func_jvp(self, dtype):
        self.make_tensors(dtype)
        output, tangent = jvp(cube, (self.x,), (self.v,))
        self.check(output, self.cpu_x**3)
        self.check(tangent, 3 * self.cpu_x**2 * self.cpu_v)
        # Two inputs, nested, beside a value that is not differentiated.
        inputs = {"a": self.x, "b": self.v}
        result = jvp(
            lambda d: (product(d["a"], d["b"]), d["a"]), (inputs,), (inputs,), has_aux=True
        )
        self.check(result[1], 3 * self.cpu_x**2 * self.cpu_v)
        self.check(result[2], self.cpu_x)

    @each_dtype
    def test_func_jvp_of_func_jvp(self, dtype):
        self.make_tensors(dtype)
        ones = torch.ones_like(self.x)
        second = jvp(lambda a: jvp(cube, (a,), (ones,))[1], (self.x,), (ones,))[1]
        self.check(second, 6 * self.cpu_x)

    @each_dtype
    def test_func_jacfwd(self, dtype):
        self.make_tensors(dtype)
        self.check(jacfwd(cube)(self.x), torch.diag(3 * self.cpu_x**2))
        first, second = jacfwd(product, argnums=(0, 1))(self.x, self.v)
        self.check(first, torch.diag(2 * self.cpu_x * self.cpu_v))
        self.check(second, torch.diag(self.cpu_x**2))
        self.check(jacfwd(jacfwd(total))(self.x), torch.diag(6 * self.cpu_x))
        matrix = torch.stack([self.x, self.v])
        self.check(jacfwd(square)(matrix), jacfwd(square)(matrix.cpu()))

    @each_dtype
    def test_func_hessian(self, dtype):
        self.make_tensors(dtype)
        self.check(hessian(total)(self.x), torch.diag(6 * self.cpu_x))
        blocks = hessian(lambda a, b: product(a, b).sum(), argnums=(0, 1))(self.x, self.v)
        expected = ((2 * self.cpu_v, 2 * self.cpu_x), (2 * self.cpu_x, 0 * self.cpu_x))
        for row, diagonals in zip(blocks, expected, strict=True):
            for block, diagonal in zip(row, diagonals, strict=True):
                self.check(block, torch.diag(diagonal))

    @each_dtype
    def test_func_linearize(self, dtype):
        self.make_tensors(dtype)
        output, derivative = linearize(cube, self.x)
        self.check(output, self.cpu_x**3)
        self.check(derivative(self.v), 3 * self.cpu_x**2 * self.cpu_v)
        self.check(derivative(2 * self.v), 6 * self.cpu_x**2 * self.cpu_v)
        with fwAD.dual_level():
            self.check(derivative(self.v), 3 * self.cpu_x**2 * self.cpu_v)

    @each_dtype
    def test_func_vmap_over_func_jvp(self, dtype):
        self.make_tensors(dtype)
        directions = torch.stack([self.v, self.x, torch.ones_like(self.x)])
        expected = 3 * self.cpu_x**2 * directions.cpu()

        def along(a, v):
            return jvp(cube, (a,), (v,))[1]

        self.check(vmap(along, in_dims=(None, 0))(self.x, directions), expected)
        self.check(vmap(along, in_dims=(None, 0), chunk_size=2)(self.x, directions), expected)
        points = vmap(along, in_dims=(0, None))(directions, self.v)
        self.check(points, 3 * directions.cpu() ** 2 * self.cpu_v)
        # The other way round, and a dual tensor that is mapped over.
        mapped = jvp(vmap(total), (directions,), (directions,))[1]
        self.check(mapped, (3 * directions.cpu() ** 3).sum(1))
        with fwAD.dual_level():
            dual = fwAD.make_dual(directions, directions)
            tangent = fwAD.unpack_dual(vmap(cube)(dual)).tangent
            self.check(tangent, 3 * directions.cpu() ** 3)

    # torch.autograd.functional

    @each_dtype
    def test_functional_jvp(self, dtype):
        self.make_tensors(dtype)
        output, tangent = functional.jvp(cube, self.x, self.v)
        self.check(output, self.cpu_x**3)
        self.check(tangent, 3 * self.cpu_x**2 * self.cpu_v)
        pair = functional.jvp(product, (self.x, self.v), (self.x, self.v), strict=True)
        self.check(pair[1], 3 * self.cpu_x**2 * self.cpu_v)

    @each_dtype
    def test_functional_jacobian(self, dtype):
        self.make_tensors(dtype)
        for options in ({}, {"vectorize": True}, FORWARD):
            self.check(functional.jacobian(cube, self.x, **options), torch.diag(3 * self.cpu_x**2))
            first, second = functional.jacobian(product, (self.x, self.v), **options)
            self.check(first, torch.diag(2 * self.cpu_x * self.cpu_v))
            self.check(second, torch.diag(self.cpu_x**2))

    @each_dtype
    def test_functional_hessian(self, dtype):
        self.make_tensors(dtype)
        for options in ({}, {"vectorize": True}, OUTER):
            found = functional.hessian(total, self.x, **options)
            self.check(found.detach(), torch.diag(6 * self.cpu_x))

    # gradcheck

    # In float32 the step is larger: a difference of the cubes of 2 is off by 1e-4 from the step and as much from
    # rounding. By CANN's documents the norm of a vector, which fast_mode and the check of undefined tangents call,
    # takes no float64.

    @parametrize("dtype", (torch.float32, torch.float64), name_fn=name_of)
    def test_gradcheck(self, dtype):
        x = torch.tensor([1.0, -2.0], dtype=dtype, device=device, requires_grad=True)
        options = {"check_forward_ad": True}
        if dtype == torch.float32:
            options |= {"eps": 1e-2, "atol": 1e-3}
            self.assertTrue(gradcheck(cube, (x,), fast_mode=True, **options))
        else:
            options |= {"check_undefined_grad": False}
        self.assertTrue(gradcheck(cube, (x,), check_batched_forward_grad=True, **options))

        def wrong(a):
            primal, tangent = fwAD.unpack_dual(a) if fwAD._current_level >= 0 else (a, None)
            return cube(a if tangent is None else fwAD.make_dual(primal, 2 * tangent))

        options |= {"check_backward_ad": False, "check_undefined_grad": False}
        self.assertFalse(gradcheck(wrong, (x,), raise_exception=False, **options))

    def test_gradcheck_of_complex_numbers_by_their_parts(self):
        # Of complex numbers themselves it is refused: no complex dtype is named for isclose, which it calls.
        re, im = (
            torch.tensor(values, dtype=torch.float64, device=device, requires_grad=True)
            for values in ([1.0, -2.0], [0.5, 1.0])
        )
        options = {"check_forward_ad": True, "check_undefined_grad": False}
        self.assertTrue(
            gradcheck(
                lambda re, im: torch.view_as_real(cube(torch.complex(re, im))),
                (re, im),
                check_batched_forward_grad=True,
                **options,
            )
        )
        z = torch.complex(re, im).detach().requires_grad_()
        with self.assertRaisesRegex(RuntimeError, "call aclnn(Abs|IsClose) failed"):
            gradcheck(cube, (z,), **options)

    # torch.autograd.Function

    @each_dtype
    def test_Function_jvp(self, dtype):
        self.make_tensors(dtype)
        expected = 3 * self.cpu_x**2 * self.cpu_v
        with fwAD.dual_level():
            for function in (Cube, ForwardOnly):
                output, tangent = fwAD.unpack_dual(function.apply(fwAD.make_dual(self.x, self.v)))
                self.check(output, self.cpu_x**3)
                self.check(tangent, expected)
            self.check(Cube.apply(self.x), self.cpu_x**3)
        self.check(jvp(Cube.apply, (self.x,), (self.v,))[1], expected)
        self.check(jacfwd(Cube.apply)(self.x), torch.diag(3 * self.cpu_x**2))
        self.check(hessian(lambda a: Cube.apply(a).sum())(self.x), torch.diag(6 * self.cpu_x))

    # What the tests share

    def make_tensors(self, dtype):
        # Small integers and halves: every product and sum is exact in bfloat16.
        self.cpu_x = torch.tensor([1.0, -2.0, 0.5]).to(dtype)
        self.cpu_v = torch.tensor([2.0, 0.5, -1.0]).to(dtype)
        self.x, self.v = self.cpu_x.to(device), self.cpu_v.to(device)

    def check(self, actual, expected):
        self.assertEqual(actual.dtype, expected.dtype)
        self.assertEqual(actual.device, self.x.device)
        self.assertEqual(actual.cpu(), expected, rtol=0, atol=0)


instantiate_parametrized_tests(TestForwardADFunctional)

if __name__ == "__main__":
    run_tests()
