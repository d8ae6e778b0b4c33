"""The words that npudocs itself writes onto pages, in the language of the site.

A module wraps what a reader sees in ``say("...")``, with names in braces for what is filled in::

    say("{number} checks: {counts}.").format(number=3, counts="3 passed")

``make gettext`` collects these, and the texts of data files that ``locales/babel.cfg`` names,
into the catalog ``npudocs`` of ``locales/``. In English a message is what stands in the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from babel.messages.pofile import read_po

ENGLISH = "en"
CATALOG = "npudocs"
LOCALES = Path(__file__).parents[2] / "locales"

_translated: dict[str, str] = {}


def catalog(language: str, name: str, folder: Path = LOCALES) -> Path:
    """The file with the translations of one catalog."""
    return folder / language / "LC_MESSAGES" / f"{name}.po"


def load(language: str, folder: Path = LOCALES) -> dict[str, str]:
    """Take the words of this language from now on; returns those that are translated."""
    _translated.clear()
    path = catalog(language, CATALOG, folder)
    if language == ENGLISH or not path.is_file():
        return _translated
    with path.open("rb") as file:
        for message in read_po(file):
            # A translation that nobody looked at since its original changed is none.
            if message.id and message.string and not message.fuzzy:
                originals, texts = (
                    [one] if isinstance(one, str) else [*one]
                    for one in (message.id, message.string)
                )
                # Chinese has one form for all numbers.
                _translated.update((one, texts[-1]) for one in originals)
    return _translated


def say(message: str) -> str:
    """The message in the language of the site."""
    return _translated.get(message, message)


def say_number(one: str, many: str, number: int) -> str:
    """The message for this number of things."""
    return say(one if number == 1 else many)


def pairs(messages: Iterable[str]) -> list[tuple[str, str]]:
    """The messages, each with its words in the language of the site."""
    return [(message, say(message)) for message in messages]
