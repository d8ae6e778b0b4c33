"""The sweep: what it calls equal, and that one bad operator costs only itself."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.autograd.forward_ad as fwAD

from npudocs import evidence
from npudocs.evidence.sweep_records import DTYPES, FORMS, STATUSES
from npudocs.sweep import SweepError, __main__, pool, records
from npudocs.sweep.compare import judge, of_error, worst
from npudocs.sweep.evaluate import evaluate
from npudocs.sweep.fallback import StandardError
from npudocs.sweep.forms import Sample, Variant, call_of
from npudocs.sweep.pool import Job
from npudocs.sweep.truth import check
from npudocs.sweep.variants import variants

ONE, TWO = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0])
GOOD = ([ONE], [TWO])
REFUSED = NotImplementedError("Trying to use forward AD with x that does not support it")


@pytest.mark.parametrize(
    ("npu", "status", "word"),
    [
        (([ONE], [TWO]), "same", ""),
        (([ONE], [TWO * (1 + 1e-6)]), "same", ""),
        (([ONE], [None]), "tangent lost", "None"),
        (([ONE], [TWO * 0]), "tangent lost", "zero in every element"),
        (([ONE], [TWO * 1.01]), "wrong", "the tangent is 3.03 at [0], the CPU's is 3"),
        (([ONE * 1.01], [TWO]), "wrong", "the value is 1.01 at [0]"),
        (([ONE], [TWO.double()]), "wrong", "torch.float64"),
        (([ONE], [TWO[:1]]), "wrong", "shape (1,)"),
        (([ONE, ONE], [TWO, TWO]), "wrong", "2 differentiable outputs"),
        (([None], [None]), "tangent lost", ""),
        (REFUSED, "error", "NotImplementedError"),
        (
            RuntimeError("aclnnX or aclnnXGetWorkspaceSize not in libopapi.so"),
            "no kernel",
            "aclnnX",
        ),
        (RuntimeError("x\nsoftnpu has no kernel for the operator aclnnX"), "no kernel", "aclnnX"),
    ],
)
def test_judgement(npu: object, status: str, word: str) -> None:
    found = judge(GOOD, npu, "float32")
    assert found.status == status
    assert word in found.message


def test_judgement_where_the_cpu_refuses() -> None:
    assert judge(REFUSED, GOOD, "float32").status == "no error"
    assert judge(REFUSED, RuntimeError("no"), "float32").status == "both refuse"


def test_random_values_are_not_compared_but_must_be_there() -> None:
    assert judge(GOOD, ([TWO], [ONE]), "float32", values_matter=False).status == "same"
    assert judge(GOOD, ([TWO], [None]), "float32", values_matter=False).status == "tangent lost"
    assert judge(GOOD, ([TWO], [ONE[:1]]), "float32", values_matter=False).status == "wrong"


@pytest.mark.parametrize("dtype", [torch.complex32, torch.bfloat16, torch.float64])
def test_every_dtype_of_an_output_can_be_compared(dtype: torch.dtype) -> None:
    one, two = ONE.to(dtype), TWO.to(dtype)
    assert judge(([one], [two]), ([one], [two]), "float16").status == "same"
    assert judge(([one], [two]), ([one], [one]), "float16").status == "wrong"
    assert judge(([one], [two]), ([one], [two * 0]), "float16").status == "tangent lost"


def test_not_a_number_equals_itself_only() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert judge(([nan], [nan]), ([nan], [nan]), "float32").status == "same"
    assert judge(([ONE], [TWO]), ([ONE], [nan]), "float32").status == "wrong"


def test_the_worst_status_stands_for_all() -> None:
    assert worst(["same", "tangent lost", "cpu fallback"]) == "tangent lost"
    assert worst(list(STATUSES)) == "crashed"


def test_messages_have_no_clock_process_or_stack() -> None:
    text = (
        "operator():../third_party/X.cpp:71 NPU function error: call aclnnX failed\n"
        "[ERROR] 2026-01-02-03:04:05 (PID:17590, Device:0, RankID:-1) ERR00100 PTA call failed.\n"
        'softnpu: aclnnX: the kernel raised\nTraceback (most recent call last):\n  File "a"\n'
        "    x\nTypeError: an index must be int64"
    )
    found = of_error(RuntimeError(text))
    assert found.endswith("the kernel raised TypeError: an index must be int64")
    assert "PID" not in found and "2026" not in found and "Traceback" not in found


def test_an_error_says_nothing_of_this_machine_or_this_run() -> None:
    file = Path(torch.__file__).with_name("_decomp") / "decompositions_for_jvp.py"
    text = f'File "{file}", line 1\nEZ1001: [PID: 12] 2026-11-30-12:00:01.123.456 (softnpu) refused'
    found = of_error(RuntimeError(text))
    assert "decompositions_for_jvp.py" in found and str(file.parent) not in found
    assert "EZ1001: [PID: ...] <time>" in found and found.endswith("(softnpu) refused")


def _variant(function: object, inplace: object = None, forms: tuple = tuple(FORMS)) -> Variant:
    """A made-up operator: x * x on the CPU, `function` on the device."""

    def samples(dtype: str) -> object:
        x = torch.tensor([1.0, -2.0], dtype=getattr(torch, dtype), requires_grad=True)
        yield Sample((x,), {}, "a sample")

    return Variant("square", "made up", DTYPES, forms, samples, function, lambda x: x * x, inplace)


def _status(function: object, form: str) -> str:
    errors = StandardError.__new__(StandardError)
    errors.new = lambda: b""
    found = evaluate(_variant(function), "float32", (form,), errors, "cpu")["cells"]
    return found[0]["status"]


class _Forgets(torch.autograd.Function):
    """A square without a forward formula that does not say so."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


@pytest.mark.parametrize("form", ["dual", "func.jvp", "forward over reverse", "batched"])
def test_each_form_sees_what_a_function_does(form: str) -> None:
    assert _status(lambda x: x * x, form) == "same"
    assert _status(lambda x: x * x * 1.01, form) == "wrong"
    assert _status(_Forgets.apply, form) == "error"


@pytest.mark.parametrize("form", ["dual", "func.jvp"])
def test_a_detached_output_has_lost_its_tangent(form: str) -> None:
    assert _status(lambda x: (x * x).detach().clone() + 0 * x.detach(), form) == "tangent lost"


def test_the_cpu_is_checked_against_finite_differences() -> None:
    def found(function: object) -> object:
        sample = next(_variant(None).samples("float64"))
        return check(call_of(sample, function), sample)

    assert found(torch.sin) is None
    assert found(lambda x: x * x.detach())["status"] == "wrong"
    assert found(lambda x: x.detach() * 2)["status"] == "tangent lost"
    assert found(lambda x: torch.rand_like(x) * x) is None


def test_variants_are_those_of_torch_that_have_a_forward_formula() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    expected = {op.full_name for op in op_db if op.supports_forward_ad}
    mine = {name for name, variant in variants().items() if variant.family != "torch_npu"}
    assert mine <= expected
    # These take no floating dtype at all on the CPU.
    left = {"nn.functional.batch_norm.without_cudnn", "__rand__", "__ror__", "__rxor__"}
    assert expected - mine == left & expected


def _act(job: Job) -> dict:
    """What the pool's processes do here: as the operator's name says."""
    if job.operator == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if job.operator == "hangs":
        time.sleep(60)
    if job.operator == "breaks":
        raise ValueError("a fault of the sweep")
    return {"cells": [{"form": "dual", "status": "same", "counts": {"same": 1}}], "seconds": 0.1}


HEADER = {"kind": "software", "shard": [1, 1], "started": "2026-01-02"}


def test_a_crash_and_a_hang_cost_one_operator_each(tmp_path: Path) -> None:
    listed = [Job(name, "float32") for name in ("good", "dies", "hangs", "fine")]
    results = pool.Results(tmp_path / "run.jsonl", dict(HEADER))
    pool.run(listed, _act, results, workers=2, limit=5)
    statuses = {job.operator: found["cells"][0]["status"] for job, found in results.done.items()}
    assert statuses == {"good": "same", "dies": "crashed", "hangs": "timeout", "fine": "same"}
    assert "SIGSEGV" in results.done[listed[1]]["cells"][0]["told"][0]["message"]


def test_a_fault_of_the_sweep_is_no_result(tmp_path: Path) -> None:
    results = pool.Results(tmp_path / "run.jsonl", dict(HEADER))
    with pytest.raises(SweepError, match="a fault of the sweep"):
        pool.run([Job("breaks", "float32")], _act, results, workers=1, limit=5)
    assert not results.done


def test_a_run_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = pool.Results(path, dict(HEADER))
    first.add(Job("good", "float32"), {"cells": [], "seconds": 1.0})
    with path.open("a") as file:
        file.write('{"operator": "cut o')
    again = pool.Results(path, HEADER | {"started": "2026-01-03"})
    assert list(again.done) == [Job("good", "float32")]
    again.add(Job("fine", "float32"), {"cells": [], "seconds": 1.0})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.get("operator") for line in lines] == [None, "good", "fine"]
    with pytest.raises(SweepError, match="--fresh"):
        pool.Results(path, HEADER | {"kind": "silicon"})


def test_a_unit_that_died_gets_another_try(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    results = pool.Results(path, dict(HEADER))
    pool.run([Job("dies", "float32")], _act, results, workers=1, limit=5)
    assert not pool.Results(path, dict(HEADER)).done


@pytest.mark.parametrize("text", ["", "[1]\n", "no JSON\n", '{"a": 1}\n{"b": 2}\n'])
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(SweepError, match="--fresh"):
        pool.Results(path, dict(HEADER))


def _shard(folder: Path, number: int, count: int, name: str, **header: str) -> Path:
    cell = {"form": "dual", "status": "same", "counts": {"same": 1}}
    about = {"where": {}, "commit": "", "limits": {}, "choice": {"dtypes": ["float32"]}}
    header = HEADER | about | {"shard": [number, count]} | header
    line = {"operator": name, "dtype": "float32", "cells": [cell], "seconds": 1}
    path = folder / f"{number}of{count}{name}.jsonl"
    path.write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n")
    return path


def test_shards_are_merged_whole(tmp_path: Path) -> None:
    first, second = _shard(tmp_path, 1, 2, "abs"), _shard(tmp_path, 2, 2, "add")
    found = records.content([second, first])
    assert (list(found["operators"]), found["seconds"]) == (["abs", "add"], 2)
    with pytest.raises(SweepError, match="of the shards 1 to 2, there are \\[1\\]"):
        records.content([first])
    assert list(records.content([first], partly=True)["operators"]) == ["abs"]
    with pytest.raises(SweepError, match="different runs"):
        records.content([first, _shard(tmp_path, 2, 2, "mul", kind="x")])


def test_shards_make_up_the_whole() -> None:
    parts = [pool.shard_of((), ("float32",), (number, 3)) for number in (1, 2, 3)]
    whole = pool.shard_of((), ("float32",), (1, 1))
    assert sorted(str(job) for part in parts for job in part) == sorted(map(str, whole))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run", "no_such_operator"], "'no_such_operator' is no operator of the sweep"),
        (["run", "--dtypes", "float8"], "'float8' is no dtype"),
        (["run", "--forms", "sideways"], "'sideways' is no form"),
        (["merge", "nowhere.jsonl"], "nowhere.jsonl is not the file of a shard"),
    ],
)
def test_bad_words_get_one_message(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main(words) == 1
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("word", ["lerps", "nn.functional.geluu", "no_such_operator"])
def test_an_unknown_operator_is_named_without_torch_and_with_near_ones(word: str) -> None:
    program = f"""
import sys
from npudocs.sweep import __main__
code = __main__.main(["run", {word!r}])
assert "torch" not in sys.modules
sys.exit(code)
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=evidence.ROOT)
    assert done.returncode == 1
    near = {"lerps": "near it: lerp", "nn.functional.geluu": "near it: nn.functional.gelu"}
    wanted = near.get(word, "see docs/operators")
    assert f"{word!r} is no operator of the sweep; {wanted}" in done.stderr


def test_a_near_operator_is_named_where_no_record_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    with pytest.raises(SweepError, match=r"'ad' is no operator of the sweep; near it: add"):
        pool.shard_of(["ad"], ("float32",), (1, 1))


@pytest.mark.parametrize("shard", ["0/2", "3/2", "x", "1"])
def test_a_bad_shard_is_refused(shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        __main__.main(["run", "--shard", shard])
    assert "is no shard" in capsys.readouterr().err


def _made(status: str) -> dict:
    cell = {"dtype": "float32", "form": "dual", "status": status, "counts": {status: 2}}
    where = {"torch_npu": "2.13.0", "product": "A2"}
    operators = {"abs": {"family": "torch", "cells": [cell]}}
    return {"kind": "software", "where": where, "operators": operators}


def test_a_sweep_is_compared_with_its_record() -> None:
    made, lost = _made("same"), _made("tangent lost")
    known, asked = [_made("same")], {("abs", "dual", "float32")}
    assert not records.differences(made, known, asked)
    assert not records.differences(_made("cpu fallback"), known, asked)
    assert records.differences(lost, known, asked) == [
        "abs (dual, float32): was same: 2, is tangent lost: 2 now"
    ]
    nothing = made | {"operators": {}}
    assert records.differences(nothing, known, asked) == [
        "abs (dual, float32): was same: 2, is gone"
    ]
    assert not records.differences(nothing, known, {("abs", "out", "float32")})
    with pytest.raises(SweepError, match="no record of a sweep to compare with: silicon 2.13.0 A2"):
        records.differences(made | {"kind": "silicon"}, known, asked)


def test_a_level_is_closed_after_an_error() -> None:
    _status(_Forgets.apply, "dual")
    with fwAD.dual_level():
        pass
