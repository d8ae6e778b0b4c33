"""What the evidence is made of: records that runs made, and claims that others published."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

from softnpu import soc

VERSIONS = ("2.7.1", "2.11.0", "2.12.0", "2.13.0", "2.14.0")
PRODUCTS = ("A2", "A3", "950DT")
# The module that the site is about: its APIs go by their short names.
MODULE = "torch.autograd.forward_ad"


class EvidenceError(ValueError):
    """The evidence is not to be trusted or cannot be made; the message says where and why."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """What became of one check in one run. `source` is the digest of what decides the check.

    `blob` names a text of the file with this digest in git.
    """

    check: str
    part: str
    apis: tuple[str, ...]
    items: tuple[int, ...]
    dtype: str
    source: str
    outcome: str
    message: str
    seconds: float
    blob: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells the check from all others of a run."""
        return self.check, self.part, self.dtype


@dataclasses.dataclass(frozen=True)
class Record:
    """One run of all checks on one device. `name` is the file's name without its ending."""

    name: str
    kind: str
    where: dict[str, str]
    commit: str
    started: str
    seconds: float
    entries: tuple[Entry, ...]

    @property
    def version(self) -> str:
        """The torch_npu release as major.minor.patch."""
        return release(self.where["torch_npu"])


@dataclasses.dataclass(frozen=True)
class Unrecorded:
    """A combination of which there is no record, and why: nothing could start on it."""

    version: str
    torch_npu: str
    product: str
    reason: str
    seen: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """What one source says of one API, version and product."""

    api: str
    version: str
    product: str
    says: str
    dtypes: tuple[str, ...]
    items: tuple[int, ...]
    words: str
    source: dict[str, str]


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


def short(api: str) -> str:
    """The name that tells an API from all others: ``make_dual``, ``func.jvp`` for ``torch.func.jvp``.

    Several modules have a ``jvp`` and a ``hessian``. A function of a module of its own name has it
    once: ``gradcheck``.
    """
    module, _, name = api.rpartition(".")
    parent = module.rpartition(".")[2]
    return name if module == MODULE or parent == name else f"{parent}.{name}"


def product_of(soc_name: str) -> str:
    """The product of a SoC name, or ``unknown``."""
    return "950DT" if soc_name.startswith("Ascend950") else soc.product(soc_name)


def release(version: str) -> str:
    """``2.13.0`` for ``2.13.0+cpu`` and ``2.13.0.post2``."""
    return re.match(r"\d+\.\d+\.\d+", version).group()


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, to sort by."""
    return tuple(int(part) for part in version.split("."))
