"""The pages about single operators: drawn from the records of sweeps alone."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from evidencefiles import CHIP, SOCS
from tinyproject import Project

from npudocs import evidence
from npudocs.evidence import sweep_records
from npudocs.evidence.sweep_records import STATUSES
from npudocs.site import data_files as files
from npudocs.site.operators import data
from npudocs.site.operators.data import Sweep

PARTS = ("counts", "table", "statuses", "files", "limits", "changes", "cpu")
TELLS = {"wrong": "the tangent is 2, the CPU's is 1", "error": "RuntimeError: <no> & never"}


def cell(status: str = "same", form: str = "dual", dtype: str = "float32", **more: Any) -> Any:
    """A cell of three samples; one that is not equal tells why."""
    made = {"dtype": dtype, "form": form, "status": status, "counts": {status: 3}, **more}
    if status in TELLS:
        told = {"sample": 0, "status": status, "message": TELLS[status], "call": "f(<x>)"}
        made["told"] = [told]
    return made


def operator(*cells: Any, family: str = "torch", **more: Any) -> dict[str, Any]:
    """An operator of a record."""
    return {"family": family, "cells": list(cells), **more}


def made(
    operators: dict[str, Any], version: str = "2.13.0", product: str = "A2", kind: str = "software"
) -> dict[str, Any]:
    """The content of a record."""
    soc, software = SOCS[product], kind == "software"
    where = {
        "torch": version, "torch_npu": version, "soc": soc, **({"cann": ""} if software else CHIP),
        "product": product, "device": f"{soc} (softnpu)" if software else soc,
        "softnpu": "f00" if software else "",
        "python": "3.11.7", "machine": "x86_64",
    }  # fmt: skip
    dtypes = {one["dtype"] for entry in operators.values() for one in entry["cells"]}
    content = {
        "schema": 3, "kind": kind, "where": where, "commit": "a" * 40, "started": "2026-11-30",
        "seconds": 1, "limits": {"samples": 8, "seconds": 120},
        "dtypes": [d for d in ("float32", "float64", "float16") if d in dtypes] or ["float32"],
        "tolerances": {"float32": [1e-4, 1e-5]}, "operators": operators,
    }  # fmt: skip
    return content


def record(project: Project, operators: dict[str, Any], *place: str) -> Path:
    """Write a record: of these operators, a version, a product and a kind."""
    return sweep_records.write(made(operators, *place), project.root / "evidence")


OPERATORS = {
    "add": operator(cell(), cell("wrong", "func.jvp"), cell("error", dtype="float16")),
    "cos": operator(cell(), cell("cpu wrong", "batched")),
    "fft.fft": operator(cell("both refuse"), family="fft"),
    "sub": operator(cell("cpu fallback", fallback=["aten::sub", "aten::_efficientzerotensor"])),
}


@pytest.fixture
def site(project: Project) -> Project:
    """A project with all parts on the page that the operators have."""
    text = "".join(f"```{{operator-{name}}}\n```\n\n" for name in PARTS)
    project.write("docs/operators/index.md", f"---\norphan: true\n---\n# Operators\n\n{text}")
    return project


def build(site: Project) -> str:
    """Build, and return the page."""
    result = site.build()
    assert result.code == 0, result.output
    return site.read("html/operators/index.html")


def joined(page: str) -> str:
    """A page with the cells of a row on one line."""
    return re.sub(r">\n<t", "><t", page)


def rows(page: str, classes: str = "npudocs-operators") -> list[list[str]]:
    """The rows of a table as texts."""
    table = re.search(rf'<table class="[^"]*{classes}.*?</table>', page, re.S).group()
    table = re.sub("<button.*?</button>", "", table, flags=re.S)
    return [
        [re.sub("<[^>]+>", "", text) for text in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)
    ]


def test_the_table_is_complete_without_a_script(site: Project) -> None:
    record(site, OPERATORS)
    head, *body = rows(build(site))
    assert head[:4] == ["operator", "family", "worst", "dual"]
    assert body[0] == ["add", "torch", "wrong", "same", "", "", "wrong", *[""] * 5]
    assert body[2] == ["fft.fft", "fft", "both refuse", "both refuse", *[""] * 8]
    assert [row[0] for row in body] == ["add", "cos", "fft.fft", "sub"]


def test_counts_are_those_of_the_version_built_with(site: Project) -> None:
    record(site, OPERATORS)
    record(site, {"add": operator(cell("error"))}, "2.12.0")
    record(site, {"add": operator(cell("error"))}, "2.14.0")  # the build has 2.13.0
    page = build(site)
    assert "4 operators, 7 combinations of operator, form and dtype, 21 samples" in page
    head, dual, *_ = rows(page, "npudocs-counts")
    assert dict(zip(head, dual, strict=True)) == {
        "": "dual", "wrong": "", "cpu wrong": "", "cpu fallback": "1", "same": "2", "both refuse": "1",
    }  # fmt: skip
    assert 'data-state="#form=dual&amp;dtype=float32&amp;status=same">2</td>' in page


def test_a_version_that_was_not_swept_shows_the_newest(site: Project) -> None:
    for version in ("2.12.0", "2.14.0"):
        record(site, OPERATORS, version)
    assert "torch_npu 2.14.0 as A2, software NPU, float32" in build(site)


def test_software_is_named_and_never_drawn_as_a_chip(site: Project) -> None:
    record(site, OPERATORS)
    page = build(site)
    assert "torch_npu 2.13.0 as A2, software NPU, float32" in page
    assert "<strong>software NPU</strong> torch_npu 2.13.0, torch " in page
    assert "npudocs-banner npudocs-software" in page and "npudocs-silicon" not in page
    assert "✔" not in page and "✓" not in page
    record(site, OPERATORS, "2.13.0", "A2", "silicon")
    page = build(site)
    assert "torch_npu 2.13.0 on A2, Ascend chip, float32" in page
    assert "<strong>Ascend chip</strong> torch_npu 2.13.0, torch " in page
    assert [k for k in ("software", "silicon") if f'<option value="{k}"' in page] == [
        "software", "silicon",
    ]  # fmt: skip


def test_script_and_style_are_on_their_pages_alone(site: Project) -> None:
    record(site, OPERATORS)
    site.page("Text.")
    page, other = build(site), site.read("html/page.html")
    home = site.read("html/operators/families/torch-c-e.html")
    assert "operators.js" in page and "operators.css" in page
    assert "operators.css" in home and "operators.js" not in home
    assert "operators.js" not in other and "operators.css" not in other


def test_an_operator_has_a_section(site: Project) -> None:
    cpu = {"status": "wrong", "message": "1, not 2", "call": "f(x)"}
    record(site, {**OPERATORS, "cos": operator(cell(), cpu=cpu)})
    record(site, {"add": operator(cell("error"))}, "2.12.0")
    page = build(site)
    assert 'href="families/torch-a-b.html#add">add</a>' in page
    text = site.read("html/operators/families/torch-a-b.html")
    assert 'id="add"' in text
    assert "RuntimeError: &lt;no&gt; &amp; never" in text and "f(&lt;x&gt;)" in text
    assert '<th scope="row">2.12.0 as A2</th><td data-s="error">error</td>' in joined(text)
    text = site.read("html/operators/families/torch-s.html")
    assert "Computed on the host: <code>aten::sub</code> (dual in float32)" in text
    text = site.read("html/operators/families/torch-c-e.html")
    assert "The CPU itself: wrong, against finite differences in float64: 1, not 2" in text


def test_a_page_goes_with_its_last_operator(site: Project) -> None:
    path = record(site, OPERATORS)
    build(site)
    path.unlink()
    record(site, {"add": OPERATORS["add"]})
    build(site)
    for name in ("docs/operators/families/fft.md", "build/html/operators/families/fft.html"):
        assert not (site.root / name).exists()
    assert (site.root / "build/html/operators/families/torch-a-b.html").exists()


def test_the_downloads_hold_everything(site: Project) -> None:
    record(site, OPERATORS)
    record(site, OPERATORS, "2.13.0", "A3")
    record(site, {"add": operator(cell("error"))}, "2.12.0")
    build(site)
    found = site.json("html/data/operators.json")
    jsonschema.validate(found, site.json("html/data/operators.schema.json"))
    add = found["operators"][0]
    assert [(c["records"], c["form"], c["status"]) for c in add["cells"]] == [
        ([0], "dual", "error"), ([1, 2], "dual", "same"), ([1, 2], "func.jvp", "wrong"),
        ([1, 2], "dual", "error"),
    ]  # fmt: skip
    assert (site.root / "build/html" / add["page"].partition("#")[0]).is_file()
    lines = list(csv.DictReader(site.read("html/data/operators.csv").splitlines()))
    assert len(lines) == 1 + 2 * 7
    assert lines[0] == {
        "operator": "add", "family": "torch", "form": "dual", "dtype": "float32",
        "torch_npu": "2.12.0", "product": "A2", "kind": "software", "status": "error",
        "samples": "3", "fallback": "", "message": TELLS["error"], "call": "f(<x>)",
    }  # fmt: skip


def test_the_script_gets_every_view(site: Project) -> None:
    record(site, OPERATORS)
    record(site, {"add": operator(cell("error")), "abs": operator(cell())}, "2.12.0")
    page = build(site)
    text = site.read("html/data/operators.js")
    views = json.loads(text.removeprefix("window.npudocsOperators = ").rstrip(";\n"))
    assert views["operators"] == [row[0] for row in rows(page)[1:]]
    names = [*STATUSES]
    old, new = (sweep["cells"]["float32"][0] for sweep in views["sweeps"])
    same, error, refuse, fallback = (
        files.DIGITS[names.index(s)] for s in ("same", "error", "both refuse", "cpu fallback")
    )
    assert old == f"{same}{error}..." and new == f".{same}{same}{refuse}{fallback}"
    listed = re.search(r'<select name="status">(.*?)</select>', page).group(1)
    assert re.findall(r'value="([^"]*)"', listed) == ["", "differs", *names]
    # An operator that the newest version lacks has its row, without a status.
    assert rows(page)[1] == ["abs", "torch", *[""] * 10]
    assert "abs: torch_npu 2.12.0 as A2" in site.read("html/operators/families/torch-a-b.html")


def with_the_repair(site: Project, version: str = "2.13.0") -> None:
    """Write a record that was made with the repair; one of its cells the other record does not have."""
    cells = cell(), cell("wrong", "func.jvp"), cell(dtype="float16"), cell("error", "out")
    content = made({"add": operator(*cells), "cos": operator(cell())}, version)
    sweep_records.write({**content, "repaired": True}, site.root / "evidence")


def test_what_the_repair_changes_is_counted_in_the_cells_that_both_have(site: Project) -> None:
    record(site, OPERATORS)
    with_the_repair(site)
    page = build(site)
    assert "of 4 cells that were swept without and with it: torch_npu 2.13.0 as A2" in page
    assert rows(page, "npudocs-counts npudocs-repair")[1:] == [
        ["tangent lost", "0", "0"], ["wrong", "1", "1"], ["error", "1", "0"], ["no error", "0", "0"],
    ]  # fmt: skip
    # Everything else is as torch_npu ships, and only the script has the other.
    assert "4 operators, 7 combinations" in page
    assert rows(page)[1][1:5] == ["torch", "wrong", "same", ""]
    assert '<option value="yes">repaired</option>' in page
    text = site.read("html/data/operators.js")
    views = json.loads(text.removeprefix("window.npudocsOperators = ").rstrip(";\n"))["sweeps"]
    assert [one["repaired"] for one in views] == [False, True]
    assert "float16" in views[1]["cells"]
    assert len(site.json("html/data/operators.json")["records"]) == 1


def test_without_a_record_of_the_repair_the_page_says_so(site: Project) -> None:
    said = "There is no record of a sweep with npu_forward_ad&#39;s repair of torch_npu 2.13.0"
    record(site, OPERATORS)
    page = build(site)
    assert said in page and 'name="repaired"' not in page
    with_the_repair(site, "2.12.0")
    page = build(site)
    assert said in page and 'name="repaired"' in page


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
@pytest.mark.parametrize(
    ("state", "words", "names"),
    [
        ("", "4 of 5 operators: torch_npu 2.13.0 as A2, software NPU, float32.", "add cos fft.fft sub"),
        ("#search=s&sort=operator&dir=down", "2 of 5", "sub cos"),
        ("#status=wrong", "1 of 5", "add"),
        ("#status=wrong&form=dual", "0 of 5", ""),
        ("#status=differs&sort=worst", "3 of 5", "add cos sub"),
        ("?family=fft", "1 of 5", "fft.fft"),
        ("#version=2.12.0", "2 of 5 operators: torch_npu 2.12.0 as A2", "abs add"),
        ("#version=all&status=error&form=dual", "1 of 5 operators: torch_npu 2.12.0, 2.13.0", "add"),
        ("#dtype=float16", "1 of 5", "add"),
        ("#version=2.12.0&dtype=float16", "0 of 5 operators: float16 was not swept there.", ""),
        ("#repaired=yes", "2 of 5 operators: torch_npu 2.13.0 as A2, software NPU, repaired, float32.", "add cos"),
        ("#repaired=yes&status=error", "1 of 5", "add"),
        ("#repaired=yes&version=2.12.0", "no record of 2.12.0, A2, software NPU, repaired.", ""),
    ],
)  # fmt: skip
def test_filters_in_a_browser(site: Project, state: str, words: str, names: str) -> None:
    record(site, OPERATORS)
    record(site, {"add": operator(cell("error")), "abs": operator(cell())}, "2.12.0")
    with_the_repair(site)
    build(site)
    built = site.root / "build/html"
    shutil.copy(evidence.ROOT / "docs/_static/operators.js", built / "_static")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    address = (built / "operators/index.html").as_uri() + state
    ran = subprocess.run(
        ["chromium", *flags, "--dump-dom", address], capture_output=True, text=True, timeout=60
    )
    assert words in re.search(r'aria-live="polite">(.*?)</p>', ran.stdout, re.S).group(1)
    assert [row[0] for row in rows(ran.stdout)[1:]] == names.split()
    assert '<td data-state="#form=dual&amp;dtype=float32&amp;status=same"><a href=' in ran.stdout


def test_what_changed_is_found_in_the_records(site: Project) -> None:
    for product in ("A2", "A3"):
        record(site, {"add": operator(cell("error")), "abs": operator(cell())}, "2.12.0", product)
        record(site, OPERATORS, "2.13.0", product)
    page = build(site)
    assert "2.12.0 to 2.13.0" in page
    assert "As A2, A3, software NPU: 1 of 1 combinations have another status (in float32)." in page
    assert '<td data-s="error">error</td><td data-s="same">same</td>' in joined(page)
    assert "Only in 2.13.0: 3 operators" in page and "Not in 2.13.0: 1 operator:" in page
    assert "There is no record of torch_npu 2.7.1, 2.11.0, 2.14.0." in page


def test_one_version_or_no_change_says_so(site: Project) -> None:
    record(site, OPERATORS)
    assert "No product has records of two versions yet" in build(site)
    record(site, OPERATORS, "2.14.0")
    assert "0 of 7 combinations have another status (in float32, float16)." in build(site)


def test_faults_of_the_cpu_are_listed(site: Project) -> None:
    cpu = {"status": "tangent lost", "message": "the tangent is None"}
    record(site, {**OPERATORS, "add": operator(cell(), cpu=cpu)})
    page = build(site)
    assert "<td>tangent lost</td><td>float64</td><td>the tangent is None</td>" in joined(page)
    assert "<td>wrong in batched</td><td>float32</td>" in joined(page)


def test_a_unit_that_died_has_its_status_in_every_form() -> None:
    sweep = Sweep(made({"add": operator(cell("crashed", "all"))}))
    assert sweep.status("add", "dual", "float32") == "crashed"
    assert sweep.operators_by_status("float32", "out") == {"crashed": 1}


def test_without_a_record_the_page_says_so(site: Project) -> None:
    page = build(site)
    assert page.count("There is no record of a sweep yet") == 6
    assert "the process died" in page
    assert {*(site.root / "build/html/data").glob("operators.*")} == {
        site.root / "build/html/data/operators.schema.json"
    }


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("started", "2026-12-01", "digest: does not fit the content"),
        ("dtypes", ["int8"], "digest: does not fit the content"),
    ],
)
def test_an_edited_record_is_one_clear_error(
    site: Project, field: str, value: Any, words: str
) -> None:
    path = record(site, OPERATORS)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}), encoding="utf-8")
    result = site.build()
    assert result.code != 0
    assert "the evidence is not to be trusted: sweeps/software/" in result.output
    assert words in result.output and "Traceback" not in result.output


def test_a_cell_that_no_schema_allows_is_found(site: Project) -> None:
    record(site, OPERATORS)
    with pytest.raises(evidence.EvidenceError, match="operators.cos.cells.*'fine' is not"):
        record(site, {**OPERATORS, "cos": operator(cell("fine"))}, "2.14.0")


def test_addresses_stay() -> None:
    assert data.page("nn.functional.conv2d", "nn.functional").endswith("/nn-functional-c-e")
    assert data.page("__rsub__", "torch").endswith("/torch-n-r")
    assert data.page("T", "torch").endswith("/torch-t-z")
    assert data.page("linalg.inv", "linalg").endswith("/linalg")
