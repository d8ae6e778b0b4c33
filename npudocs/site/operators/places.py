"""Where an operator has its section: pages of families, the large ones by first letter."""

from __future__ import annotations

from npudocs.site.operators.data import Sweeps
from npudocs.site.words import say

FOLDER = "operators/families"
# Families with a page for each range of first letters; fixed, so that addresses stay.
LARGE = ("torch", "nn.functional")
RANGES = ("a-b", "c-e", "f-k", "l-m", "n-r", "s", "t-z")


def page(name: str, family: str) -> str:
    """Return the name of the page that an operator is on."""
    slug = family.replace(".", "-").replace("_", "-")
    if family not in LARGE:
        return f"{FOLDER}/{slug}"
    prefix = f"{family}."
    letter = name[len(prefix) * name.startswith(prefix) :].lstrip("_")[:1].lower()
    # What begins with no letter is at the front.
    part = next((r for r in RANGES if r[0] <= letter <= r[-1]), RANGES[0])
    return f"{FOLDER}/{slug}-{part}"


def pages(sweeps: Sweeps) -> dict[str, list[str]]:
    """Return the pages, and the operators on each."""
    found: dict[str, list[str]] = {}
    for name, family in sweeps.families.items():
        found.setdefault(page(name, family), []).append(name)
    return found


def title(sweeps: Sweeps, home: str) -> str:
    """Return the title of a page."""
    family = sweeps.families[pages(sweeps)[home][0]]
    part = home.removeprefix(f"{FOLDER}/{family.replace('.', '-')}").lstrip("-")
    shown = f"{family}, {part}" if family in LARGE else family
    return say("Operators: {family}").format(family=shown)


def anchor(deviation: str) -> str:
    """Return the anchor of a deviation's section."""
    return f"deviation-{deviation.replace('_', '-')}"
