"""Catalogs as files: the templates that gettext extracted, and the translations of each."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from npudocs.site import words
from npudocs.site.translations import markup, own

PATTERNS = "patterns.json"
# Wide enough that no line of a message is broken: a diff then shows what changed.
WIDTH = 10_000
# Another text in each run; npudocs.site.gallery_words has it in other languages.
VOLATILE = re.compile(r"\*\*Total running time of the script:\*\* .*")


@dataclasses.dataclass(frozen=True)
class Text:
    """One message of a template: where it is from, and how it is written."""

    original: str
    place: str  # file:line
    kind: str  # md, rst or words


def read(path: Path) -> Catalog:
    """A template or a catalog."""
    with path.open("rb") as file:
        return read_po(file)


def write(path: Path, catalog: Catalog) -> None:
    """Write a template or a catalog; in the order of its messages, without a date of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=WIDTH)


def prepare(templates: Path, root: Path) -> None:
    """Add npudocs' own templates to those of the pages, and name files relative to the project."""
    for path in templates.glob("*.pot"):
        catalog = read(path)
        for text in [m.id for m in catalog if m.id and VOLATILE.fullmatch(m.id)]:
            catalog.delete(text)
        for message in catalog:
            message.locations = [(_relative(name), line) for name, line in message.locations]
        write(path, catalog)
    for name, catalog in own.catalogs(root).items():
        write(templates / f"{name}.pot", catalog)


def _relative(name: str) -> str:
    """The file, seen from the project; gettext names it from where it wrote the template."""
    return re.sub(r"^(?:\.\./)+", "", name)


def texts(template: Path, root: Path) -> Iterator[Text]:
    """The messages of a template that need a translation."""
    for message in read(template):
        if not message.id:
            continue
        kind = _kind(message)
        if not markup.bare(message.id, kind):
            yield Text(message.id, _place(message, root), kind)


def _kind(message: Message) -> str:
    name = message.locations[0][0] if message.locations else ""
    return name.rpartition(".")[2] if name.endswith((".md", ".rst")) else "words"


def _place(message: Message, root: Path) -> str:
    if not message.locations:
        return ""
    name, line = message.locations[0]
    if match := re.fullmatch(r"docs/gallery/(\w+)\.rst", name):
        # The page is generated; the text stands in the script.
        script = root / "examples" / f"{match[1]}.py"
        if script.is_file():
            name = f"examples/{script.name}"
            line = _line(script.read_text(encoding="utf-8"), message.id)
    return f"{name}:{max(line or 1, 1)}"


def _line(text: str, wanted: str) -> int:
    """The line of a text file where a message begins."""
    first = wanted.split()[:4]
    pattern = r"\s+(?:#\s+)?".join(re.escape(word) for word in first)
    found = re.search(pattern, text)
    return text[: found.start()].count("\n") + 1 if found else 1


def translations(path: Path) -> dict[str, Message]:
    """The messages of a catalog that are in use, by their original."""
    return {message.id: message for message in read(path) if message.id} if path.is_file() else {}


def names(templates: Path) -> list[str]:
    """The names of all templates."""
    return sorted(path.stem for path in templates.glob("*.pot"))


def fill(language: str, folder: Path = words.LOCALES) -> int:
    """Translate what follows a pattern of ``patterns.json``; returns how many messages that were."""
    path = folder / language / PATTERNS
    listed = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    patterns = [(re.compile(one["pattern"]), one["translation"]) for one in listed]
    filled = 0
    for po in sorted((folder / language / "LC_MESSAGES").glob("*.po")):
        catalog, before = read(po), filled
        for message in catalog:
            for pattern, translation in patterns:
                if message.id and (match := pattern.fullmatch(message.id)):
                    new = match.expand(translation)
                    if new != message.string or message.fuzzy:
                        message.string = new
                        message.flags.discard("fuzzy")
                        filled += 1
        if filled != before:
            write(po, catalog)
    return filled
