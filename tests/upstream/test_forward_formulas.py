"""Each forward formula of ``evidence/derivatives.json``, compiled as it is, against finite differences in float64."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from forward_cases import CASES, Case

from npudocs.upstream import forward

ENTRIES = forward.load()["entries"]
HEADER = Path(__file__).with_name("forward_stand_ins.h")
# Not compiled: the same formula as another's, of older versions, and what the generator makes of "auto_linear".
SAME = {"_npu_format_cast.aclnn", "_npu_format_cast.input_dtype"}
OLD = {name for name in ENTRIES if "(" in name}
LINEAR = {name for name, entry in ENTRIES.items() if "auto_linear" in entry["lines"].values()}
TYPES = {
    bool: "bool",
    int: "int64_t",
    float: "double",
    str: "std::string_view",
    list: "at::IntArrayRef",
    torch.dtype: "at::ScalarType",
    torch.Tensor: "const Tensor&",
}
NAMED = {
    "renorm": {"p": "const at::Scalar&", "maxnorm": "const at::Scalar&"},
    "npu_group_norm_swish": dict.fromkeys(("eps", "swish_scale"), "std::optional<double>"),
    "native_dropout": {"train": "std::optional<bool>"},
    "stft": {
        **dict.fromkeys(("hop_length", "win_length"), "std::optional<int64_t>"),
        **dict.fromkeys(("onesided", "return_complex", "align_to_window"), "std::optional<bool>"),
        "window": "const std::optional<Tensor>&",
    },
    **dict.fromkeys(
        ("binary_cross_entropy_with_logits", "npu_cross_entropy_loss"),
        dict.fromkeys(("weight", "pos_weight"), "const std::optional<Tensor>&"),
    ),
}
MISSING = {
    "num_out_tokens": "std::optional<int64_t>",
    "align_to_window": "std::optional<bool>",
    **dict.fromkeys(("restore_shape", "actual_seq_len"), "at::OptionalIntArrayRef"),
}
STEP = 1e-5


def _source(index: int, case: Case) -> str:
    """The C++ of one case: for each formula a function of the arguments, their tangents and the results."""
    parameters, missing = [], []
    for name, value in case.arguments.items():
        if name in case.moved:
            parameters += [f"const Tensor& {name}_p", f"const Tensor& {name}_t"]
        elif value is None:
            missing.append(f"{MISSING.get(name, 'std::optional<Tensor>')} {name};")
            missing.append(f"Tensor {name}_p, {name}_t;")
        else:
            known = NAMED.get(case.entry, {})
            parameters.append(f"{known.get(name, TYPES[type(value)])} {name}")
    parameters += [f"const Tensor& {name}" for name in case.outputs]
    functions = []
    for output, formula in ENTRIES[case.entry]["lines"].items():
        formula = formula.replace("at::matmul_backward", "products")
        head = f"static Tensor case{index}_{output}({', '.join(parameters)})"
        functions.append(f"{head} {{ {' '.join(missing)} return {formula}; }}")
    return "\n".join(functions)


def compiled(folder: Path, cases: list[Case], library: str) -> ModuleType:
    """Return the namespace of `torch.ops` with the functions of the cases."""
    names = [f"case{i}_{out}" for i, c in enumerate(cases) for out in ENTRIES[c.entry]["lines"]]
    parts = [
        f'#include "{HEADER}"',
        *(_source(index, case) for index, case in enumerate(cases)),
        f"TORCH_LIBRARY({library}, m) {{",
        *(f'm.def("{name}", &{name});' for name in names),
        "}",
    ]
    source, target = folder / "formulas.cpp", folder / "formulas.so"
    source.write_text("\n".join(parts))
    torch_is = Path(torch.__file__).parent
    places = [f"-I{torch_is / 'include'}", f"-I{torch_is / 'include/torch/csrc/api/include'}"]
    flags = ["-std=c++20", "-O0", "-w", "-fPIC", "-shared", *places]
    command = ["g++", *flags, source, "-o", target, f"-L{torch_is / 'lib'}", "-ltorch_cpu", "-lc10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:4000]
    torch.ops.load_library(target)
    return getattr(torch.ops, library)


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    if not shutil.which("g++"):
        pytest.skip("needs g++")
    return compiled(tmp_path_factory.mktemp("formulas"), CASES, "forward_formulas")


def _values(case: Case, moved: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The outputs by name."""
    found = case.value(**(case.arguments | moved))
    found = found if isinstance(found, tuple) else (found,)
    return dict(zip(case.outputs, found, strict=True))


def _formula(
    ops: Any,
    case: Case,
    output: str,
    moved: dict[str, torch.Tensor],
    along: dict[str, torch.Tensor],
) -> torch.Tensor:
    arguments: list[Any] = []
    for name, value in case.arguments.items():
        if name in moved:
            arguments += [moved[name], along[name]]
        elif value is not None:
            arguments.append(value)
    lines = ENTRIES[case.entry]["lines"]
    # As in torch_npu: an output without a formula has no derivative.
    results = [v if n in lines else v.detach() for n, v in _values(case, moved).items()]
    return getattr(ops, f"case{CASES.index(case)}_{output}")(*arguments, *results)


def _at(moved: dict[str, torch.Tensor], along: dict[str, torch.Tensor], step: float) -> Any:
    return {name: value + step * along[name] for name, value in moved.items()}


def _directions(case: Case, seed: int) -> dict[str, torch.Tensor]:
    numbers = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(case.arguments[name].shape, dtype=torch.float64, generator=numbers)
        for name in case.moved
    }


LINES = [(case, output) for case in CASES for output in ENTRIES[case.entry]["lines"]]
NAMES = [f"{case.entry}-{output}-{n}" for n, (case, output) in enumerate(LINES)]


@pytest.mark.full
@pytest.mark.parametrize(("case", "output"), LINES, ids=NAMES)
def test_a_formula_is_the_derivative(formulas: Any, case: Case, output: str) -> None:
    moved = {name: case.arguments[name] for name in case.moved}
    along = _directions(case, 1)
    ahead, behind = (_values(case, _at(moved, along, s))[output] for s in (STEP, -STEP))
    found = _formula(formulas, case, output, moved, along)
    torch.testing.assert_close(found, (ahead - behind) / (2 * STEP), rtol=1e-5, atol=1e-7)


@pytest.mark.full
@pytest.mark.parametrize(("case", "output"), LINES, ids=NAMES)
def test_a_formula_can_be_differentiated(formulas: Any, case: Case, output: str) -> None:
    moved = {name: case.arguments[name] for name in case.moved}
    along, other = _directions(case, 1), _directions(case, 2)
    ahead, behind = (
        _formula(formulas, case, output, _at(moved, other, s), along).real.sum()
        for s in (STEP, -STEP)
    )
    leaves = {name: value.clone().requires_grad_() for name, value in moved.items()}
    found = _formula(formulas, case, output, leaves, along).real.sum()
    slope = torch.zeros((), dtype=torch.float64)
    if found.requires_grad:
        slopes = torch.autograd.grad(found, [*leaves.values()], allow_unused=True)
        pairs = zip(slopes, other.values(), strict=True)
        slope = sum((s * v).sum() for s, v in pairs if s is not None) + slope
    torch.testing.assert_close(slope, (ahead - behind) / (2 * STEP), rtol=1e-5, atol=1e-6)


def test_every_formula_has_a_case() -> None:
    assert {case.entry for case in CASES} == ENTRIES.keys() - LINEAR - SAME - OLD
    texts = Counter(str(entry["lines"]) for entry in ENTRIES.values())
    assert all(texts[str(ENTRIES[name]["lines"])] > 1 for name in SAME)


@pytest.mark.full
def test_a_wrong_formula_is_seen(
    formulas: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = (case for case in CASES if case.entry == "npu_mish")
    lines = {
        "result": ENTRIES["npu_mish"]["lines"]["result"].replace("1 - at::tanh", "2 - at::tanh")
    }
    monkeypatch.setitem(ENTRIES, "npu_mish", {"lines": lines})
    index = CASES.index(case)
    wrong = compiled(tmp_path, [case], "wrong_formulas")
    monkeypatch.setattr(wrong, f"case{index}_result", wrong.case0_result, raising=False)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        test_a_formula_is_the_derivative(wrong, case, "result")
