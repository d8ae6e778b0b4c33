"""``python -m tools.translations {prepare,check}``: see the head of the package. ``make`` calls it."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from npudocs.site import languages, words
from tools.translations import markup, terms

ROOT = words.LOCALES.parent
LENGTH = 90
TEMPLATES = ROOT / "build" / "gettext"
# Another text in each run, which npudocs.site.languages says; and pictures with the title of their page.
LEFT_OUT = re.compile(r"\*\*Total running time of the script:\*\* .*|:doc:`/gallery/\w+`")


def write(path: Path, catalog: Catalog) -> None:
    """Write a template or a catalog; no line of a message is broken, so that a diff shows what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=10_000)


def prepare(templates: Path) -> None:
    """Take out what no catalog can have, and name files as seen from the project, not from the template."""
    for path in templates.glob("*.pot"):
        catalog = read(path)
        for text in [m.id for m in catalog if isinstance(m.id, str) and LEFT_OUT.fullmatch(m.id)]:
            catalog.delete(text)
        for message in catalog:
            message.locations = [
                (re.sub(r"^(?:\.\./)+", "", name), line) for name, line in message.locations
            ]
        write(path, catalog)


def read(path: Path) -> Catalog:
    """Return a template or a catalog."""
    with path.open("rb") as file:
        return read_po(file)


def text(value: Any) -> str:
    """Return a message as one text: of two forms that for many, which Chinese has for all numbers."""
    return value if isinstance(value, str) else value[-1]


def check(language: str, templates: Path, folder: Path = words.LOCALES) -> tuple[list[str], int]:
    """Compare the catalogs of a language with what is there now: what is wrong, and the number of texts."""
    listed = terms.load(folder / language / terms.NAME)
    found, number = [], 0
    for pot in sorted(templates.glob("*.pot")):
        path = words.catalog(language, pot.stem, folder)
        template = read(pot)
        made = read(path) if path.is_file() else Catalog(locale=language)
        shown = path.relative_to(folder.parent).as_posix()
        for message in (one for one in template if one.id):
            wanted = not markup.bare(text(message.id))
            number += wanted
            # What needs no translation may have one, which must not say anything else.
            if wanted or (message.id in made and text(made.get(message.id).string)):
                found += _message(message, made, shown, listed)
        for message in (one for one in made if one.id and one.id not in template):
            advice = "stale: no page has this any more; make gettext takes it out"
            found.append(_said(f"{shown}:{message.lineno}", advice, text(message.id)))
    for path in sorted(words.catalog(language, "", folder).parent.glob("*.po")):
        if not (templates / f"{path.stem}.pot").is_file():
            shown = path.relative_to(folder.parent).as_posix()
            found.append(f"{shown}: there is no page for this catalog: remove it")
    return found, number


def _message(message: Message, made: Catalog, path: str, listed: list[terms.Term]) -> list[str]:
    """What is wrong with the translation of one text."""
    original, kind, place = text(message.id), _kind(message), _place(message)
    known = made.get(message.id)
    if known is None or not text(known.string or ("",)):
        return [_said(place, "untranslated", original)]
    if known.fuzzy:
        advice = "the original changed, so the translation has to be looked at (fuzzy)"
        wrong = [f"{advice}; see {place}"]
    else:
        # Of pages, babel takes a percentage for a placeholder.
        wrong = [str(error) for error in known.check(made)] if kind == "words" else []
        wrong += markup.differences(original, text(known.string), kind)
        wrong += terms.problems(listed, markup.plain(original), text(known.string))
    return [_said(f"{path}:{known.lineno}", one, original) for one in wrong]


def _kind(message: Message) -> str:
    name = message.locations[0][0] if message.locations else ""
    return name.rpartition(".")[2] if name.endswith((".md", ".rst")) else "words"


def _place(message: Message) -> str:
    """Where a message stands: for a page of the gallery, its script, whose lines are other ones."""
    if not message.locations:
        return ""
    name, line = message.locations[0]
    script = re.fullmatch(r"docs/gallery/(\w+)\.rst", name)
    return f"examples/{script[1]}.py" if script else f"{name}:{max(line or 1, 1)}"


def _said(place: str, problem: str, original: str) -> str:
    shown = original if len(original) <= LENGTH else f"{original[:LENGTH]}..."
    return f"{place}: {problem}: {shown!r}"


def report(templates: Path, folder: Path) -> int:
    """Print what is wrong with the translations; return the exit code."""
    wrong = 0
    for language in languages.FOLDERS.keys() - {words.ENGLISH}:
        found, number = check(language, templates, folder)
        wrong += len(found)
        print("\n".join(found), file=sys.stderr, end="\n" * bool(found))
        print(f"{language}: {number} texts, {len(found)} problems")
    return bool(wrong)


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="tools.translations", description=__doc__)
    parser.add_argument("command", choices=("prepare", "check"))
    parser.add_argument("--templates", type=Path, default=TEMPLATES, help="what gettext extracted")
    parser.add_argument("--locales", type=Path, default=words.LOCALES)
    options = parser.parse_args(arguments)
    if not any(options.templates.glob("*.pot")):
        parser.error(f"there is no template in {options.templates}: make gettext makes them")
    if options.command == "check":
        return report(options.templates, options.locales)
    prepare(options.templates)
    return 0


if __name__ == "__main__":
    sys.exit(main())
