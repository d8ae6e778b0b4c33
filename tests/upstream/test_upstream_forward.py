"""The patches with the forward formulas: what they add, that git takes them, and what they refuse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from npudocs.upstream import forward
from npudocs.upstream.__main__ import main

FORMULAS = """\
all_version: [v2.1, v2.7]
backward:
- name: npu_gelu(Tensor self, *, str approximate='none') -> Tensor
  self: npu_gelu_backward(grad, self, approximate)
  version: [v2.1, newest]

- name: matmul(Tensor self, Tensor other) -> Tensor
  self, other: matmul_backward(grad, self, other, grad_input_mask)
  result: matmul(self_t, other_p) + matmul(self_p, other_t)
  version: all_version

- name: npu_max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  self: npu_max_backward(grad, dim, indices, self.sym_sizes(), keepdim)
  version: v2.1

- name: npu_giou(Tensor self, Tensor gtboxes) -> Tensor
  self, gtboxes: npu_giou_backward(grad, self, gtboxes)
  version: v2.1

- name: npu_new(Tensor self) -> (Tensor, Tensor)
  self: npu_new_backward(grad, self)
  version: v2.1
"""
NAMES = ["npu_gelu", "npu_max.dim", "npu_giou", "npu_new"]
ENTRIES = forward.load()["entries"]
STEPS = forward.load()["generator"]


def checkouts(folder: Path, end: str = "\n") -> tuple[Path, Path]:
    """Both projects, as small as they may be, each a repository of git."""
    op_plugin, pytorch = folder / "op-plugin", folder / "pytorch"
    files = {op_plugin / forward.FILE: FORMULAS}
    for step in STEPS:
        path = pytorch / step["file"]
        files[path] = files.get(path, "head\n") + step["before"] + "\nrest\n"
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.replace("\n", end).encode())
    for folder in (op_plugin, pytorch):
        git(folder, "init", "-q")
    return op_plugin, pytorch


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "core.autocrlf=false", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_git_takes_the_patches_and_a_second_run_changes_nothing(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = checkouts(tmp_path, end)
    command = ["forward", *map(str, places), "--output", str(tmp_path / "out")]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "2 entries get a formula, 2 stay without one" in said
    assert "neither a formula nor a reason, add one to derivatives.json: npu_new" in said
    for place in places:
        patch = tmp_path / "out" / f"forward-{place.name}.patch"
        git(place, "apply", "--check", str(patch))
        git(place, "apply", str(patch))
    text = (places[0] / forward.FILE).read_bytes().decode()
    # Taking out what was put in gives the file as it was.
    added = {key for name in NAMES[:2] for key in ENTRIES[name]["lines"]}
    kept = [line for line in text.split(end) if line.partition(":")[0].strip() not in added]
    before = [line for line in FORMULAS.split("\n") if not line.startswith("  result:")]
    assert kept == before and text.count("  result: matmul(self_t") == 1
    for step in STEPS:
        assert step["after"].replace("\n", end) in (places[1] / step["file"]).read_bytes().decode()
    assert main(command) == 0
    assert not any((tmp_path / "out" / f"forward-{p.name}.patch").read_bytes() for p in places)


def test_every_formula_is_read_as_it_was_written() -> None:
    heads = [name if "(" in name else f"{name}(Tensor self)" for name in ENTRIES]
    text = "".join(f"- name: {h} -> Tensor\n  self: grad\n  version: v2.1\n" for h in heads)
    read = yaml.safe_load(forward.add(text, ENTRIES))
    for entry, head, data in zip(read, heads, ENTRIES.values(), strict=True):
        rest = {"name": f"{head} -> Tensor", "self": "grad", "version": "v2.1"}
        assert entry == {**rest, **data["lines"]}


def test_which_entries_lack_a_formula() -> None:
    assert forward.missing(FORMULAS) == NAMES
    named = FORMULAS.replace(
        "  version: v2.1\n\n- name: npu_giou", "  values: self_t\n- name: npu_giou"
    )
    assert forward.missing(named) == ["npu_gelu", "npu_giou", "npu_new"]


def test_a_formula_and_a_reason_exclude_each_other() -> None:
    reasons = [name for group in forward.load()["without"] for name in group["entries"]]
    assert len({*reasons}) == len(reasons) and not {*reasons} & {*ENTRIES}


def test_the_texts_name_every_entry(tmp_path: Path) -> None:
    forward.write(*checkouts(tmp_path), tmp_path)
    issue = (tmp_path / "forward-issue.md").read_text(encoding="utf-8")
    assert "4个算子的切向量被静默丢弃" in issue and "`npu_gelu`、`npu_max.dim`。" in issue
    assert "| `npu_giou` | 边框损失" in issue and "npu_diou" not in issue
    for project in ("op-plugin", "pytorch"):
        text = (tmp_path / f"forward-pull-request-{project}.md").read_text(encoding="utf-8")
        # The sections of the project's own template, in its order.
        heads = [line for line in text.splitlines() if line.startswith("# ")]
        names = ["合入来源", "修改方案", "资料变更", "接口变更", "功能验证", "CheckList"]
        assert heads == [f"# 【{name}】" for name in names]


def test_what_is_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    op_plugin, pytorch = checkouts(tmp_path)
    output = tmp_path / "out"
    assert main(["forward", str(pytorch), str(pytorch), "--output", str(output)]) == 1
    expected = f"expected a checkout of Ascend/op-plugin with {forward.FILE}"
    assert f"error: {pytorch}: {expected}" in capsys.readouterr().err
    (op_plugin / forward.FILE).write_text("backward:\n")
    assert main(["forward", str(op_plugin), str(pytorch), "--output", str(output)]) == 1
    assert "expected entries that begin with '- name: '" in capsys.readouterr().err
    (op_plugin / forward.FILE).write_text(FORMULAS)
    (pytorch / STEPS[0]["file"]).write_text("another generator\n")
    assert main(["forward", str(op_plugin), str(pytorch), "--output", str(output)]) == 1
    assert "expected once, found 0 times" in capsys.readouterr().err
    assert not output.exists()


def test_the_data_is_written_as_the_tools_write_it() -> None:
    text = forward.DATA.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
