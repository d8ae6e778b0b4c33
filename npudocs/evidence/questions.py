"""What the evidence says: the one place for questions, answered as data. Pages choose the words.

Absent means unknown: a cell without a mark says nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from npudocs.evidence import files
from npudocs.evidence.model import PRODUCTS, VERSIONS, Claim, Entry, Mark, Record, numbers, release

# The order of the columns; other dtypes follow by name. The empty one is "any": not about a dtype.
DTYPES = ("", "float16", "bfloat16", "float32", "float64")

# Why an entry is stale.
REASONS = {
    "gone": "the check no longer exists",
    "changed": "the check has changed since",
    "other build": "it ran with {name} {ran}, this site has {here}",
}


class Reason(NamedTuple):
    """Why an entry is stale: one of `REASONS`, and the values to fill into it."""

    words: str
    values: dict[str, str]


class Evidence:
    """All records and claims in a folder, and the answers that pages ask for.

    `digests` has the digest of each file of checks as it is now; a file that is not in it no longer
    exists. It may be set later, when all pages are read. `here` is the device that a site is built on,
    with `on`, `torch`, `torch_npu`, `softnpu` and `stamp()`.
    """

    def __init__(self, folder: Path, root: Path, digests: Mapping[str, str], here: Any) -> None:
        self.folder, self.root, self.digests, self.here = folder, root, digests, here
        self.records = files.records(folder)
        self.claims = sorted(files.claims(folder), key=_order)
        self.unrecorded = files.unrecorded(folder)
        newest = {(r.kind, r.version, r.where["soc"]): r for r in self.records}
        self.current = [record for record in self.records if record in newest.values()]

    @property
    def versions(self) -> list[str]:
        """The versions of the project and those of the data, newest first."""
        found = {*VERSIONS, *(r.version for r in self.records)}
        found |= {claim.version for claim in self.claims}
        return sorted(found, key=numbers, reverse=True)

    def dtypes(self, apis: list[str]) -> list[str]:
        """The dtypes that the evidence of these APIs names, and always ``""``."""
        found = {""}
        for record in self.current:
            found |= {entry.dtype for entry in record.entries if {*entry.apis} & {*apis}}
        for claim in self.claims:
            found |= {*claim.dtypes} if claim.api in apis else set()
        return sorted(found, key=lambda name: (_place(DTYPES, name), name))

    def stale(self, record: Record, entry: Entry) -> Reason | None:
        """Why this entry is no longer about what is here now; None where it is."""
        here = self.digests.get(entry.check)
        if here is None:
            return Reason(REASONS["gone"], {})
        return Reason(REASONS["changed"], {}) if here != entry.source else self._other_build(record)

    def _other_build(self, record: Record) -> Reason | None:
        """Whether this build has another torch or torch_npu of the record's very release."""
        if not self.here.on or release(self.here.torch_npu) != record.version:
            return None
        for name in ("torch", "torch_npu"):
            # "+cpu" names the place it comes from, not another torch.
            ran, here = (v.split("+")[0] for v in (record.where[name], getattr(self.here, name)))
            if ran != here:
                return Reason(REASONS["other build"], {"name": name, "ran": ran, "here": here})
        return None

    def older_softnpu(self, record: Record) -> bool:
        """Whether the software NPU has changed since a software record was made."""
        return bool(self.here.softnpu) and record.where["softnpu"] not in ("", self.here.softnpu)

    def marks(self, version: str, product: str, wanted: Callable[[Entry], bool]) -> list[Mark]:
        """One mark for each current record of this version and product with a wanted entry."""
        found = []
        for record in self.current:
            if (record.version, record.where["product"]) != (version, product):
                continue
            if entries := tuple(entry for entry in record.entries if wanted(entry)):
                stale = sum(bool(self.stale(record, entry)) for entry in entries)
                found.append(Mark(record, entries, stale))
        return sorted(found, key=lambda mark: (mark.record.kind, mark.record.name))

    def api_cell(
        self, api: str, version: str, product: str, dtype: str
    ) -> tuple[list[Mark], list[Claim]]:
        """The marks and the claims of one cell."""
        marks = self.marks(version, product, lambda e: api in e.apis and e.dtype == dtype)
        said = [
            claim
            for claim in self.claims
            if (claim.api, claim.version, claim.product) == (api, version, product)
            and dtype in (claim.dtypes or ("",))
        ]
        return marks, said

    def item_cell(self, item: int, version: str, product: str) -> tuple[list[Mark], list[Claim]]:
        """The marks of one test item, and one claim of each source that names it."""
        marks = self.marks(version, product, lambda entry: item in entry.items)
        said = {
            (claim.source["title"], claim.says): claim
            for claim in self.claims
            if (claim.version, claim.product) == (version, product) and item in claim.items
        }
        return marks, list(said.values())

    def digest(self) -> str:
        """A hash of everything that decides what the pages show."""
        parts: list[Any] = [self.here.stamp(), sorted(self.digests.items())]
        for path in sorted(self.folder.rglob("*.json")):
            name = str(path.relative_to(self.folder))
            parts.append((name, hashlib.sha256(path.read_bytes()).hexdigest()))
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def current_digests(
    root: Path, records: Iterable[Record], pages: Mapping[str, str]
) -> dict[str, str]:
    """The digests of the files that records name, as they are now: those of `pages` are known.

    A script's and a test's is the name of its blob in git.
    """
    names = {entry.check for record in records for entry in record.entries}
    found = {name: pages[name] for name in names if name in pages}
    for name in names - found.keys():
        if name.endswith(".py") and (path := root / name).is_file():
            found[name] = files.blob(path.read_bytes())
    return found


def spread(pairs: Iterable[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """Versions and products in few words: the versions that have the same products together."""
    listed = set(pairs)
    found: dict[tuple[str, ...], list[str]] = {}
    for version in sorted({version for version, _ in listed}, key=numbers):
        products = {product for v, product in listed if v == version}
        ordered = sorted(products, key=lambda name: (_place(PRODUCTS, name), name))
        found.setdefault(tuple(ordered), []).append(version)
    return [(versions, list(products)) for products, versions in found.items()]


def _order(claim: Claim) -> tuple[Any, ...]:
    return claim.source["kind"], numbers(claim.version)


def _place(known: tuple[str, ...], name: str) -> int:
    return known.index(name) if name in known else len(known)
