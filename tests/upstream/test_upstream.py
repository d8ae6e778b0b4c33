"""The upstream artefacts: the entries and their place, the gaps and the reports."""

# The marks of Chinese text are meant.

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from upstream_samples import PAGE, VERSION, claim, entry, record

from npudocs.upstream import gaps, house, patch, report
from npudocs.upstream.__main__ import main
from npudocs.upstream.rule import APIS, BY_NAME, MODULE, Support

PATH = f"{house.PAGES}/pytorch_2-11-0/torch-autograd.md"
ORDER = [api.name for api in APIS]


YES, NO = Support(True), Support(False)


def published(name: str, limit: str = "") -> str:
    cells = {"A2": YES, "A3": YES, "950DT": NO}
    lines = house.entry(BY_NAME[name], "2.11", cells)
    if limit:
        lines[-1:] = [limit, "", house.CLOSE]
    return "\n".join(lines)


LIMIT = f"{house.LIMIT} `input`仅支持fp32"
MINI = "\n\n".join(
    [
        "# torch.autograd",
        "text  with trailing space ",
        house.SECTION,
        published("dual_level"),
        published("make_dual", LIMIT),
        published("unpack_dual", LIMIT),
    ]
)
NEXT = "\n\n## Next\n\n### torch.autograd.grad\n\n**原生文档**：[torch.autograd.grad](https://pytorch.org/docs/2.11/generated/torch.autograd.grad.html)\n"


def write(checkout: Path, data: bytes, path: str = PATH) -> Path:
    target = checkout / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def empty_evidence(tmp_path: Path) -> list[str]:
    (tmp_path / "evidence").mkdir(exist_ok=True)
    return ["--evidence", str(tmp_path / "evidence")]


def git(checkout: Path, *arguments: str) -> None:
    # Bytes as they are, whatever this machine's git does to line endings.
    command = ["git", "-c", "core.autocrlf=false", *arguments]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)


VARIANTS = {
    "plain": (MINI + NEXT).encode(),
    "crlf": (MINI + NEXT).replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + (MINI + NEXT).encode(),
    "no final newline": (MINI + NEXT).rstrip("\n").encode(),
    "last section": (MINI + "\n").encode(),
    "last section, no final newline": MINI.encode(),
    "last section, crlf, no final newline": MINI.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_patch_that_git_takes_and_that_keeps_all_other_bytes(name: str, tmp_path: Path) -> None:
    data, checkout = VARIANTS[name], tmp_path / "checkout"
    output = tmp_path / "forward-ad.patch"
    target = write(checkout, data)
    git(checkout, "init", "-q")
    options = [str(checkout), "--output", str(tmp_path), *empty_evidence(tmp_path)]
    assert main(["patch", *options]) == 0
    assert target.read_bytes() == data
    git(checkout, "apply", "--check", str(output))
    git(checkout, "apply", str(output))
    patched = target.read_bytes()
    write(checkout, data)
    # Taking out what was put in, and the limits, gives the page as it was.
    added, eol = patched.decode(), "\r\n" if b"\r\n" in data else "\n"
    for api in ORDER[3:]:
        cells = patch.plan(checkout, [], [])[0].decisions
        lines = house.entry(BY_NAME[api], "2.11", {p: cells[api, p] for p in house.TERMS})
        text = eol + eol + eol.join(lines)
        assert added.count(text) == 1
        added = added.replace(text, "")
    added = added.replace("`tensor`和`tangent`仅", "`input`仅").replace("`tensor`仅", "`input`仅")
    assert added.encode() == data


def test_a_second_run_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, VARIANTS["plain"])
    output = tmp_path / "forward-ad.patch"
    options = [str(tmp_path), "--output", str(tmp_path), *empty_evidence(tmp_path)]
    git(tmp_path, "init", "-q")
    assert main(["patch", *options]) == 0
    git(tmp_path, "apply", str(output))
    capsys.readouterr()
    assert main(["patch", *options]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert output.read_bytes() == b""


def test_the_order_of_the_native_page(tmp_path: Path) -> None:
    write(tmp_path, VARIANTS["plain"])
    (change,) = patch.plan(tmp_path, [], [])
    assert list(house.read(change.path, change.version, change.after).entries) == ORDER
    # Whichever entries are there already.
    text = "\n\n".join([house.SECTION, published("unpack_dual"), published("exit_dual_level")])
    write(tmp_path, text.encode())
    (change,) = patch.plan(tmp_path, [], [])
    assert list(house.read(change.path, change.version, change.after).entries) == ORDER


def test_an_entry_in_the_house_format() -> None:
    lines = house.entry(BY_NAME["UnpackedDualTensor"], "2.11", dict.fromkeys(house.TERMS, YES))
    assert "\n".join(lines) == (
        "### <code><i>class</i></code> torch.autograd.forward_ad.UnpackedDualTensor\n"
        "\n"
        '<div style="margin-left: 2em">\n'
        "\n"
        "**原生文档**：[torch.autograd.forward_ad.UnpackedDualTensor](https://pytorch.org/docs/"
        "2.11/generated/torch.autograd.forward_ad.UnpackedDualTensor.html)\n"
        "\n"
        "**支持情况**：\n"
        "\n"
        "| 硬件 | 是否支持 |\n"
        "| ---- | :----: |\n"
        "| <term>Atlas A2 训练系列产品</term> | ✔ |\n"
        "| <term>Atlas A3 训练系列产品</term> | ✔ |\n"
        "| <term>Ascend 950DT</term> | ✔ |\n"
        "\n"
        "</div>"
    )


def test_products_with_different_dtypes_have_their_own_lines(tmp_path: Path) -> None:
    write(tmp_path, VARIANTS["plain"])
    seen = [record(entry("make_dual", dtype="float16"), entry("make_dual", "failed", "float32"))]
    (change,) = patch.plan(tmp_path, seen, [])
    assert (
        f"{house.LIMIT}\n\n"
        "- <term>Atlas A2 训练系列产品</term>：`tensor`和`tangent`仅支持fp16\n"
        "- <term>Atlas A3 训练系列产品</term>：`tensor`和`tangent`仅支持fp32\n"
    ) in change.after
    write(tmp_path, change.after.encode())
    (again,) = patch.plan(tmp_path, seen, [])
    assert again.before == again.after


def test_a_chip_changes_the_mark_of_an_entry(tmp_path: Path) -> None:
    write(tmp_path, VARIANTS["plain"])
    (change,) = patch.plan(tmp_path, [record(entry("dual_level", "failed"))], [])
    parsed = house.read(change.path, change.version, change.after)
    assert [cell.supported for cell in parsed.entries["dual_level"].cells.values()] == [
        False,
        True,
        False,
    ]


GOOD = MINI + NEXT
BAD = {
    "no section": (GOOD.replace(house.SECTION, "## Other"), "expected the heading"),
    "two sections": (GOOD + house.SECTION, "found it 2 times"),
    "a row": (GOOD.replace("| ✘ |", "| no |", 1), "expected '| <term>Ascend 950DT</term> | ✔ |'"),
    "the table": (GOOD.replace("| 硬件 | 是否支持 |", "| 硬件 |", 1), "expected one table"),
    "the end": (GOOD.replace("</div>\n\n### t", "</span>\n\n### t", 1), "expected '</div>'"),
    "the limit": (GOOD.replace("仅支持fp32", "可能支持fp32"), "expected a limit of make_dual"),
    "an unknown entry": (GOOD.replace("### torch", "### touch", 1), "expected the heading of an"),
    "twice": (GOOD.replace("unpack_dual\n", "make_dual\n"), "expected one entry of make_dual"),
    "the order": (
        "\n\n".join([house.SECTION, published("unpack_dual"), published("dual_level")]),
        "expected the entries in the order",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_page_of_another_form_leaves_nothing_half_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = BAD[name]
    good = write(tmp_path, GOOD.encode(), PATH.replace("2-11-0", "2-7-1"))
    write(tmp_path, text.encode())
    options = ["--output", str(tmp_path), *empty_evidence(tmp_path)]
    assert main(["patch", str(tmp_path), *options]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith(f"error: {PATH}") and message in said[0]
    assert good.read_bytes() == GOOD.encode()
    assert not (tmp_path / "forward-ad.patch").exists()


def test_what_is_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaps", str(tmp_path)]) == 1
    assert "expected a checkout of Ascend/pytorch" in capsys.readouterr().err
    write(tmp_path, b"\xff\xfe")
    assert main(["patch", str(tmp_path), *empty_evidence(tmp_path)]) == 1
    assert f"{PATH}: expected UTF-8" in capsys.readouterr().err
    (tmp_path / PATH).unlink()
    assert main(["patch", str(tmp_path), *empty_evidence(tmp_path)]) == 1
    assert f"{PATH}: expected this page, it is not there" in capsys.readouterr().err


def test_the_patch_gives_a_reason_for_every_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, VARIANTS["plain"])
    options = ["--output", str(tmp_path), *empty_evidence(tmp_path)]
    assert main(["patch", str(tmp_path), *options]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(VERSION)]
    assert len(rows) == len(APIS) * len(house.TERMS)
    assert "page of 2.11.0 says dual_level supported" in rows[ORDER.index("enter_dual_level") * 3]


def test_the_gaps_of_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, GOOD.encode())
    write(tmp_path, NEXT.encode(), PATH.replace("torch-autograd", "torch-func"))
    autograd, func = gaps.collect(tmp_path)
    assert f"{MODULE}.enter_dual_level" in autograd.missing
    assert not {f"{MODULE}.unpack_dual", "torch.autograd.grad"} & {*autograd.missing}
    assert len(autograd.public) == len(autograd.missing) + 4
    assert func.missing == func.public
    assert main(["gaps", str(tmp_path)]) == 0
    words = f"{len(autograd.missing)} of {len(autograd.public)} public names have no entry"
    assert f"torch.autograd 2.11.0: {words}" in capsys.readouterr().out


def test_public_names_by_version() -> None:
    names = [{"name": "old"}, {"name": "new", "since": "2.12"}]
    releases = ["2.11", "2.12"]
    assert gaps.known(releases, names, "2.11.0") == ["old"]
    assert gaps.known(releases, names, "2.12.0") == ["old", "new"]
    assert gaps.known(releases, names, "2.14.0") == []


@pytest.mark.parametrize("language", report.LANGUAGES)
def test_the_report_names_each_kind_of_evidence(language: str) -> None:
    chip = record(entry("make_dual"), entry("make_dual", "failed", "float16"))
    soft = record(entry("make_dual"), kind="software", soc="Ascend910B2")
    said = [claim("make_dual", "not supported", PAGE), claim("make_dual")]
    data = report.model([chip, soft], said)
    text = report.render(data, language)
    for number, item in data["items"].items():
        assert f"{number}. {item[language]}" in text
    software = {"zh": "软件 NPU（非芯片）", "en": "software NPU (not a chip)"}[language]
    cell = {
        "zh": "芯片：1 通过、1 失败 (Ascend910B1)<br>软件 NPU（非芯片）：1 通过 (Ascend910B2)"
        "<br>声明：已发布页面：不支持；任务报告：支持",
        "en": "chip: 1 passed, 1 failed (Ascend910B1)<br>software NPU (not a chip): 1 passed "
        "(Ascend910B2)<br>claim: published page: not supported; the task's report: supported",
    }[language]
    row = next(line for line in text.splitlines() if line.startswith("| 7 |") and cell in line)
    assert row.count(software) == 3
    # One label in each cell of eight items, three products and five versions, and one record.
    assert text.count(f"{software}{'：' if language == 'zh' else ': '}") == 8 * 3 * 5
    assert f"| software-Ascend910B2-1 | {software} |" in text
    for test in data["inventory"]["tests"]:
        assert test["file"] in text and test["why"][language] in text
    for row in data["corrections"]:
        assert row["fact"][language] in text
