"""What a report calls expected is what the CPU computes, and the NPU with npu_forward_ad's repair.

The first block of each section runs, with the one and with the other as device.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import re

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F

import npu_forward_ad
from npudocs import evidence
from npudocs.site.operators.data import deviations

PAGES = (evidence.ROOT / "docs" / "deviations").glob("*.md")
SECTIONS = {
    name.group(1): text
    for page in PAGES
    for text in page.read_text(encoding="utf-8").split("\n## ")
    if (name := re.search(r"```\{deviation\} (\w+)", text))
}
# The expectations that give a result, not a description of one; torch_npu's own operators have no CPU.
EXPECTED = {
    one["name"]: found.group()
    for one in deviations()
    if (
        found := re.match(
            r"(value right|True|False|tensor|torch\.|\[|NotImpl)\S.*?(?=, as|, or|: [a-z]|\.?$)",
            one["report"]["expected"],
        )
    )
}
RESULTS = {name: text for name, text in EXPECTED.items() if not name.startswith("npu_")}
DEVIATIONS = {one["name"]: one for one in deviations()}


def printed_by(section: str, device: str) -> str:
    """What the first block of a section prints on a device, or the class of its error."""
    kind, text = re.search(r"```\{(doctest|testcode)\}\n(.*?)```", section, re.DOTALL).groups()
    text = re.sub(r"(?m)^:\w+:.*\n", "", text)
    if kind == "doctest":
        text = "".join(one.source for one in doctest.DocTestParser().get_examples(text))
    body = [node for node in ast.parse(text).body if not isinstance(node, ast.Assert)]
    last = body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    if kind == "doctest" and isinstance(last, ast.Expr):
        last.value = ast.Call(ast.Name("print", ast.Load()), [last.value], [])
    code = compile(ast.fix_missing_locations(ast.Module(body, [])), "block", "exec")
    names = {"torch": torch, "fwAD": fwAD, "F": F, "device": torch.device(device)}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(code, names)
        except (NotImplementedError, RuntimeError) as error:
            return type(error).__name__
    return printed.getvalue()


def same(text: str) -> str:
    """Without device, line breaks, and zeros behind the point or of a sign."""
    text = re.sub(r", device='npu:0'|\s", "", text)
    return re.sub(r"(\.\d*?)0+(?=\D|$)", r"\1", text).replace("-0.", "0.")


@pytest.mark.parametrize("name", RESULTS)
def test_the_cpu_computes_what_is_expected(name: str) -> None:
    assert same(printed_by(SECTIONS[name], "cpu")) == same(RESULTS[name])


@pytest.mark.parametrize("name", DEVIATIONS)
def test_the_repair_does_what_a_section_says(name: str) -> None:
    with npu_forward_ad.repaired():
        found = printed_by(SECTIONS[name], "npu:0")
    one, right = DEVIATIONS[name], EXPECTED.get(name, "")
    if right and "Error" not in right:
        assert (same(found) == same(right)) == (one["repaired"] is True), found
    elif one["repaired"] is True:
        assert ("Error" in found) == (one["status"] == "no error") and "None" not in found


def test_most_expectations_are_results() -> None:
    assert len(RESULTS) >= 20
