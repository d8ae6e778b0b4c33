"""What is wrong with the translations, each with file, line and text; and how much is translated."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Message

from npudocs.site import words
from npudocs.site.translations import catalogs, markup, terms
from npudocs.site.translations.catalogs import Text

# The catalogs that have to be complete.
SCOPE = "complete.json"
LENGTH = 90


@dataclasses.dataclass
class Coverage:
    """How far one catalog is."""

    name: str
    complete: bool  # has to be
    messages: int = 0
    translated: int = 0
    fuzzy: int = 0
    stale: int = 0

    @property
    def row(self) -> str:
        """A line of the table."""
        percent = 100 * self.translated // self.messages if self.messages else 100
        numbers = f"{self.messages:>9}{self.translated:>12}{self.fuzzy:>7}{self.stale:>7}"
        return f"{self.name:<16}{numbers}{percent:>6}%{'  must be complete' * self.complete}"


@dataclasses.dataclass
class Findings:
    """What was found in the catalogs of one language."""

    problems: list[str] = dataclasses.field(default_factory=list)
    coverage: list[Coverage] = dataclasses.field(default_factory=list)

    @property
    def table(self) -> str:
        """The coverage in words."""
        head = f"{'catalog':<16}{'messages':>9}{'translated':>12}{'fuzzy':>7}{'stale':>7}{'':>7}"
        return "\n".join([head, *(one.row for one in self.coverage)])


def check(language: str, templates: Path, root: Path, folder: Path = words.LOCALES) -> Findings:
    """Compare the catalogs of a language with the templates of what is there now."""
    scope = json.loads((folder / SCOPE).read_text(encoding="utf-8"))["catalogs"]
    listed = terms.load(folder / language / terms.NAME)
    found = Findings()
    for name in catalogs.names(templates):
        path = words.catalog(language, name, folder)
        texts = [*catalogs.texts(templates / f"{name}.pot", root)]
        made = Coverage(name, name in scope, len(texts))
        found.coverage.append(made)
        shown = path.relative_to(folder.parent)
        if not path.is_file():
            if made.complete and texts:
                found.problems.append(f"{shown}: is missing: make gettext makes it")
            continue
        known = catalogs.translations(path)
        for text in texts:
            found.problems += _text(text, known.get(text.original), shown, made, listed)
        here = {message.id for message in catalogs.read(templates / f"{name}.pot")}
        found.problems += _stale(known, here, shown, made)
    for name in sorted({*scope} - {*catalogs.names(templates)}):
        found.problems.append(f"{folder.name}/{SCOPE}: there is no page for the catalog {name}")
    return found


def _text(
    text: Text, message: Message | None, path: Path, made: Coverage, listed: list[terms.Term]
) -> Iterator[str]:
    """What is wrong with the translation of one text."""
    if message is None or not message.string:
        if made.complete:
            yield _said(text.place, "untranslated", text.original)
        return
    place = f"{path}:{message.lineno}"
    if message.fuzzy:
        made.fuzzy += 1
        if made.complete:
            advice = "the original changed, so the translation has to be looked at (fuzzy)"
            yield _said(place, f"{advice}; see {text.place}", text.original)
        return
    made.translated += 1
    wrong = markup.differences(text.original, message.string, text.kind)
    wrong += terms.problems(listed, markup.plain(text.original, text.kind), message.string)
    for one in wrong:
        yield _said(place, one, text.original)


def _stale(known: dict[str, Message], here: set[str], path: Path, made: Coverage) -> Iterator[str]:
    """Translations of what is on no page any more."""
    for original, message in known.items():
        if original not in here:
            made.stale += 1
            if made.complete:
                advice = "stale: no page has this any more; make gettext takes it out"
                yield _said(f"{path}:{message.lineno}", advice, original)


def _said(place: str, problem: str, original: str) -> str:
    shown = original if len(original) <= LENGTH else f"{original[:LENGTH]}..."
    return f"{place}: {problem}: {shown!r}"
