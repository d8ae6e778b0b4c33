"""Python that looks executed but is not fails the build, unless it says why.

Of all the ways to write code on a page only doctest fences are executed; the others look just the
same to a reader. ``{not-executed}`` is the honest way to show code that cannot run here.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from pygments.lexers import PythonConsoleLexer, PythonLexer
from sphinx.application import Sphinx
from sphinx.directives.code import container_wrapper
from sphinx.util.docutils import SphinxDirective

from npudocs.execute import blocks, problems
from npudocs.execute import scripts as gallery

PYTHON = {
    *(alias.lower() for lexer in (PythonLexer, PythonConsoleLexer) for alias in lexer.aliases),
    *("ipython", "ipython3", "ipythonconsole", "numpy", "python2", "py2"),
}
ADVICE = (
    "make it a {doctest} or {testcode} fence, or mark it with {not-executed} and a :reason: "
    "(conventions: the head of npudocs/execute/blocks.py)"
)


class NotExecuted(SphinxDirective):
    """``{not-executed} LANGUAGE``: code with a caption that says why it is not run."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {"reason": directives.unchanged_required, "file": directives.path}

    def run(self) -> list[nodes.Node]:
        """Return a captioned code block."""
        reason = self.options.get("reason", "").strip()
        if not reason:
            raise self.error("not-executed needs the option :reason:, in words for the reader")
        code = "\n".join(self.content)
        if "file" in self.options:
            relative, path = self.env.relfn2path(self.options["file"])
            self.env.note_dependency(relative)
            code = Path(path).read_text(encoding="utf-8")
        block = nodes.literal_block(code, code, language=self.arguments[0], execute_reason=reason)
        self.set_source_info(block)
        wrapper = container_wrapper(self, block, f"Not executed: {reason}")
        wrapper["classes"].append("npudocs-not-executed")
        return [wrapper]


# The fences of this package, and how like one of them a mistyped word is.
NAMES = ("doctest", "testcode", "testoutput", "testsetup", "testcleanup", "not-executed")
LIKE = 0.8
# The languages of a block that names none.
PLAIN = ("", "none", "default", "text")
# A line that is Python, and nothing else.
CODE = re.compile(
    r"^(import \w+|from \S+ import .*|assert .*|def \w+\(.*:|\w+ = [\w.]+\(.*\))$", re.MULTILINE
)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Look at the fences of a page in Markdown as they are written."""
    path = Path(app.env.doc2path(docname))
    found = problems.of_encoding(path.read_bytes()) if path.is_file() else []
    if path.suffix == ".md":
        found += problems_of(source[0])
    for line, words in found:
        problems.report(app, words, location=f"{path}:{line}")


def problems_of(text: str, before: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of what is wrong with the fences of a text in Markdown.

    A fence without an end takes the prose behind it along, and one that is typed wrong shows code
    that nobody executes.
    """
    lines = text.splitlines()
    for token in MarkdownIt("commonmark").use(colon_fence_plugin).parse(text):
        if token.type not in ("fence", "colon_fence"):
            continue
        first, end = token.map
        where, mark = before + first + 1, token.markup
        if not re.fullmatch(rf"\s*{mark[0]}{{{len(mark)},}}\s*", lines[end - 1]) or end - first < 2:
            yield where, f"this fence has no end: close it with {mark}"
        inner = re.compile(rf"\s*{mark[0]}{{{len(mark)},}}\s*\{{?\w")
        for number, line in enumerate(lines[first + 1 : end - 1], where + 1):
            if inner.match(line):
                yield (
                    where,
                    f"a fence begins in line {number} inside of this one: end this one before it",
                )
        word = (token.info.split() or [""])[0]
        if (name := word.strip("{}")) and (name not in NAMES or word != f"{{{name}}}"):
            for right in difflib.get_close_matches(name, NAMES, 1, LIKE):
                yield where, f"there is no fence {word}: did you mean {{{right}}}?"
        if word.startswith("{") and name not in NAMES and "code" not in name:
            yield from problems_of(token.content, where)


def _check(app: Sphinx, doctree: nodes.document) -> None:
    executed = gallery.code_cells(app, app.env.docname)
    for node in doctree.findall(nodes.literal_block):
        if problem := _problem(node, executed):
            problems.report(app, f"{problem}: {ADVICE}", location=node)
    for node in doctree.findall(nodes.raw):
        if re.search(r">>> |language-py", html.unescape(node.astext())):
            problems.report(app, f"this HTML shows Python that is not executed: {ADVICE}", node)
    for node in doctree.findall(nodes.paragraph):
        if re.match(r":{3,}\s*\{", node.astext()):
            problems.report(app, "this directive is shown as plain text: use ``` fences", node)
    if executed is None:
        for problem, node in blocks.collect(doctree)[1]:
            problems.report(app, problem, location=node)
    else:
        # Only the code cells of a script are run.
        for node in blocks.nodes_of(doctree):
            problems.report(app, "this block is not executed: put it in a code cell", node)


def _problem(node: nodes.literal_block, executed: set[str] | None) -> str | None:
    if "testnodetype" in node or "execute_reason" in node:
        return None
    if executed is not None and node.astext().strip() in executed:
        return None
    if node.get("language", "").lower() in PYTHON:
        return f"this {node['language']} code is not executed"
    if re.search(r"^\s*>>>( |$)", node.astext(), re.MULTILINE):
        return "this block shows a Python prompt and is not executed"
    if executed is None and node.get("language", "") in PLAIN and CODE.search(node.astext()):
        return "this block is Python and is not executed"
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("not-executed", NotExecuted)
    app.connect("source-read", _read)
    app.connect("doctree-read", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
