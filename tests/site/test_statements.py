"""Numbers in sentences of pages, counted again in the data that they are about."""

from __future__ import annotations

import json
import re
from pathlib import Path

from npudocs import evidence

DOCS = evidence.ROOT / "docs"


def words(page: str) -> str:
    """The text of a page, with single blanks."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_tests_that_reach_an_npu() -> None:
    tests = load(evidence.FOLDER / "upstream_tests.json")["tests"]
    on_npu = [one["method"] for one in tests if one["reaches_npu"]]
    assert (len(tests), len(on_npu)) == (60, 4)
    said = "of the 60 tests that were looked at, four put a tensor on an NPU"
    assert said in words("verification.md")


def test_functions_that_refuse_float64() -> None:
    said = r"(\d+) of the (\d+) functions in \[the sweep\]"
    refuse, swept = re.search(said, words("api/gradcheck.md")).groups()
    # The one that has float64, which is what a reader sees first.
    (made,) = (one for one in evidence.sweeps() if "float64" in one["dtypes"])
    found = [
        cell.status
        for cell in evidence.sweep_cells(made)
        if cell.operator.startswith("nn.functional")
        and (cell.form, cell.dtype) == ("dual", "float64")
    ]
    assert (found.count("error"), len(found)) == (int(refuse), int(swept))


def test_functions_of_torch_npu() -> None:
    swept = load(evidence.FOLDER / "npu_functions.json")
    left = load(evidence.ROOT / "tests/sweep/unsampled.json").values()
    number = len(swept) + sum(map(len, left))
    page = words("operators/index.md")
    assert f"{len(swept)} of the {number} functions of torch_npu" in page
    assert f"{number - len(swept)} are left out" in page
    readme = (evidence.ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(swept)} functions of `torch_npu`" in readme


def test_the_length_of_the_guard() -> None:
    page = (DOCS / "deviations/guard.md").read_text(encoding="utf-8")
    guard = re.search(r"```\{testcode\}\n(.*?)```", page, re.DOTALL).group(1)
    assert "some 50 lines" in words("deviations/index.md")
    assert 45 <= len(guard.splitlines()) <= 55
