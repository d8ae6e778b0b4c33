"""The C files depend on each other in one direction only, in the order that the README shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from softnpu import build

NAMES = [source.stem for source in build.SOURCES]
README = (build.HERE / "README.md").read_text(encoding="utf-8")


def headers(file: Path) -> set[str]:
    """The headers of this library that a file includes."""
    return set(re.findall(r'^#include "(\w+)\.h"', file.read_text(encoding="utf-8"), re.MULTILINE))


def included(name: str) -> set[str]:
    """The C files behind the headers that a C file includes; two headers have only types."""
    return (headers(build.HERE / "csrc" / f"{name}.c") & set(NAMES)) - {name}


def symbols(folder: Path, name: str) -> tuple[set[str], set[str]]:
    """What an object of a C file defines, and what it takes from elsewhere."""
    out = folder / f"{name}.o"
    source = build.HERE / "csrc" / f"{name}.c"
    subprocess.run(["cc", *build.FLAGS, "-O0", "-c", source, "-o", out], check=True)
    listed = subprocess.run(["nm", "-P", out], capture_output=True, text=True, check=True).stdout
    rows = [line.split()[:2] for line in listed.splitlines()]
    defined = {symbol for symbol, kind in rows if kind in "TDBRC"}
    return defined, {symbol for symbol, kind in rows if kind == "U"}


def table() -> list[list[str]]:
    """The C files of each row of the README's table, from the top down."""
    rows = [re.findall(r"`(\w+)\.c`", line) for line in README.splitlines() if line[:1] == "|"]
    return [row for row in rows if row]


def test_the_files_form_no_circle():
    TopologicalSorter({name: included(name) for name in NAMES}).prepare()


def test_who_calls_a_file_includes_its_header(tmp_path):
    """So that no declaration of one's own hides a dependency from the test above."""
    if not (shutil.which("cc") and shutil.which("nm")):
        pytest.skip("there is no C compiler, or no nm (binutils)")
    made = {name: symbols(tmp_path, name) for name in NAMES}
    owner = {symbol: name for name, (defined, _) in made.items() for symbol in defined}
    for name, (_, wanted) in made.items():
        called = {owner[symbol] for symbol in wanted if symbol in owner}
        assert called <= included(name), name


def test_each_row_of_the_table_needs_only_rows_below_it():
    listed = [name for row in table() for name in row]
    assert sorted(listed) == NAMES
    below = set(NAMES)
    for row in table():
        below -= set(row)
        for name in row:
            assert included(name) <= below, f"{name}.c includes what is not below it"
