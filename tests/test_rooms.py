"""The rooms of the project: imports go one way, and a name means one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# From the top down: a room may import those after it.
ROOMS = ("site", "upstream", "sweep", "evidence", "execute")

# What the code in a folder, or a file, may not import besides the rooms above its own.
FORBIDDEN = {
    "npudocs/upstream": ("npudocs.sweep", "npudocs.execute", "sphinx", "docutils"),
    "npudocs/sweep": ("sphinx", "docutils"),
    "npudocs/evidence": ("sphinx", "docutils", "torch", "torch_npu"),
    "npudocs/execute": ("npudocs.device", "npudocs.preflight", "torch", "torch_npu", "softnpu"),
    # Beside the rooms, and asked by several.
    "npudocs/device.py": (*(f"npudocs.{room}" for room in ROOMS[:-1]), "sphinx", "docutils"),
    "npudocs/preflight.py": (*(f"npudocs.{room}" for room in ROOMS), "sphinx", "docutils", "torch"),
    "softnpu": ("npudocs", "sphinx"),
    "examples": ("npudocs", "softnpu"),
    "docs": ("npudocs", "softnpu"),
}
# The blocks of a page that are executed; others may show how softnpu is called.
EXECUTED = re.compile(
    r"^(`{3,}|:{3,})\{(?:doctest|test\w+)\}.*?\n(.*?)^\1", re.MULTILINE | re.DOTALL
)
BLOCK_IMPORT = re.compile(r"^(?:>>> |\.\.\. )? *(?:import|from) +([\w.]+)", re.MULTILINE)


def _imports(path: Path, package: str) -> Iterator[str]:
    """Yield every module that a file imports, at any level, and each name that may be one."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            module = ".".join([*(base if node.level else ()), *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _imports_of_page(path: Path) -> Iterator[str]:
    """Yield every module that the executed blocks of a page import."""
    for block in EXECUTED.finditer(path.read_text(encoding="utf-8")):
        yield from BLOCK_IMPORT.findall(block[2])


def _forbidden(folder: str) -> tuple[str, ...]:
    room = folder.removeprefix("npudocs/")
    above = ROOMS[: ROOMS.index(room)] if room in ROOMS else ()
    return (*(f"npudocs.{name}" for name in above), *FORBIDDEN.get(folder, ()))


def _backwards(root: Path) -> dict[str, set[str]]:
    """Return the imports that run backwards, by file."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder in {*FORBIDDEN, *(f"npudocs/{room}" for room in ROOMS)}:
        for path in [*(root / folder).rglob("*.py"), *(root / folder).rglob("*.md"), root / folder]:
            if not path.is_file():
                continue
            file = path.relative_to(root)
            page = path.suffix == ".md"
            package = ".".join(file.parent.parts)
            for name in _imports_of_page(path) if page else _imports(path, package):
                for wrong in _forbidden(folder):
                    if f"{name}.".startswith(f"{wrong}."):
                        found[file.as_posix()].add(wrong)
    return dict(found)


def _classes_of_two_modules(root: Path) -> dict[str, list[str]]:
    """Return the names that more than one class has, with the files."""
    found = defaultdict(list)
    for path in sorted((root / "npudocs").rglob("*.py")):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(root).as_posix())
    return {name: files for name, files in found.items() if len(files) > 1}


def _modules_named_as_functions(root: Path) -> set[str]:
    """Return the modules whose package has a function or class of their name."""
    found = set()
    for package in (root / "npudocs").rglob("__init__.py"):
        kinds = (ast.FunctionDef, ast.ClassDef)
        names = {node.name for node in _tree(package).body if isinstance(node, kinds)}
        for path in package.parent.iterdir():
            if path.stem in names and (path.suffix == ".py" or path.is_dir()):
                found.add(path.relative_to(root).as_posix())
    return found


def test_every_folder_is_a_room() -> None:
    folders = {path.parent.name for path in (ROOT / "npudocs").glob("*/__init__.py")}
    assert folders == {*ROOMS}


def test_imports_run_one_way() -> None:
    assert _backwards(ROOT) == {}


def test_a_class_has_a_name_of_its_own() -> None:
    assert _classes_of_two_modules(ROOT) == {}


def test_a_module_is_not_named_as_a_function_beside_it() -> None:
    assert _modules_named_as_functions(ROOT) == set()


@pytest.mark.parametrize(
    ("file", "code", "wrong"),
    [
        ("npudocs/execute/one.py", "import torch.nn", "torch"),
        (
            "npudocs/execute/one.py",
            "def f():\n    from npudocs import evidence",
            "npudocs.evidence",
        ),
        ("npudocs/execute/one.py", "from ..site.words import say", "npudocs.site"),
        ("npudocs/evidence/one.py", "from docutils import nodes", "docutils"),
        ("npudocs/sweep/deep/one.py", "from npudocs.site import state", "npudocs.site"),
        ("npudocs/upstream/one.py", "from npudocs.sweep import records", "npudocs.sweep"),
        ("npudocs/device.py", "import sphinx.application", "sphinx"),
        ("softnpu/one.py", "import npudocs", "npudocs"),
        ("docs/api/one.md", "```{doctest}\n>>> import softnpu\n```", "softnpu"),
        ("docs/one.md", ":::{testcode}\nfrom npudocs import evidence\n:::", "npudocs"),
        ("examples/one.py", "import softnpu.soc", "softnpu"),
    ],
)
def test_an_import_that_runs_backwards_is_seen(
    tmp_path: Path, file: str, code: str, wrong: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(code)
    assert _backwards(tmp_path) == {file: {wrong}}


def test_names_that_mean_two_things_are_seen(tmp_path: Path) -> None:
    folder = tmp_path / "npudocs" / "room"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("class Cell: ...\ndef problems(): ...\n")
    (folder / "problems.py").write_text("class Cell: ...\n")
    files = ["npudocs/room/__init__.py", "npudocs/room/problems.py"]
    assert _classes_of_two_modules(tmp_path) == {"Cell": files}
    assert _modules_named_as_functions(tmp_path) == {"npudocs/room/problems.py"}
