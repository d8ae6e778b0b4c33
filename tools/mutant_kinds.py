"""The kinds of mutants, and which changes of the project's files they are: see ``mutants.py``."""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings its twin
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
KINDS = Path(__file__).with_name("mutants.toml")
SEED = 12
# What the lane of builds judges; the rest are arguments for pytest.
BUILT = ("build", "records", "translations")
# The files that decide a verdict, apart from the mutant itself, its room and the tests that it names.
THROUGH = {
    "build": ("conf.py", "npudocs/*.py", "npudocs/execute/*.py", "npudocs/site/*.py"),
    "records": ("evidence/**/*.json", "npudocs/evidence/*.py"),
    "translations": ("docs/**/*.md", "locales/**/*.po", "npudocs/site/translations/*.py"),
    "pytest": ("tests/conftest.py", "tests/evidencefiles.py", "tests/tiny*.py"),
}


@dataclasses.dataclass
class Kind:
    """One way to break the project: `find` within `within` of `files` becomes `replace`."""

    name: str
    breaks: str
    # "build", "records", "translations", or the arguments for pytest: {operator} is the kernel that is
    # broken, {tests} are those of its module.
    judge: str
    files: list[str] = dataclasses.field(default_factory=list)
    find: str = ""
    replace: str = ""
    sites: int = 0
    within: str = ""
    # Or changes as they are written: {file, before, after, judge}.
    edits: list[dict[str, str]] = dataclasses.field(default_factory=list)
    # A record gets the digest that fits what it says now.
    redigested: bool = False
    # Asked where the build is green: whether the run is still what was recorded.
    recorded: bool = False
    # Places that are let out, by a pattern of the line, and changes that no check has to see: {file, text, why},
    # where `text` stands in the lines that are changed, wherever in the file these are.
    spare: str = ""
    explained: list[dict[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Mutant:
    """One change of one file, and what became of it."""

    kind: str
    file: str
    before: str
    after: str
    judge: str
    line: int = 0
    # What the changed lines were, and what the file is with the change.
    lines: str = ""
    text: str = ""
    seen: str = ""
    by: str = ""
    seconds: float = 0.0
    # Of all that decides what becomes of it.
    key: str = ""


def digit(match: re.Match[str]) -> str:
    """Another digit at the end."""
    more = random.Random(match[0]).randint(1, 9)
    return f"{match[0][:-1]}{(int(match[0][-1]) + more) % 10}"


def drawn(match: re.Match[str]) -> str:
    """Another hexadecimal number as long."""
    return hashlib.sha256(match[0].encode()).hexdigest()[: len(match[0])]


EDITS = {"@digit": digit, "@drawn": drawn}


def redigested(text: str) -> str:
    """A record whose digest fits what it says now: who forges one can compute it."""
    from npudocs.evidence import files

    content = json.loads(text)
    return json.dumps({**content, "digest": files.digest(content)}, indent=1)


def table() -> dict[str, Any]:
    """The table as it is written."""
    return tomllib.loads(KINDS.read_text(encoding="utf-8"))


def kinds(names: list[str]) -> list[Kind]:
    """The kinds of the table with these names; all where there is none."""
    made = [Kind(**entry) for entry in table()["kind"]]
    if unknown := set(names) - {kind.name for kind in made}:
        sys.exit(f"mutants: there is no kind {', '.join(sorted(unknown))} in {KINDS.name}")
    return [kind for kind in made if not names or kind.name in names]


def candidates(kind: Kind) -> Iterator[tuple[Mutant, int]]:
    """Every change of this kind that could be made, and where it begins in its file."""
    for entry in kind.edits:
        text = (ROOT / entry["file"]).read_text(encoding="utf-8")
        if text.count(entry["before"]) != 1:
            words = f"{entry['before']!r} is not once in {entry['file']}"
            sys.exit(f"mutants: {kind.name}: {words}: bring {KINDS.name} up to date")
        judge = entry.get("judge", kind.judge)
        yield (
            Mutant(kind.name, entry["file"], entry["before"], entry["after"], judge),
            text.index(entry["before"]),
        )
    edit = EDITS.get(kind.replace)
    for path in sorted({path for name in kind.files for path in ROOT.glob(name)}):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        parts = re.finditer(kind.within, text, re.M | re.S) if kind.within else [None]
        for part in parts:
            start, end = part.span() if part else (0, len(text))
            for match in re.compile(kind.find, re.M).finditer(text, start, end):
                new = edit(match) if edit else match.expand(kind.replace)
                ends = text.find("\n", match.end())
                shown = text[text.rfind("\n", 0, match.start()) + 1 : ends]
                if new != match[0] and not (kind.spare and re.search(kind.spare, shown)):
                    yield Mutant(kind.name, file, match[0], new, kind.judge), match.start()


def chosen(kind: Kind) -> list[Mutant]:
    """As many as the table says, drawn by the seed: a change elsewhere draws no others."""
    seen: Counter[tuple[str, str]] = Counter()
    order = []
    for mutant, start in candidates(kind):
        seen[mutant.file, mutant.before] += 1
        key = f"{SEED} {kind.name} {mutant.file} {mutant.before} {seen[mutant.file, mutant.before]}"
        order.append((hashlib.sha256(key.encode()).hexdigest(), start, mutant))
    made: list[Mutant] = []
    for _, start, mutant in sorted(order, key=lambda one: one[:2]):
        if len(made) == (kind.sites or len(kind.edits)):
            return made
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        mutant.line = text.count("\n", 0, start) + 1
        end = text.find("\n", max(start, start + len(mutant.before) - 1))
        mutant.lines = text[text.rfind("\n", 0, start) + 1 : end]
        mutant.text = text[:start] + mutant.after + text[start + len(mutant.before) :]
        if kind.redigested:
            mutant.text = redigested(mutant.text)
        operators = re.findall(r"\b(aclnn\w+)[=(]", text[: start + len(mutant.before)])
        module = Path(mutant.file).stem
        operator = (operators or [""])[-1]
        mutant.judge = mutant.judge.format(operator=operator, tests=tests_of(module))
        mutant.key = _keyed(kind, mutant)
        # What no interpreter reads is noticed by everything.
        if not mutant.file.endswith(".py") or _reads(mutant.text):
            made.append(mutant)
    if len(made) < (kind.sites or len(kind.edits)):
        sys.exit(f"mutants: {kind.name} finds {len(made)} places of {kind.sites}")
    return made


def tests_of(module: str) -> str:
    """The tests of a module, as the table has them."""
    return table()["tests"].get(module, "")


def _keyed(kind: Kind, mutant: Mutant) -> str:
    """A digest of all that decides what becomes of a mutant."""
    if kind.judge in BUILT:
        patterns = [*THROUGH[kind.judge], *(THROUGH["records"] if kind.recorded else ())]
    else:
        named = [word.partition("::")[0] for word in mutant.judge.split()]
        room = "/".join(mutant.file.split("/")[:2])
        patterns = [f"{room}/**/*.py", f"{room}/**/*.j2", *THROUGH["pytest"]]
        patterns += [name for name in named if name.endswith(".py")]
    about = (kind.name, mutant.file, mutant.text, mutant.judge, [_hashes(one) for one in patterns])
    return hashlib.sha256(repr(about).encode()).hexdigest()


@functools.cache
def _hashes(pattern: str) -> list[tuple[str, str]]:
    """The files of a pattern, and what is in them."""
    return [
        (str(path.relative_to(ROOT)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(ROOT.glob(pattern))
    ]


def _reads(text: str) -> bool:
    try:
        return bool(ast.parse(text))
    except SyntaxError:
        return False
