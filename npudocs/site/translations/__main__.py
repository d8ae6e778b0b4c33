"""``python -m npudocs.site.translations {update,check}``: see the head of the package. ``make`` calls it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from npudocs.site import languages, words
from npudocs.site.translations import catalogs
from npudocs.site.translations.check import check

ROOT = words.LOCALES.parent
TEMPLATES = ROOT / "build" / "gettext"
TRANSLATIONS = [*languages.FOLDERS]


def update(templates: Path, folder: Path) -> None:
    """Bring the catalogs of all languages up to date, and translate what follows a pattern."""
    catalogs.prepare(templates, ROOT)
    flags = [flag for language in TRANSLATIONS for flag in ("-l", language)]
    command = ["sphinx_intl", "update", "-p", str(templates), "-d", str(folder), *flags, "-w", "-1"]
    subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)
    for language in TRANSLATIONS:
        print(f"{language}: {catalogs.fill(language, folder)} messages translated by pattern")


def report(templates: Path, folder: Path) -> int:
    """Print what is wrong and how far the translations are; returns the exit code."""
    catalogs.prepare(templates, ROOT)
    problems = 0
    for language in TRANSLATIONS:
        found = check(language, templates, ROOT, folder)
        problems += len(found.problems)
        print("\n".join(found.problems), file=sys.stderr)
        print(f"\n{language}\n{found.table}")
    print(f"{problems} problems" if problems else "nothing is wrong")
    return bool(problems)


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(prog="npudocs.site.translations", description=__doc__)
    parser.add_argument("command", choices=("update", "check"))
    parser.add_argument("--templates", type=Path, default=TEMPLATES, help="what gettext extracted")
    parser.add_argument("--locales", type=Path, default=words.LOCALES)
    options = parser.parse_args(arguments)
    if not any(options.templates.glob("*.pot")):
        parser.error(f"there is no template in {options.templates}: make gettext makes them")
    if options.command == "check":
        return report(options.templates, options.locales)
    update(options.templates, options.locales)
    return 0


if __name__ == "__main__":
    sys.exit(main())
