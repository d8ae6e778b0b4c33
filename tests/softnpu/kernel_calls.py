"""The calls that test_kernels.py makes: for each kernel at least one, written as a torch call.

A call gets ``x``, which makes input tensors on the device under test (the same numbers on
the CPU and on the NPU), and returns a tensor or a sequence of tensors.
"""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F

aten = torch.ops.aten


class Inputs:
    """Makes input tensors on one device: the same numbers, whichever device it is."""

    def __init__(self, device: str):
        self.device = device
        self.generator = torch.Generator("cpu").manual_seed(7)

    def __call__(self, *shape: int, low=-2.0, high=2.0, dtype=torch.float32) -> torch.Tensor:
        values = torch.rand(shape, generator=self.generator) * (high - low) + low
        return values.to(dtype).to(self.device)

    def positive(self, *shape: int) -> torch.Tensor:
        return self(*shape, low=0.1, high=2.0)

    def unit(self, *shape: int) -> torch.Tensor:
        return self(*shape, low=-0.9, high=0.9)

    def share(self, *shape: int) -> torch.Tensor:
        return self(*shape, low=0.1, high=0.9)

    def whole(self, *shape: int, low=0, high=6, dtype=torch.int64) -> torch.Tensor:
        values = torch.randint(low, high, shape, generator=self.generator)
        return values.to(dtype).to(self.device)

    def flags(self, *shape: int) -> torch.Tensor:
        return self.whole(*shape, high=2).bool()

    def of(self, values, dtype=None) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype).to(self.device)

    def layouts(self, domain: str = "") -> list[torch.Tensor]:
        """A matrix, a transposed one with gaps, one without elements, a scalar."""
        make = getattr(self, domain) if domain else self
        return [make(3, 4), make(5, 6).t()[::2], make(0, 3), make()]


CALLS: dict[str, list] = {}


def call(name: str, *functions) -> None:
    CALLS.setdefault(name, []).extend(functions)


def gradients(function, *inputs) -> list[torch.Tensor]:
    """A function, and the gradients that a backward of torch_npu's own gives."""
    for tensor in inputs:
        tensor.requires_grad_()
    result = function(*inputs)
    return [result.detach(), *torch.autograd.grad((result * result.detach()).sum(), inputs)]


def instead(mine, true):
    """For what torch does not have: torch_npu's function on the NPU, and what it should give."""
    return lambda x: (true if x.device == "cpu" else mine)(x)


def unary(domain: str, **functions) -> None:
    """For ``aclnnX`` in every layout."""
    for name, function in functions.items():
        call("aclnn" + name, lambda x, f=function: [f(t) for t in x.layouts(domain)])


def unary_inplace(domain: str, **functions) -> None:
    for name, function in functions.items():
        call("aclnnInplace" + name, lambda x, f=function: [f(t) for t in x.layouts(domain)])


def binary(domain: str, **functions) -> None:
    """For a function of two tensors: in every layout, and broadcast."""
    for name, function in functions.items():
        call(
            "aclnn" + name,
            lambda x, f=function: [
                f(a, b) for a, b in zip(x.layouts(domain), x.layouts(domain), strict=True)
            ],
            lambda x, f=function: f(x.layouts(domain)[0], x.layouts(domain)[0][:1]),
        )


def with_number(number, domain: str = "", **functions) -> None:
    for name, function in functions.items():
        call("aclnn" + name, lambda x, f=function: [f(t, number) for t in x.layouts(domain)])


# Functions of one element.
unary("", Abs=torch.abs, Atan=torch.atan, Asinh=torch.asinh, Ceil=torch.ceil, Cos=torch.cos)
unary("", Cosh=torch.cosh, Erf=torch.erf, Erfc=torch.erfc, Exp=torch.exp, Exp2=torch.exp2)
unary("", Expm1=torch.expm1, Floor=torch.floor, Frac=torch.frac, Neg=torch.neg, Round=torch.round)
unary("", Reciprocal=torch.reciprocal, Sigmoid=torch.sigmoid, Sign=torch.sign, Sin=torch.sin)
unary("", Signbit=torch.signbit, Sinc=torch.sinc, Sinh=torch.sinh, Tan=torch.tan, Tanh=torch.tanh)
unary("", Trunc=torch.trunc, Hardsigmoid=F.hardsigmoid, Hardswish=F.hardswish)
unary("", Gelu=partial(F.gelu, approximate="tanh"))  # CANN's formula
unary("", Mish=F.mish, Relu=torch.relu, Silu=F.silu, IsFinite=torch.isfinite, AngleV2=torch.angle)
unary("", LogicalNot=torch.logical_not, IsPosInf=torch.isposinf, IsNegInf=torch.isneginf)
unary("", LogSigmoidForward=F.logsigmoid, Softplus=F.softplus, Elu=F.elu, Celu=F.celu)
unary("", Hardtanh=F.hardtanh, Hardshrink=F.hardshrink, Softshrink=F.softshrink)
unary("", LeakyRelu=F.leaky_relu)
unary("unit", Acos=torch.acos, Asin=torch.asin, Atanh=torch.atanh, Erfinv=torch.erfinv)
unary("positive", Log=torch.log, Log10=torch.log10, Log1p=torch.log1p, Log2=torch.log2)
unary("positive", Rsqrt=torch.rsqrt, Sqrt=torch.sqrt)
unary("share", Logit=torch.logit)
call("aclnnAcosh", lambda x: torch.acosh(1 + x.positive(3, 4)))
call("aclnnLogit", lambda x: torch.logit(x.share(4), 0.2))
call("aclnnSign", lambda x: torch.sgn(x(3, 4, dtype=torch.complex64)))
call("aclnnAbs", lambda x: torch.abs(x(3, 4, dtype=torch.complex64)))
call("aclnnBitwiseNot", lambda x: [~x.whole(3, 4), ~x.flags(3, 4)])
call("aclnnRoundDecimals", lambda x: torch.round(x(3, 4), decimals=2))
call("aclnnNanToNum", lambda x: torch.nan_to_num(x(3, 4) / x.whole(3, 4, high=2)))
call("aclnnInplaceNanToNum", lambda x: torch.nan_to_num_(x(3, 4) / x.whole(3, 4, high=2)))
unary_inplace("", Asinh=torch.asinh_, Atan=torch.atan_, Ceil=torch.ceil_, Cos=torch.cos_)
unary_inplace("", Cosh=torch.cosh_, Erf=torch.erf_, Erfc=torch.erfc_, Exp=torch.exp_)
unary_inplace("", Exp2=torch.exp2_, Expm1=torch.expm1_, Floor=torch.floor_, Frac=torch.frac_)
unary_inplace("", Reciprocal=torch.reciprocal_, Sigmoid=torch.sigmoid_, Sin=torch.sin_)
unary_inplace("", Sinc=torch.sinc_, Sinh=torch.sinh_, Tan=torch.tan_, Tanh=torch.tanh_)
unary_inplace("unit", Acos=torch.acos_, Asin=torch.asin_, Atanh=torch.atanh_)
unary_inplace("unit", Erfinv=lambda t: t.erfinv_())
unary_inplace("positive", Log=torch.log_, Log10=torch.log10_, Log1p=torch.log1p_)
unary_inplace("positive", Log2=torch.log2_, Rsqrt=torch.rsqrt_, Sqrt=torch.sqrt_)
unary_inplace("", Relu=torch.relu_, Celu=F.celu_, Elu=F.elu_, LeakyRelu=F.leaky_relu_)
unary_inplace("", Hardsigmoid=aten.hardsigmoid_, Hardswish=aten.hardswish_)
unary_inplace("", Mish=aten.mish_, Hardtanh=F.hardtanh_, LogicalNot=lambda t: t.logical_not_())
unary_inplace("", Zero=lambda t: t.zero_(), NanToNum=torch.nan_to_num_)
call("aclnnInplaceOne", lambda x: [torch.ones(3, device=x.device), torch.ones_like(x(2, 3))])
call("aclnnInplaceAcosh", lambda x: torch.acosh_(1 + x.positive(3, 4)))
call("aclnnInplaceRoundDecimals", lambda x: x(3, 4).round_(decimals=2))
call("aclnnInplaceThreshold", lambda x: F.threshold_(x(3, 4), 0.1, 20.0))
call("aclnnThreshold", lambda x: F.threshold(x(3, 4), 0.1, 20.0))
# On A2 it computes this formula whatever `approximate` says.
call("aclnnGelu", lambda x: [F.gelu(t, approximate="tanh") for t in x.layouts()])
call(
    "aclnnGelu",
    instead(lambda x: F.gelu(x(3, 4)), lambda x: F.gelu(x(3, 4), approximate="tanh")),
)

# Two elements.
binary("", Mul=torch.mul, Div=torch.div, Maximum=torch.maximum, Minimum=torch.minimum)
binary("", Atan2=torch.atan2, LogAddExp=torch.logaddexp, LogAddExp2=torch.logaddexp2)
binary("", RemainderTensorTensor=torch.remainder, FmodTensor=torch.fmod)
binary("", FloorDivide=torch.floor_divide, Complex=torch.complex, Polar=torch.polar)
binary("", ClampMinTensor=torch.clamp_min, ClampMaxTensor=torch.clamp_max)
binary("positive", PowTensorTensor=torch.pow, XLogYTensor=torch.xlogy)
binary("", EqTensor=torch.eq, NeTensor=torch.ne, GtTensor=torch.gt, GeTensor=torch.ge)
binary("", LtTensor=torch.lt, LeTensor=torch.le, IsClose=torch.isclose)
binary("flags", LogicalAnd=torch.logical_and, LogicalOr=torch.logical_or)
binary("flags", LogicalXor=torch.logical_xor)
binary("whole", BitwiseAndTensor=torch.bitwise_and, BitwiseOrTensor=torch.bitwise_or)
binary("whole", BitwiseXorTensor=torch.bitwise_xor, Gcd=torch.gcd)
binary("whole", LeftShift=torch.bitwise_left_shift, RightShift=torch.bitwise_right_shift)
binary("", Add=lambda a, b: torch.add(a, b, alpha=3), Sub=lambda a, b: torch.sub(a, b, alpha=3))
binary("", DivMod=lambda a, b: torch.div(a, b, rounding_mode="floor"))
binary("", Rsub=lambda a, b: torch.rsub(a, b, alpha=3), AddRelu=aten._add_relu)
call("aclnnDivMod", lambda x: torch.div(x(3, 4), x(3, 4), rounding_mode="trunc"))
call("aclnnAdd", lambda x: x(3, 4, dtype=torch.complex64) + x(3, 4))
call("aclnnMul", lambda x: x.whole(3, 4) * x(3, 4))
call("aclnnMul", lambda x: x(3, 4, dtype=torch.float16) * x(4, dtype=torch.bfloat16))
with_number(3, Muls=torch.mul, Divs=torch.div, FloorDivides=torch.floor_divide)
with_number(0.7, RemainderTensorScalar=torch.remainder, FmodScalar=torch.fmod)
with_number(0.5, "positive", PowTensorScalar=torch.pow, XLogYScalarOther=torch.xlogy)
with_number(0.5, ClampMin=lambda t, n: torch.clamp_min(t, n), ClampMax=torch.clamp_max)
with_number(0.5, EqScalar=torch.eq, NeScalar=torch.ne, GtScalar=torch.gt, GeScalar=torch.ge)
with_number(0.5, LtScalar=torch.lt, LeScalar=torch.le)
with_number(2, Adds=lambda t, n: torch.add(t, n, alpha=3), Subs=torch.sub, Rsubs=torch.rsub)
with_number(0.7, DivMods=lambda t, n: torch.div(t, n, rounding_mode="floor"))
with_number(0.5, Clamp=lambda t, n: torch.clamp(t, -n, n))
call("aclnnEqScalar", lambda x: x.whole(9) == 3)
call("aclnnNeScalar", lambda x: x.whole(9) != 3)
call("aclnnPowTensorScalar", lambda x: [x(3, 4) ** 3, x.whole(3, 4) ** 2])
call("aclnnPowScalarTensor", lambda x: [torch.pow(2.5, t) for t in x.layouts()])
call("aclnnRemainderScalarTensor", lambda x: torch.remainder(2.5, x(3, 4)))
call("aclnnXLogYScalarSelf", lambda x: torch.xlogy(2.5, x.positive(3, 4)))
call("aclnnBitwiseOrScalar", lambda x: x.whole(3, 4) | 5)
call("aclnnBitwiseXorScalar", lambda x: x.whole(3, 4) ^ 5)
call("aclnnLerp", lambda x: torch.lerp(x(3, 4), x(3, 4), x(3, 4)))
call("aclnnLerps", lambda x: torch.lerp(x(3, 4), x(3, 4), 0.3))
call("aclnnClampTensor", lambda x: torch.clamp(x(3, 4), x.unit(3, 4), x.unit(3, 4)))
call("aclnnAddcmul", lambda x: torch.addcmul(x(3, 4), x(3, 4), x(3, 1), value=0.3))
call("aclnnAddcdiv", lambda x: torch.addcdiv(x(3, 4), x(3, 4), x.positive(3, 1), value=0.3))
call("aclnnIsInTensorScalar", lambda x: torch.isin(x.whole(3, 4), 3))
call("aclnnIsInScalarTensor", lambda x: torch.isin(3, x.whole(3, 4)))
call(
    "aclnnEqual", lambda x: x.of([torch.equal(x(3), x.of([1.0, 2, 3])), torch.equal(a := x(3), a)])
)
call("aclnnSearchSorted", lambda x: torch.searchsorted(x.of([-1.0, 0, 1]), x(3, 4)))
call("aclnnSearchSorteds", lambda x: torch.searchsorted(x.of([-1.0, 0, 1]), 0.5))

for _name, _method in {
    "Mul": "mul_", "Div": "div_", "Add": "add_", "Sub": "sub_", "FloorDivide": "floor_divide_",
    "RemainderTensorTensor": "remainder_", "FmodTensor": "fmod_", "Atan2": "atan2_",
    "ClampMinTensor": "clamp_min_", "ClampMaxTensor": "clamp_max_", "EqTensor": "eq_",
    "NeTensor": "ne_", "GtTensor": "gt_", "GeTensor": "ge_", "LtTensor": "lt_", "LeTensor": "le_",
    "LogicalAnd": "logical_and_", "LogicalOr": "logical_or_",
}.items():  # fmt: skip
    binary("", **{"Inplace" + _name: lambda a, b, m=_method: getattr(a, m)(b)})
for _name, _method in {
    "Muls": "mul_", "Divs": "div_", "Adds": "add_", "Subs": "sub_",
    "FloorDivides": "floor_divide_", "RemainderTensorScalar": "remainder_", "FmodScalar": "fmod_",
    "ClampMax": "clamp_max_", "EqScalar": "eq_", "NeScalar": "ne_", "GtScalar": "gt_",
    "GeScalar": "ge_", "LtScalar": "lt_", "LeScalar": "le_",
}.items():  # fmt: skip
    with_number(0.7, **{"Inplace" + _name: lambda t, n, m=_method: getattr(t, m)(n)})
call("aclnnInplacePowTensorScalar", lambda x: x.positive(3, 4).pow_(0.5))
call("aclnnInplacePowTensorTensor", lambda x: x.positive(3, 4).pow_(x(3, 4)))
call("aclnnInplaceXLogYScalarOther", lambda x: x(3, 4).xlogy_(2.5))
call("aclnnInplaceBitwiseAndTensor", lambda x: x.whole(3, 4).bitwise_and_(x.whole(3, 4)))
call("aclnnInplaceBitwiseXorTensor", lambda x: x.whole(3, 4).bitwise_xor_(x.whole(3, 4)))
call("aclnnInplaceBitwiseXorScalar", lambda x: x.whole(3, 4).bitwise_xor_(5))
call("aclnnInplaceLerp", lambda x: x(3, 4).lerp_(x(3, 4), x(3, 4)))
call("aclnnInplaceLerps", lambda x: x(3, 4).lerp_(x(3, 4), 0.3))
call("aclnnInplaceDivMod", lambda x: x(3, 4).div_(x(3, 4), rounding_mode="floor"))
call("aclnnInplaceDivMods", lambda x: x(3, 4).div_(0.7, rounding_mode="trunc"))
call("aclnnInplaceAddcmul", lambda x: x(3, 4).addcmul_(x(3, 4), x(3, 1), value=0.3))
call("aclnnInplaceAddcdiv", lambda x: x(3, 4).addcdiv_(x(3, 4), x.positive(3, 1), value=0.3))
call("aclnnInplaceAddRelu", lambda x: aten._add_relu_(x(3, 4), x(3, 4), alpha=2))


# Values that are equal, not finite, or zero, which random ones never are.
def _whole(x, *shape):
    return x.whole(*shape, high=3).float()


for _name in ("Eq", "Ne", "Gt", "Ge", "Lt", "Le"):
    _f, _m = getattr(torch, _name.lower()), f"{_name.lower()}_"
    call(f"aclnn{_name}Tensor", lambda x, f=_f: f(_whole(x, 9), _whole(x, 9)))
    call(f"aclnn{_name}Scalar", lambda x, f=_f: f(_whole(x, 9), 1))
    call(f"aclnnInplace{_name}Tensor", lambda x, m=_m: getattr(_whole(x, 9), m)(_whole(x, 9)))
    call(f"aclnnInplace{_name}Scalar", lambda x, m=_m: getattr(_whole(x, 9), m)(1))
call("aclnnInplaceLogicalNot", lambda x: _whole(x, 9).logical_not_())
for _name in ("IsFinite", "IsPosInf", "IsNegInf"):
    call(
        f"aclnn{_name}",
        lambda x, n=_name: getattr(torch, n.lower())(
            x.of([1.0, float("inf"), -float("inf"), float("nan")])
        ),
    )
call("aclnnSign", lambda x: torch.sign(_whole(x, 9) - 1))

# Filling, copying, ranges.
call("aclnnInplaceCopy", lambda x: [x(3, 4).t().copy_(x(4, 3)), x(0, 4).clone()])
call("aclnnInplaceCopy", lambda x: x(5, 6).t()[::2].contiguous())
call("aclnnAddV3", lambda x: torch.add(torch.tensor(2.5), x(3, 4), alpha=3))
call("aclnnBitwiseAndScalar", lambda x: x.whole(3, 4) & 5)
call("aclnnInplaceBitwiseAndScalar", lambda x: x.whole(3, 4).bitwise_and_(5))
call("aclnnInplaceFillScalar", lambda x: [x(3, 4).fill_(2.5), x(6, 4)[::2].fill_(-1)])
call("aclnnInplaceFillTensor", lambda x: x(3, 4).fill_(x()))
call("aclnnInplaceFillDiagonal", lambda x: x(7, 3).fill_diagonal_(2.5, wrap=True))
call("aclnnTril", lambda x: [torch.tril(x(4, 5), 1), torch.tril(x(4, 5).t(), -1)])
call("aclnnTriu", lambda x: [torch.triu(x(4, 5), 1), torch.triu(x(4, 5).t(), -1)])
call("aclnnInplaceTril", lambda x: x(4, 5).tril_(-1))
call("aclnnInplaceTriu", lambda x: x(4, 5).triu_(1))
call(
    "aclnnArange",
    lambda x: [torch.arange(7, device=x.device), torch.arange(1, 3, 0.3, device=x.device)],
)
call("aclnnRange", lambda x: torch.range(1, 7, 2, device=x.device))
call("aclnnLinspace", lambda x: torch.linspace(-1, 2, 7, device=x.device))
call("aclnnLogSpace", lambda x: torch.logspace(-1, 2, 7, device=x.device))
call("aclnnEye", lambda x: [torch.eye(3, device=x.device), torch.eye(2, 4, device=x.device)])
call("aclnnOneHot", lambda x: F.one_hot(x.whole(3, 4), 6))

# Reductions.
for _name, _function in {
    "ReduceSum": torch.sum, "ReduceNansum": torch.nansum, "Mean": torch.mean, "Amax": torch.amax,
    "Amin": torch.amin,
}.items():  # fmt: skip
    call(
        "aclnn" + _name,
        lambda x, f=_function: [f(x(3, 4, 5), (0, 2)), f(x(4, 5).t(), -1, keepdim=True)],
        lambda x, f=_function: [f(x(3, 4)), f(x(), ())],
    )
call("aclnnReduceSum", lambda x: [x(0, 3).sum(0), x.whole(3, 4).sum(), x.flags(3, 4).sum(1)])
call("aclnnProd", lambda x: x(3, 4).prod())
call("aclnnProdDim", lambda x: x(3, 4).prod(1, keepdim=True))
call("aclnnAminmax", lambda x: torch.aminmax(x(3, 4), dim=1))
call("aclnnAminmaxAll", lambda x: aten._aminmax(x(3, 4)))
call("aclnnAminmaxDim", lambda x: aten._aminmax(x(3, 4), 1))
call("aclnnAll", lambda x: [x.flags(3, 4).all(), x.flags(3, 2).all(1), x.flags(3, 2).all(0, True)])
call("aclnnAny", lambda x: [x.flags(3, 4).any(), x.flags(3, 2).any(1), x.flags(3, 2).any(0, True)])
call("aclnnArgMax", lambda x: [x(3, 4).argmax(), x(3, 4).argmax(1, keepdim=True)])
call("aclnnArgMin", lambda x: [x(3, 4).argmin(), x(3, 4).argmin(1, keepdim=True)])
call("aclnnStd", lambda x: [x(3, 4).std(1), x(3, 4).std(correction=0)])
call("aclnnVarCorrection", lambda x: [x(3, 4).var(1), x(3, 4).var(correction=0)])
call("aclnnVarMean", lambda x: torch.var_mean(x(3, 4), 1, correction=2))
call("aclnnStdMeanCorrection", lambda x: torch.std_mean(x(3, 4), 1, correction=2))
call("aclnnLinalgVectorNorm", lambda x: torch.linalg.vector_norm(x(3, 4), 3, 1))
call("aclnnLinalgVectorNorm", lambda x: torch.linalg.vector_norm(x(3, 4)))
call("aclnnNorm", lambda x: aten.norm(x(3, 4), 2, [1], True))
call("aclnnLogSumExp", lambda x: torch.logsumexp(x(3, 4), (0, 1)))
call("aclnnTrace", lambda x: torch.trace(x(4, 4)))
call("aclnnCumsum", lambda x: torch.cumsum(x(3, 4), 1))
call("aclnnCumprod", lambda x: torch.cumprod(x(3, 4), 1))
call("aclnnHistc", lambda x: torch.histc(x(20), 5, -1, 1))
call("aclnnBincount", lambda x: torch.bincount(x.whole(20), minlength=9))
call("aclnnMax", lambda x: [x(3, 4).max(), x().max()])
call("aclnnMin", lambda x: [x(3, 4).min(), x().min()])
call("aclnnMedian", lambda x: [x(3, 4).median(), x(5).median()])
call("aclnnNanMedian", lambda x: x(3, 4).nanmedian())
call("aclnnMaxDim", lambda x: x(3, 4).max(1))
call("aclnnMinDim", lambda x: x(3, 4).min(0, keepdim=True))
call("aclnnMedianDim", lambda x: x(3, 4).median(1))
call("aclnnNanMedianDim", lambda x: x(3, 4).nanmedian(1))
call("aclnnKthvalue", lambda x: x(3, 4).kthvalue(2, 1))
call("aclnnCummax", lambda x: torch.cummax(x(3, 4), 1))
call("aclnnCummin", lambda x: torch.cummin(x(3, 4), 1))
call("aclnnSort", lambda x: [*x(3, 4).sort(0), *x(3, 4).t().sort(descending=True, stable=True)])
call("aclnnTopk", lambda x: [*x(3, 6).topk(2), *x(3, 6).topk(3, 0, largest=False)])

# Products.
call("aclnnMatmul", lambda x: x(2, 3, 4) @ x(4, 5))
call("aclnnMm", lambda x: [torch.mm(x(3, 4), x(4, 5)), torch.mm(x(4, 3).t(), x(5, 4).t())])
call("aclnnMm", lambda x: torch.mm(x(3, 0), x(0, 5)))
call("aclnnBatchMatMul", lambda x: torch.bmm(x(2, 3, 4), x(2, 4, 5)))
call("aclnnMv", lambda x: torch.mv(x(3, 4), x(4)))
call("aclnnDot", lambda x: torch.dot(x(4), x(4)))
call("aclnnAddmm", lambda x: torch.addmm(x(5), x(3, 4), x(4, 5), beta=0.5, alpha=2))
call("aclnnAddmm", lambda x: F.linear(x(3, 4), x(5, 4), x(5)))
call("aclnnInplaceAddmm", lambda x: x(3, 5).addmm_(x(3, 4), x(4, 5), beta=0.5, alpha=2))
call("aclnnAddbmm", lambda x: torch.addbmm(x(3, 5), x(2, 3, 4), x(2, 4, 5), beta=0.5, alpha=2))
call("aclnnBaddbmm", lambda x: torch.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5), beta=0.5, alpha=2))
call("aclnnAddmv", lambda x: torch.addmv(x(3), x(3, 4), x(4), beta=0.5, alpha=2))
call("aclnnAddr", lambda x: torch.addr(x(3, 4), x(3), x(4), beta=0.5, alpha=2))
call("aclnnInplaceAddr", lambda x: x(3, 4).addr_(x(3), x(4), beta=0.5, alpha=2))
call("aclnnLinalgCross", lambda x: torch.linalg.cross(x(4, 3), x(4, 3)))
