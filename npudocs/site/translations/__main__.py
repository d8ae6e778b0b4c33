"""``python -m npudocs.site.translations {prepare,check}``: see the head of the package. ``make`` calls it."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from npudocs.site import languages, words
from npudocs.site.translations.check import check, read

ROOT = words.LOCALES.parent
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


def report(templates: Path, folder: Path) -> int:
    """Print what is wrong with the translations; return the exit code."""
    wrong = 0
    for language in languages.FOLDERS:
        found, number = check(language, templates, folder)
        wrong += len(found)
        print("\n".join(found), file=sys.stderr, end="\n" * bool(found))
        print(f"{language}: {number} texts, {len(found)} problems")
    return bool(wrong)


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="npudocs.site.translations", description=__doc__)
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
