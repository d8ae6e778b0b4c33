"""The rules for scripts of the gallery that a reader can rely on, checked in their code and their figures.

A script verifies what it asserts. What makes an assertion worthless fails the build: one that is always
true, one whose failure is caught, an API that is named and never called. `npudocs.execute` sees to it
that every line has run.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs.execute import problems, scripts
from npudocs.site import languages
from npudocs.site.verifies import CLAIM

# A script is what a user would paste.
FOREIGN = ("npudocs", "softnpu")
# A comparison of something with itself, or with a copy of it.
ITSELF = re.compile(
    r"(?:equal|close|eq)\(([^(),]+), \1(?:\.(?:clone|detach|cpu)\(\))*[,)]|\(([\w.]+) == \2\)"
)
HIDING = ("AssertionError", "Exception", "BaseException")
# Figures without labels that a script has drawn, as `npudocs.site.state` asks for them.
unlabeled: list[str] = []


def broken(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each rule that the code of a script breaks."""
    alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for node in ast.walk(tree):
        imported: list[str] = []
        match node:
            case ast.Assert(test=test) if not _depends(test) or ITSELF.search(ast.unparse(test)):
                yield node.lineno, "this assertion cannot fail: compare with a second source"
            case ast.Call() if _asserts(node) and ITSELF.search(ast.unparse(node)):
                yield node.lineno, "this assertion cannot fail: compare with a second source"
            case ast.Call() if _asserts(node) and node not in alone:
                yield node.lineno, "this assertion may not run: make it a statement of its own"
            case ast.keyword(arg="rtol" | "atol", value=ast.Constant(value=float(x))) if x > 1:
                yield node.value.lineno, "nothing exceeds this tolerance: compare more closely"
            case ast.ExceptHandler() | ast.Call() if _hides(node):
                yield node.lineno, "this handler hides a failure: let the error be seen"
            case ast.Import(names=names):
                imported = [alias.name for alias in names]
            case ast.ImportFrom(module=module):
                imported = [module or ""]
            case ast.Constant(value=value) if str(value).partition(":")[0] in ("npu", "cuda"):
                words = "take the device from torch.accelerator.current_accelerator()"
                yield node.lineno, f"{value!r} names a device: {words}"
        for name in imported:
            if name.partition(".")[0] in FOREIGN:
                yield node.lineno, f"a reader has no {name}: write what the script needs here"


def _depends(test: ast.expr) -> bool:
    """Whether an expression has a value that is not written in it."""
    if isinstance(test, ast.Tuple | ast.List | ast.Dict | ast.ListComp | ast.Lambda):
        return False
    if isinstance(test, ast.BoolOp):
        # `x or True` has a name, and its value without it.
        return (all if isinstance(test.op, ast.Or) else any)(map(_depends, test.values))
    # Everything is an object.
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return False
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        same = ast.dump(test.left) == ast.dump(test.comparators[0])
        return not same and _names(test)
    return _names(test)


def _names(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Name | ast.Call) for one in ast.walk(node))


def _hides(node: ast.ExceptHandler | ast.Call) -> bool:
    """Whether a handler, or a call of `contextlib.suppress`, catches an error that an assertion may raise."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        parts = node.args if name == "suppress" else []
    elif any(isinstance(one, ast.Raise) for one in ast.walk(node)):
        return False
    elif node.type is None:
        return True
    else:
        parts = [node.type]
    names = (one for part in parts for one in ast.walk(part))
    return any(isinstance(one, ast.Name) and one.id in HIDING for one in names)


def called(tree: ast.Module) -> set[str]:
    """The last parts of the names that a script calls, enters, decorates with or asks the type of."""
    used: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                used += [node.func, *node.args]
            case ast.withitem():
                used.append(node.context_expr)
            case ast.FunctionDef() | ast.ClassDef():
                used += [*node.decorator_list, *getattr(node, "bases", [])]
    return {getattr(one, "attr", getattr(one, "id", "")) for one in used} | {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    }


def _asserts(node: ast.AST) -> bool:
    """Whether a node calls a function that is named like an assertion."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "").startswith("assert")


def _check(app: Sphinx, env: BuildEnvironment) -> list[str]:
    if languages.translating(app):
        return []
    numbers = defaultdict(list)
    for stem, path in scripts.scripts(app).items():
        name = scripts.name_of(app, path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not any(isinstance(node, ast.Assert) or _asserts(node) for node in ast.walk(tree)):
            words = "this script asserts nothing, so it verifies nothing"
            problems.report(app, words, f"{name}:1")
        for line, words in broken(tree):
            problems.report(app, words, f"{name}:{line}")
        claim = env.metadata[f"{scripts.FOLDER}/{stem}"].get(CLAIM, {})
        for api in claim.get("apis", ()):
            if api.rpartition(".")[2] not in called(tree):
                problems.report(app, f"verifies {api}, and never calls it", f"{name}:1")
        if (number := stem.partition("_")[0]).isdecimal():
            numbers[number].append(name)
    for number, names in numbers.items():
        if len(names) > 1:
            problems.report(
                app, f"{' and '.join(names)} have one number, {number}", f"{names[0]}:1"
            )
    return []


def look_at_figures(block: Any, block_vars: Any, gallery_conf: Any) -> str:
    """Note axes without labels; sphinx-gallery calls it after each cell, before it takes the figures."""
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        for axes in pyplot.figure(number).axes:
            # An axis of names has no label, and a picture without ticks has no axis.
            bare = not (axes.get_xlabel() or axes.get_ylabel())
            if bare and axes.axison and axes.get_label() != "<colorbar>":
                unlabeled.append(f"axes without labels in cell {Path(block_vars['src_file']).name}")
    return ""


def setup(app: Sphinx) -> None:
    app.connect("env-updated", _check)
