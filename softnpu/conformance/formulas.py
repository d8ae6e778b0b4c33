"""The formulas of CANN's documents, in float64 numpy, for kernels that none of CANN's cases reaches.

Written from the operators' documents, not from the kernels. An entry gives the arguments before
the outputs and what the outputs must be; an operator that works in place has its result in the
first argument. ``tests/softnpu/test_formulas.py`` compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray
_rng = np.random.default_rng(5)


def _x(*shape: int, low: float = -3.0, high: float = 3.0) -> Array:
    return _rng.uniform(low, high, shape).astype(np.float32)


def _n(*shape: int, low: int = 0, high: int = 9) -> Array:
    return _rng.integers(low, high, shape)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array) -> Array:
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


# Functions of one tensor, the range of its values, and the other arguments.
_ONE: dict[str, tuple[Callable[..., Array], float, float, tuple]] = {
    "Log": (np.log, 0.1, 9, ()),
    "Log2": (np.log2, 0.1, 9, ()),
    "Log10": (np.log10, 0.1, 9, ()),
    "Exp2": (lambda x: 2.0**x, -3, 3, ()),
    "Expm1": (np.expm1, -3, 3, ()),
    "Erfc": (np.vectorize(math.erfc), -3, 3, ()),
    "Frac": (lambda x: x - np.trunc(x), -3, 3, ()),
    "Trunc": (np.trunc, -3, 3, ()),
    "Round": (np.rint, -3, 3, ()),
    "RoundDecimals": (lambda x, n: np.rint(x * 10.0**n) / 10.0**n, -3, 3, (1,)),
    "Sinc": (np.sinc, -3, 3, ()),
    "Mish": (lambda x: x * np.tanh(_softplus(x)), -3, 3, ()),
    "LogSigmoid": (lambda x: -_softplus(-x), -3, 3, ()),
    "Hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, -5, 5, ()),
    "Celu": (lambda x, a: np.maximum(x, 0) + np.minimum(0, a * np.expm1(x / a)), -3, 3, (1.5,)),
    "Hardshrink": (lambda x, w: np.where(np.abs(x) > w, x, 0), -3, 3, (0.5,)),
    "Softshrink": (lambda x, w: np.sign(x) * np.maximum(np.abs(x) - w, 0), -3, 3, (0.5,)),
    "Threshold": (lambda x, t, v: np.where(x > t, x, v), -3, 3, (0.1, 20.0)),
    "FmodScalar": (np.fmod, -9, 9, (2.5,)),
    "FloorDivides": (lambda x, y: np.floor(x / y), -9, 9, (2.5,)),
}
_IN_PLACE = (
    "Celu", "Erfc", "Exp2", "Expm1", "FloorDivides", "FmodScalar", "Frac", "Hardswish", "Log", "Log10",
    "Log2", "Mish", "RoundDecimals", "Sinc", "Threshold",
)  # fmt: skip


def _one(name: str) -> tuple[list, list]:
    function, low, high, others = _ONE[name]
    x = _x(4, 5, low=low, high=high)
    return [x, *others], [function(x.astype(np.float64), *others)]


def _grad(function: Callable[..., Array], *others) -> tuple[list, list]:
    """A gradient times a derivative."""
    slope, x = _x(4, 5), _x(4, 5, low=-5, high=5)
    wide = x.astype(np.float64)
    return [slope, x, *others], [slope * function(wide, *others)]


def _mish_slope(x: Array) -> Array:
    t = np.tanh(_softplus(x))
    return t + x * (1 - t * t) * _sigmoid(x)


def _hardswish_slope(x: Array) -> Array:
    return np.where(x <= -3, 0, np.where(x >= 3, 1, x / 3 + 0.5))


def _layer_norm() -> tuple[list, list]:
    x, w, b = _x(3, 4, 6), _x(6), _x(6)
    wide, eps = x.astype(np.float64), 1e-5
    mean = wide.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(wide.var(-1, keepdims=True) + eps)
    return [x, [6], w, b, eps], [(wide - mean) * rstd * w + b, mean, rstd]


def _swiglu() -> tuple[list, list]:
    x = _x(3, 8)
    a, b = x[:, :4].astype(np.float64), x[:, 4:].astype(np.float64)
    return [x, -1], [a * _sigmoid(a) * b]


def _swiglu_grad() -> tuple[list, list]:
    slope, x = _x(3, 4), _x(3, 8)
    a, b = x[:, :4].astype(np.float64), x[:, 4:].astype(np.float64)
    s = _sigmoid(a)
    left = slope * b * s * (1 + a * (1 - s))
    return [slope, x, -1], [np.concatenate([left, slope * a * s], 1)]


def _glu_grad() -> tuple[list, list]:
    slope, x = _x(3, 4), _x(3, 8)
    a, s = x[:, :4].astype(np.float64), _sigmoid(x[:, 4:].astype(np.float64))
    return [slope, x, 1], [np.concatenate([slope * s, slope * a * s * (1 - s)], 1)]


def _nll() -> tuple[list, list]:
    x, target, w = _x(5, 4), _n(5, high=4), _x(4, low=0.1, high=1)
    target[1] = 2
    counted = target != 2
    weights = w.astype(np.float64)[target] * counted
    loss = -(weights * x[np.arange(5), target]).sum() / weights.sum()
    return [x, target, w, 1, 2], [np.array(loss), np.array(weights.sum())]


def _kl_target() -> tuple[list, list]:
    slope, x, t = _x(3, 4), _x(3, 4), _x(3, 4, low=0.1, high=1)
    return [slope, x, t, 0, False], [slope * (np.log(t.astype(np.float64)) + 1 - x)]


def _rotary() -> tuple[list, list]:
    x, cos, sin = _x(2, 3, 4, 8), _x(2, 3, 1, 8), _x(2, 3, 1, 8)
    wide = x.astype(np.float64)
    turned = np.concatenate([-wide[..., 4:], wide[..., :4]], -1)
    return [x, cos, sin, 0], [wide * cos + turned * sin]


def _im2col() -> tuple[list, list]:
    x = _x(2, 3, 5, 6)
    columns = [
        x[:, c, i : i + 4, j : j + 4].reshape(2, 1, -1)
        for c in range(3)
        for i in range(2)
        for j in range(3)
    ]
    return [x, [2, 3], [1, 1], [0, 0], [1, 1]], [np.concatenate(columns, 1)]


def _of_two(function: Callable[[Array, Array], Array], a: Array, b: Array) -> tuple[list, list]:
    return [a, b], [function(a.astype(np.float64), b.astype(np.float64))]


def _whole(function: Callable[[Array, Array], Array], high: int = 9) -> tuple[list, list]:
    a, b = _n(4, 5, high=100), _n(4, 5, high=high)
    return [a, b], [function(a, b)]


def _matrices() -> tuple[Array, Array, Array]:
    return _x(4, 5), _x(5), _x(4)


def _addmv() -> tuple[list, list]:
    m, v, s = _matrices()
    return [s, m, v, 0.5, 2.0], [2.0 * s.astype(np.float64) + 0.5 * (m.astype(np.float64) @ v)]


def _addr() -> tuple[list, list]:
    m, v, s = _matrices()
    return [m, s, v, 2.0, 0.5], [2.0 * m.astype(np.float64) + 0.5 * np.outer(s, v)]


def _variance() -> tuple[list, list]:
    x = _x(3, 4, 5)
    wide = x.astype(np.float64)
    return [x, [0, 2], 1, False], [wide.var((0, 2), ddof=1), wide.mean((0, 2))]


def _extreme(function: str) -> Callable[[], tuple[list, list]]:
    def make() -> tuple[list, list]:
        x = _x(4, 5)
        return [x, 1, False], [getattr(x, function)(1)]

    return make


def _running() -> tuple[list, list]:
    x = _x(4, 5)
    low = np.minimum.accumulate(x, 1)
    places = np.array([[int(np.argmin(row[: i + 1])) for i in range(5)] for row in x])
    return [x, 1], [low.astype(np.float64), places]


def _square(n: int = 4) -> Array:
    return (_x(n, n) + 5 * np.eye(n)).astype(np.float32)


def _cholesky() -> tuple[list, list]:
    m = _square()
    m = (m @ m.T).astype(np.float32)
    return [m, False], [np.linalg.cholesky(m.astype(np.float64))]


def _slogdet() -> tuple[list, list]:
    m = _square()
    sign, log = np.linalg.slogdet(m.astype(np.float64))
    return [m], [np.array(sign), np.array(log)]


def _inverse() -> tuple[list, list]:
    m = _square()
    return [m], [np.linalg.inv(m.astype(np.float64))]


def _distances() -> tuple[list, list]:
    a, b = _x(4, 3), _x(5, 3)
    apart = a[:, None].astype(np.float64) - b[None]
    return [a, b, 2.0, 0], [np.sqrt((apart**2).sum(-1))]


def _own_distances() -> tuple[list, list]:
    a = _x(4, 3)
    apart = a[:, None].astype(np.float64) - a[None]
    return [a, 2.0], [np.sqrt((apart**2).sum(-1))[np.triu_indices(4, 1)]]


def _search() -> tuple[list, list]:
    row, x = np.sort(_x(6)), _x(4)
    return [row, x, False, False, None], [np.searchsorted(row, x, "left")]


def _log_sum_exp() -> tuple[list, list]:
    x = _x(4, 5)
    return [x, [1], False], [np.log(np.exp(x.astype(np.float64)).sum(1))]


def _roll() -> tuple[list, list]:
    x = _x(4, 5)
    return [x, [1, -2], [0, 1]], [np.roll(x, (1, -2), (0, 1)).astype(np.float64)]


def _lerps() -> tuple[list, list]:
    a, b = _x(4, 5), _x(4, 5)
    return [a, b, 0.3], [a + 0.3 * (b.astype(np.float64) - a)]


def _copied() -> tuple[list, list]:
    x, source = _x(4, 5), _x(2, 5)
    made = x.astype(np.float64)
    made[[3, 1]] = source
    return [x, 0, np.array([3, 1]), source], [made]


def _put() -> tuple[list, list]:
    x, source = _x(4, 5), _x(3)
    made = x.astype(np.float64).ravel()
    np.add.at(made, [3, 1, 3], source)
    return [x, np.array([3, 1, 3]), source, True], [made.reshape(4, 5)]


def _sums() -> tuple[list, list]:
    x = _x(3, 4, 5, 2)
    wide = x.astype(np.float64)
    return [x], [wide.sum((0, 2, 3)), (wide**2).sum((0, 2, 3))]


FORMULAS: dict[str, Callable[[], tuple[list, list]]] = {
    **{f"aclnn{name}": lambda name=name: _one(name) for name in _ONE},
    **{f"aclnnInplace{name}": lambda name=name: _one(name) for name in _IN_PLACE},
    "aclnnAddmv": _addmv,
    "aclnnAddr": _addr,
    "aclnnInplaceAddr": _addr,
    "aclnnArgMax": _extreme("argmax"),
    "aclnnArgMin": _extreme("argmin"),
    "aclnnBatchNormReduce": _sums,
    "aclnnBitwiseXorTensor": lambda: _whole(np.bitwise_xor),
    "aclnnInplaceBitwiseXorTensor": lambda: _whole(np.bitwise_xor),
    "aclnnCdist": _distances,
    "aclnnCummin": _running,
    "aclnnFastLayerNorm": _layer_norm,
    "aclnnFmodTensor": lambda: _of_two(np.fmod, _x(4, 5, low=-9, high=9), _x(4, 5, low=1)),
    "aclnnInplaceFmodTensor": lambda: _of_two(np.fmod, _x(4, 5, low=-9, high=9), _x(4, 5, low=1)),
    "aclnnGcd": lambda: _whole(np.gcd),
    "aclnnGluBackward": _glu_grad,
    "aclnnHardshrinkBackward": lambda: _grad(lambda x, w: np.abs(x) > w, 0.5),
    "aclnnHardsigmoidBackward": lambda: _grad(lambda x: (np.abs(x) < 3) / 6),
    "aclnnHardswishBackward": lambda: _grad(_hardswish_slope),
    "aclnnHardswishBackwardV2": lambda: _grad(_hardswish_slope),
    "aclnnHardtanhBackward": lambda: _grad(lambda x, low, high: (x > low) & (x < high), -1.0, 1.0),
    "aclnnIm2col": _im2col,
    "aclnnInplaceIndexCopy": _copied,
    "aclnnInplaceLerps": _lerps,
    "aclnnInplacePut": _put,
    "aclnnInverse": _inverse,
    "aclnnKlDivTargetBackward": _kl_target,
    "aclnnLayerNorm": _layer_norm,
    "aclnnLeftShift": lambda: _whole(np.left_shift),
    "aclnnLerps": _lerps,
    "aclnnLinalgCholesky": _cholesky,
    "aclnnLogSumExp": _log_sum_exp,
    "aclnnMishBackward": lambda: _grad(_mish_slope),
    "aclnnNLLLoss": _nll,
    "aclnnPdist": _own_distances,
    "aclnnRightShift": lambda: _whole(np.right_shift),
    "aclnnRoll": _roll,
    "aclnnRotaryPositionEmbedding": _rotary,
    "aclnnSearchSorted": _search,
    "aclnnSlogdet": _slogdet,
    "aclnnSwiGlu": _swiglu,
    "aclnnSwiGluGrad": _swiglu_grad,
    "aclnnVarMean": _variance,
}
AFTER = {"aclnnAddmv": [0]}  # arguments behind the outputs
