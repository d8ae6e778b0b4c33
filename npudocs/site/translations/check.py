"""What is wrong with the translations, each with file, line and text; and how much is translated."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from npudocs.site import words
from npudocs.site.translations import markup, terms

# The catalogs that have to be complete.
SCOPE = "complete.json"
LENGTH = 90


@dataclasses.dataclass
class Findings:
    """What was found in the catalogs of one language, and for each a line of how far it is."""

    problems: list[str] = dataclasses.field(default_factory=list)
    coverage: list[str] = dataclasses.field(
        default_factory=lambda: [f"{'catalog':<16}{'messages':>9}{'translated':>12}{'fuzzy':>7}{'stale':>7}"]
    )  # fmt: skip


def read(path: Path) -> Catalog:
    """Return a template or a catalog."""
    with path.open("rb") as file:
        return read_po(file)


def text(value: Any) -> str:
    """Return a message as one text: of two forms that for many, which Chinese has for all numbers."""
    return value if isinstance(value, str) else value[-1]


def check(language: str, templates: Path, root: Path, folder: Path = words.LOCALES) -> Findings:
    """Compare the catalogs of a language with the templates of what is there now."""
    scope = json.loads((folder / SCOPE).read_text(encoding="utf-8"))["catalogs"]
    listed = terms.load(folder / language / terms.NAME)
    found = Findings()
    names = sorted(path.stem for path in templates.glob("*.pot"))
    for name in names:
        path = words.catalog(language, name, folder)
        template = read(templates / f"{name}.pot")
        made = read(path) if path.is_file() else Catalog(locale=language)
        shown = path.relative_to(folder.parent).as_posix()
        counts = dict.fromkeys(("messages", "translated", "fuzzy", "stale"), 0)
        problems = [*_messages(template, made, shown, counts, listed, root, name in scope)]
        found.problems += problems
        row = "{messages:>9}{translated:>12}{fuzzy:>7}{stale:>7}".format(**counts)
        percent = 100 * counts["translated"] // counts["messages"] if counts["messages"] else 100
        found.coverage.append(
            f"{name:<16}{row}{percent:>6}%{'  must be complete' * (name in scope)}"
        )
    for name in sorted({*scope} - {*names}):
        found.problems.append(f"{folder.name}/{SCOPE}: there is no page for the catalog {name}")
    return found


def _messages(
    template: Catalog, made: Catalog, path: str, counts: dict[str, int],
    listed: list[terms.Term], root: Path, complete: bool,
) -> Iterator[str]:  # fmt: skip
    for message in (one for one in template if one.id):
        original, kind = text(message.id), _kind(message)
        if markup.bare(original, kind):
            continue
        counts["messages"] += 1
        known = made.get(message.id)
        place = f"{path}:{known.lineno}" if known else ""
        if known is None or not text(known.string or ("",)):
            if complete:
                yield _said(_place(message, root), "untranslated", original)
        elif known.fuzzy:
            counts["fuzzy"] += 1
            if complete:
                words_ = "the original changed, so the translation has to be looked at (fuzzy)"
                yield _said(place, f"{words_}; see {_place(message, root)}", original)
        else:
            counts["translated"] += 1
            # Of pages, babel takes a percentage for a placeholder.
            wrong = [str(error) for error in known.check(made)] if kind == "words" else []
            wrong += markup.differences(original, text(known.string), kind)
            wrong += terms.problems(listed, markup.plain(original, kind), text(known.string))
            for one in wrong:
                yield _said(place, one, original)
    for known in (one for one in made if one.id and one.id not in template):
        counts["stale"] += 1
        if complete:
            words_ = "stale: no page has this any more; make gettext takes it out"
            yield _said(f"{path}:{known.lineno}", words_, text(known.id))


def _kind(message: Message) -> str:
    name = message.locations[0][0] if message.locations else ""
    return name.rpartition(".")[2] if name.endswith((".md", ".rst")) else "words"


def _place(message: Message, root: Path) -> str:
    """Where a message stands: for a page of the gallery, in its script."""
    if not message.locations:
        return ""
    name, line = message.locations[0]
    stem = re.fullmatch(r"docs/gallery/(\w+)\.rst", name)
    script = root / "examples" / f"{stem[1]}.py" if stem else None
    if script and script.is_file():
        begin = r"\s+(?:#\s+)?".join(map(re.escape, text(message.id).split()[:4]))
        content = script.read_text(encoding="utf-8")
        found = re.search(begin, content)
        name, line = (
            f"examples/{script.name}",
            content[: found.start() if found else 0].count("\n") + 1,
        )
    return f"{name}:{max(line or 1, 1)}"


def _said(place: str, problem: str, original: str) -> str:
    shown = original if len(original) <= LENGTH else f"{original[:LENGTH]}..."
    return f"{place}: {problem}: {shown!r}"
