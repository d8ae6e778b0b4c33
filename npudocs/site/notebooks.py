"""Notebooks of the gallery, to download: Markdown that says what the page says.

sphinx-gallery translates the reST of a script into Markdown, but for what it does not know: roles of
Sphinx, which a notebook has no targets for, and this project's directive ``verifies``. They are
rewritten before it translates; it has no setting for that, so its function is replaced by `notebook`.
"""

from __future__ import annotations

import functools
import re
import textwrap
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery import gen_rst
from sphinx_gallery import notebook as upstream

_VERIFIES = re.compile(r"^\.\. verifies::\n((?:[ \t]+\S.*(?:\n|\Z))+)", re.MULTILINE)
_ROLE = re.compile(r"(?<![`\w:]):(?P<role>[a-z]+(?::[a-z]+)?):`(?P<text>[^`]+)`")
_MATH = re.compile(
    r"^\.\. math::(?P<first>.*)\n(?P<rest>(?:[ \t]+.*\n|\n(?=[ \t]))*)", re.MULTILINE
)


def markdown_ready(text: str, root: Path) -> str:
    """A text block's reST without what only Sphinx understands; `root` is the folder of the pages."""
    text = _VERIFIES.sub(_verified, text if text.endswith("\n") else f"{text}\n")
    text = _MATH.sub(_formula, text)
    return _ROLE.sub(functools.partial(_plain, root), text)


def _verified(match: re.Match[str]) -> str:
    """What the box of the page says, as one line."""
    fields = dict(re.findall(r":(\w+):([^:]*)", match.group(1)))
    listed = {
        name: [word.strip() for word in value.split(",") if word.strip()]
        for name, value in fields.items()
    }
    # A box without it is an error of the page, which says where.
    apis = ", ".join(f"``{api}``" for api in listed.get("apis", []))
    items = listed.get("items", [])
    many = "s" if len(items) > 1 else ""
    covered = f"test item{many} {', '.join(items)} of the task, and " if items else ""
    return f"**This example verifies** {covered}the use of {apis}.\n"


def _formula(match: re.Match[str]) -> str:
    """A displayed formula; Jupyter typesets ``$$``, and upstream's ``align`` needs no alignment."""
    body = textwrap.dedent(match["rest"]).strip()
    return f"$$\n{' '.join([match['first'].strip(), *body.split()]).strip()}\n$$\n\n"


def _plain(root: Path, match: re.Match[str]) -> str:
    """A role as it reads: code for an object, its title for a page."""
    role, text = match["role"], " ".join(match["text"].split())
    title, _, target = text.removesuffix(">").partition("<")
    if role == "math":
        return match.group()
    if role == "doc":
        return f"*{title.strip() if target else _title(root, title)}*"
    return f"``{title.strip() if target else title.removeprefix('~')}``"


def _title(root: Path, docname: str) -> str:
    """The title of a page: of a Markdown file, or of the script that a gallery page is made of."""
    name = docname.strip("/")
    page, script = root / f"{name}.md", root.parent / "examples" / f"{Path(name).name}.py"
    if page.is_file():
        found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    else:
        found = script.is_file() and re.search(
            r'^r?"""\n(.+)\n=', script.read_text(encoding="utf-8")
        )
    return found.group(1) if found else name


def notebook(script_blocks: list[Any], gallery_conf: dict[str, Any], target_dir: Any) -> Any:
    """sphinx-gallery's notebook of a script, from text that it can translate."""
    root = Path(gallery_conf["src_dir"])
    blocks = [
        block._replace(content=markdown_ready(block.content, root))
        if block.type == "text"
        else block
        for block in script_blocks
    ]
    return upstream.jupyter_notebook(blocks, gallery_conf, target_dir)


def setup(app: Sphinx) -> dict[str, Any]:
    gen_rst.jupyter_notebook = notebook
    return {"parallel_read_safe": True, "parallel_write_safe": True}
