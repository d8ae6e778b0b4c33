"""``python -m npudocs.site.translations {update,check}``: see the head of the package. ``make`` calls it."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from npudocs.site import languages, words
from npudocs.site.translations.check import check, read

ROOT = words.LOCALES.parent
TEMPLATES = ROOT / "build" / "gettext"
TRANSLATIONS = [*languages.FOLDERS]
PATTERNS = "patterns.json"
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


def update(templates: Path, folder: Path) -> None:
    """Bring the catalogs of all languages up to date, and translate what follows a pattern."""
    flags = [flag for language in TRANSLATIONS for flag in ("-l", language)]
    command = [
        "update",
        "-p",
        str(templates),
        "-d",
        str(folder),
        *flags,
        "-w",
        "-1",
        "--no-obsolete",
    ]
    command = [sys.executable, "-m", "sphinx_intl", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for language in TRANSLATIONS:
        print(f"{language}: {fill(language, folder)} messages translated by pattern")


def fill(language: str, folder: Path) -> int:
    """Translate what follows a pattern of ``patterns.json``; return how many messages that were."""
    path = folder / language / PATTERNS
    listed = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    patterns = [(re.compile(one["pattern"]), one["translation"]) for one in listed]
    filled = 0
    for po in sorted((folder / language / "LC_MESSAGES").glob("*.po")):
        catalog, before = read(po), filled
        for message in (one for one in catalog if one.id and isinstance(one.id, str)):
            for match, new in ((p.fullmatch(message.id), new) for p, new in patterns):
                if match and (message.fuzzy or message.string != match.expand(new)):
                    message.string = match.expand(new)
                    message.flags.discard("fuzzy")
                    filled += 1
        if filled != before:
            write(po, catalog)
    return filled


def report(templates: Path, folder: Path) -> int:
    """Print what is wrong with the translations; return the exit code."""
    wrong = 0
    for language in TRANSLATIONS:
        found, number = check(language, templates, ROOT, folder)
        wrong += len(found)
        print("\n".join(found), file=sys.stderr, end="\n" * bool(found))
        print(f"{language}: {number} texts, {len(found)} problems")
    return bool(wrong)


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="npudocs.site.translations", description=__doc__)
    parser.add_argument("command", choices=("update", "check"))
    parser.add_argument("--templates", type=Path, default=TEMPLATES, help="what gettext extracted")
    parser.add_argument("--locales", type=Path, default=words.LOCALES)
    options = parser.parse_args(arguments)
    if not any(options.templates.glob("*.pot")):
        parser.error(f"there is no template in {options.templates}: make gettext makes them")
    prepare(options.templates)
    if options.command == "check":
        return report(options.templates, options.locales)
    update(options.templates, options.locales)
    return 0


if __name__ == "__main__":
    sys.exit(main())
