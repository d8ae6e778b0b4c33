"""The evidence of the project that is built, and how what it says is drawn and worded.

A chip's record, a software record and a claim never look alike. Color is never alone: each kind has its own words
and shape, and a stale mark says so. What a mark leaves to the eye stands beside it in words for screen readers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs import evidence
from npudocs.evidence import Entry, Evidence, Mark, Record
from npudocs.execute import blocks, problems
from npudocs.site.words import say

T = TypeVar("T")
SIGNS = {
    "silicon": {"passed": "✔", "failed": "✘", "partial": "✔✘", "skipped": "skipped"},
    "software": {"passed": "SW ✓", "failed": "SW ✗", "partial": "SW ✓✗", "skipped": "SW skipped"},
}
KINDS = {"silicon": "Ascend chip", "software": "software NPU"}
# A record is of software as a product, or of a chip on one.
ON = {"silicon": "on", "software": "as"}
# Whose words a claim has.
WHO = ("page", "report", "published page")
SAYS = {"supported": "✔", "not supported": "✘"}
# The page with all checks, which marks link to.
CHECKS = "evidence/checks"
# What a record says of where it ran, beyond versions and product.
WHERE = {"device": "device name", "machine": "machine", "softnpu": "softnpu, fingerprint"}


def trusted(read: Callable[..., T], *arguments: Any) -> T:
    """Return what `read` does; a file of the evidence that is not to be trusted ends the build."""
    try:
        return read(*arguments)
    except evidence.EvidenceError as error:
        problems.stop(f"the evidence is not to be trusted: {error}")


@functools.lru_cache(maxsize=1)
def of(app: Sphinx) -> Evidence:
    """The evidence of the project that is built, read once."""
    root = Path(app.confdir)
    folder = root / app.config.npudocs_evidence
    return trusted(Evidence, folder, root, {}, app.config.execute_device)


def _look_at_checks(app: Sphinx, env: BuildEnvironment) -> None:
    """Tell the evidence what the checks are now, when all pages are read."""
    found = of(app)
    pages = {}
    for check in {entry.check for record in found.records for entry in record.entries}:
        docname = env.path2doc(str(found.root / check))
        if docname in env.found_docs:
            # A page that has no blocks left is there, and has changed.
            page = blocks.of(env).get(docname)
            pages[check] = page.digest if page else ""
    found.digests = evidence.current_digests(found.root, found.records, pages)


def stale_words(found: Evidence, record: Record, entry: Entry) -> str:
    """Why an entry is stale, in words; empty where it is not."""
    reason = found.stale(record, entry)
    return say(reason.words).format(**reason.values) if reason else ""


def counts_words(mark: Mark) -> str:
    """The counts of a mark in words."""
    return ", ".join(f"{number} {say(outcome)}" for outcome, number in mark.counts.items())


def slug(*words: str) -> str:
    """An anchor made of these words."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def spread(pairs: Iterable[tuple[str, str]], on: str = "on") -> str:
    """Versions and products in few words: ``2.7.1, 2.11.0 on A2, A3; 2.12.0 on A2``."""
    return "; ".join(
        f"{', '.join(versions)} {say(on)} {', '.join(products)}"
        for versions, products in evidence.spread(pairs)
    )


def setup(app: Sphinx) -> None:
    # Relative to conf.py. Its content is looked at by npudocs.site.parts, which draws pages again.
    app.add_config_value("npudocs_evidence", "evidence", "env", types=frozenset({str}))
    # Before others ask.
    app.connect("env-updated", _look_at_checks, priority=100)
