"""Cells of the support tables: what the evidence says of an API, a version, a product and a dtype.

Pure data, no drawing. `of` reads the project's evidence once a build. Absent means unknown: a cell
without a mark says nothing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.device import Device
from npudocs.evidence import Claim, Entry, Record
from npudocs.execute import problems
from npudocs.site.words import say

# The order of the columns; other dtypes follow by name. The empty one is "any": not about a dtype.
DTYPES = ("", "float16", "bfloat16", "float32", "float64")
_builds: weakref.WeakKeyDictionary[Sphinx, Evidence] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True)
class Mark:
    """What one record says in one cell."""

    record: Record
    entries: tuple[Entry, ...]
    stale: int

    @property
    def counts(self) -> dict[str, int]:
        """How many of its entries ended how, passed ones first."""
        found = Counter(entry.outcome for entry in self.entries)
        return dict(sorted(found.items(), key=lambda pair: (pair[0] != "passed", pair[0])))

    @property
    def verdict(self) -> str:
        """``passed``, ``failed`` or ``partial``, and ``skipped`` where nothing ran.

        A crash and a timeout are failures. Skipped checks do not count, and `complete` tells of them.
        """
        ran = {"passed" if o == "passed" else "failed" for o in self.counts if o != "skipped"}
        return "partial" if len(ran) > 1 else next(iter(ran), "skipped")

    @property
    def complete(self) -> bool:
        """Whether all entries ended alike; where they did not, a note has to say how many."""
        return len(self.counts) == 1

    @property
    def words(self) -> str:
        """The counts in words."""
        return ", ".join(f"{number} {say(outcome)}" for outcome, number in self.counts.items())


class Evidence:
    """All records, claims and notes of one project, and the answers the pages ask for."""

    def __init__(self, folder: Path, root: Path, device: Device) -> None:
        self.folder, self.root, self.device = folder, root, device
        self.records = evidence.records(folder)
        self.claims = sorted(evidence.claims(folder), key=_order)
        self.unrecorded = evidence.unrecorded(folder)
        self._texts: dict[str, str | None] = {}
        newest = {(r.kind, r.version, r.where["soc"]): r for r in self.records}
        self.current = [record for record in self.records if record in newest.values()]

    @property
    def versions(self) -> list[str]:
        """The versions of the project and those of the data, newest first."""
        found = {*evidence.VERSIONS, *(r.version for r in self.records)}
        found |= {claim.version for claim in self.claims}
        return sorted(found, key=_numbers, reverse=True)

    def dtypes(self, apis: list[str]) -> list[str]:
        """The dtypes that the evidence of these APIs names, and always ``""``."""
        found = {""}
        for record in self.current:
            found |= {entry.dtype for entry in record.entries if {*entry.apis} & {*apis}}
        for claim in self.claims:
            found |= {*claim.dtypes} if claim.api in apis else set()
        return sorted(found, key=lambda name: (_place(name), name))

    def stale(self, record: Record, entry: Entry) -> str:
        """Why this entry is no longer about what is here now; empty where it is."""
        if entry.check not in self._texts:
            path = self.root / entry.check
            known = path.is_file()
            self._texts[entry.check] = (
                evidence.sha256(evidence.source_text(path)) if known else None
            )
        if self._texts[entry.check] is None:
            return say("the check no longer exists")
        if self._texts[entry.check] != entry.source:
            return say("the check has changed since")
        return self._other_build(record)

    def _other_build(self, record: Record) -> str:
        """Whether this build has another torch or torch_npu of the record's very release."""
        if not self.device.on or evidence.release(self.device.torch_npu) != record.version:
            return ""
        for name in ("torch", "torch_npu"):
            # "+cpu" names the place it comes from, not another torch.
            ran, here = (v.split("+")[0] for v in (record.where[name], getattr(self.device, name)))
            if ran != here:
                words = say("it ran with {name} {ran}, this site has {here}")
                return words.format(name=name, ran=ran, here=here)
        return ""

    def older_softnpu(self, record: Record) -> bool:
        """Whether the software NPU has changed since a software record was made."""
        return bool(self.device.softnpu) and record.where["softnpu"] not in (
            "",
            self.device.softnpu,
        )

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
        parts: list[Any] = [self.device.stamp()]
        for path in sorted(self.folder.rglob("*.json")):
            parts.append((str(path.relative_to(self.folder)), evidence.sha256(path.read_bytes())))
        for record in self.records:
            parts += [self.stale(record, entry) for entry in record.entries]
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def of(app: Sphinx) -> Evidence:
    """The evidence of the project that is built; a file that is not to be trusted ends the build."""
    if app not in _builds:
        root = Path(app.confdir)
        try:
            found = Evidence(root / app.config.npudocs_evidence, root, app.config.execute_device)
        except evidence.EvidenceError as error:
            problems.stop(f"the evidence is not to be trusted: {error}")
        _builds[app] = found
    return _builds[app]


def short(api: str) -> str:
    """``make_dual`` for ``torch.autograd.forward_ad.make_dual``, ``func.jvp`` for ``torch.func.jvp``."""
    return evidence.short(api)


def slug(*words: str) -> str:
    """An anchor made of these words."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def spread(pairs: list[tuple[str, str]], on: str = "on") -> str:
    """Versions and products in few words: ``2.7.1, 2.11.0 on A2, A3; 2.12.0 on A2``."""
    by_products: dict[tuple[str, ...], list[str]] = {}
    for version in sorted({version for version, _ in pairs}, key=_numbers):
        products = tuple(sorted({product for v, product in pairs if v == version}, key=_product))
        by_products.setdefault(products, []).append(version)
    return "; ".join(
        f"{', '.join(versions)} {say(on)} {', '.join(products)}"
        for products, versions in by_products.items()
    )


def _product(name: str) -> tuple[int, str]:
    known = evidence.PRODUCTS
    return (known.index(name) if name in known else len(known), name)


def _order(claim: Claim) -> tuple[Any, ...]:
    return (claim.source["kind"], _numbers(claim.version))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _place(dtype: str) -> int:
    return DTYPES.index(dtype) if dtype in DTYPES else len(DTYPES)


def setup(app: Sphinx) -> dict[str, Any]:
    # Relative to conf.py. Its content is looked at by npudocs.site.support, which reads pages again.
    app.add_config_value("npudocs_evidence", "evidence", "env", types=frozenset({str}))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
