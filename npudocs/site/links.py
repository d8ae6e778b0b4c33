"""``python -m npudocs.site.links FOLDER``: do the links inside a built site lead somewhere?

Every ``href``, ``src``, ``action`` and ``poster`` that is relative has to name a file of the site, and what
stands after ``#`` an anchor in it. Sphinx checks what it resolves itself; this also sees what templates,
themes and HTML of our own write. Links to other sites are ``make linkcheck``'s.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_LINK = re.compile(r"""\s(?:href|src|action|poster)=(?:"([^"]*)"|'([^']*)')""")
_ANCHOR = re.compile(r"""\s(?:id|name)=(?:"([^"]*)"|'([^']*)')""")
# Shown at any address, so its links are absolute. (What lies in _static is a theme's, and no page.)
ANYWHERE = {"404.html"}


def problems(site: Path) -> Iterator[str]:
    """Each link that leads nowhere, with the place where it stands."""
    anchors = functools.cache(_anchors)
    for page in sorted(site.rglob("*.html")):
        if page.name in ANYWHERE or "_static" in page.parts:
            continue
        for line, link in _links(page):
            if problem := _problem(site, page, link, anchors):
                yield f"{page.relative_to(site).as_posix()}:{line}: {link!r} {problem}"


def _problem(
    site: Path, page: Path, link: str, anchors: functools._lru_cache_wrapper[set[str]]
) -> str:
    """What is wrong with a link; an empty text where nothing is."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    if parts.path.startswith("/"):
        return "is absolute: it works at one address of the site alone"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()):
        return "leads out of the site"
    if not target.is_file():
        return "leads to no file"
    wanted = unquote(parts.fragment)
    # A state for a script, as the filters of a table, is no anchor.
    if not wanted or "=" in wanted or target.suffix != ".html":
        return ""
    if wanted not in anchors(target):
        return f"has no anchor {wanted!r} to lead to in {target.relative_to(site.resolve()).as_posix()}"
    return ""


def _links(page: Path) -> Iterator[tuple[int, str]]:
    """The links of a page with their lines, each once."""
    seen: set[str] = set()
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        for tag in _TAG.findall(line):
            for one, other in _LINK.findall(tag):
                link = unescape(one or other)
                if link not in seen:
                    seen.add(link)
                    yield number, link


def _anchors(page: Path) -> set[str]:
    found = {"top"}
    for tag in _TAG.findall(page.read_text(encoding="utf-8")):
        found.update(unescape(one or other) for one, other in _ANCHOR.findall(tag))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the problems of a site; returns the exit code."""
    parser = argparse.ArgumentParser(prog="npudocs.site.links", description=__doc__)
    parser.add_argument("site", type=Path)
    site = parser.parse_args(arguments).site
    pages = sum(1 for _ in site.rglob("*.html"))
    if not pages:
        parser.error(f"there is no page in {site}: make html builds them")
    found = list(problems(site))
    print("\n".join(found), file=sys.stderr)
    print(f"{pages} pages, {len(found)} links that lead nowhere")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
