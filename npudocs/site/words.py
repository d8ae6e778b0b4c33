"""The words that npudocs itself writes onto pages, in the language of the site.

A module wraps what a reader sees in ``say("...")``, with names in braces for what is filled in::

    say("{number} checks: {counts}.").format(number=3, counts="3 passed")

``make gettext`` collects these, and the texts of data files that ``npudocs/site/translations/sources.json`` names,
into the catalogs ``npudocs`` and ``data`` of ``locales/``. In English a message is what stands in the code.
"""

from __future__ import annotations

from pathlib import Path

from babel.messages.pofile import read_po

ENGLISH = "en"
CATALOGS = ("npudocs", "data")
LOCALES = Path(__file__).parents[2] / "locales"

_translated: dict[str, str] = {}


def catalog(language: str, name: str, folder: Path = LOCALES) -> Path:
    """The file with the translations of one catalog."""
    return folder / language / "LC_MESSAGES" / f"{name}.po"


def load(language: str, folder: Path = LOCALES) -> dict[str, str]:
    """Take the words of this language from now on; returns those that are translated."""
    _translated.clear()
    for path in (catalog(language, name, folder) for name in CATALOGS):
        if language == ENGLISH or not path.is_file():
            continue
        with path.open("rb") as file:
            for message in read_po(file):
                # A translation that nobody looked at since its original changed is none.
                if message.id and message.string and not message.fuzzy:
                    _keep(message.id, message.string)
    return _translated


def _keep(original: str | tuple[str, ...], translation: str | tuple[str, ...]) -> None:
    originals = [original] if isinstance(original, str) else [*original]
    forms = [translation] if isinstance(translation, str) else [*translation]
    for number, one in enumerate(originals):
        # Chinese has one form for all numbers.
        _translated[one] = forms[min(number, len(forms) - 1)]


def say(message: str) -> str:
    """The message in the language of the site."""
    return _translated.get(message, message)


def say_number(one: str, many: str, number: int) -> str:
    """The message for this number of things."""
    return say(one if number == 1 else many)
