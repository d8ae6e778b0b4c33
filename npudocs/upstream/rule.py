"""The APIs whose entries are written, and the rule: what decides each ✔ or ✘, and each dtype, of an entry.

1. A record made on a chip decides for its version and product: all checks of the API passed → ✔, one
   failed, crashed or hung → ✘. A check of one dtype decides that dtype alone: passed → listed, failed
   → not listed; the mark is ✘ when no check passed. A skip says nothing. Of the records of one SoC the
   newest counts; where SoCs of a product differ, the failure wins.
2. Without one, an entry that exists keeps its marks and dtypes. No claim and no run in software changes it.
3. Without one, a missing entry follows the claims that name the API, and the published claim of the API
   that it is part of: ✔ when at least one says supported and none says not supported, otherwise ✘.
   Where claims contradict each other the more cautious one wins. Its dtypes are those that every claim
   with a limit allows.
4. Software records are never looked at: software alone makes no chip's ✔.

`decide` is the whole rule; it reads nothing and writes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from npudocs.evidence import Claim, Entry, Record

MODULE = "torch.autograd.forward_ad"
FAILED = ("failed", "crashed", "timeout")


@dataclasses.dataclass(frozen=True)
class Api:
    """One API as an entry needs it.

    `tensors` are the parameters (or the fields of a class) that a limit on dtypes names; without one,
    there is no such limit. `part_of` is the API that this one belongs to: `dual_level` enters and exits
    a level, `unpack_dual` returns an `UnpackedDualTensor`.
    """

    name: str
    tensors: tuple[str, ...] = ()
    part_of: str = ""
    is_class: bool = False

    @property
    def full(self) -> str:
        """Return the name with its module."""
        return f"{MODULE}.{self.name}"


# The order of docs/source/autograd.rst and autograd.md, the same from 2.7 to 2.13.
# `dual_level` is a class as well, but its published entry is written as that of a function.
APIS = (
    Api("dual_level"),
    Api("make_dual", tensors=("tensor", "tangent")),
    Api("unpack_dual", tensors=("tensor",)),
    Api("enter_dual_level", part_of="dual_level"),
    Api("exit_dual_level", part_of="dual_level"),
    Api("UnpackedDualTensor", tensors=("primal", "tangent"), part_of="unpack_dual", is_class=True),
)
BY_NAME = {api.name: api for api in APIS}


@dataclasses.dataclass(frozen=True)
class Support:
    """The support that an entry names for one product, and why; `dtypes` is None where it names no limit."""

    supported: bool
    dtypes: tuple[str, ...] | None = None
    why: str = dataclasses.field(default="", compare=False)


def decide(
    api: Api,
    version: str,
    product: str,
    published: Support | None,
    records: Sequence[Record],
    claims: Iterable[Claim],
) -> Support:
    """Return the support of one API, version and product; `published` is None where the entry is missing."""
    here = [c for c in claims if (c.version, c.product) == (version, product)]
    base = _kept(api, published, here) if published else _claimed(api, here)
    found = _silicon(api, version, product, records)
    return _decided(api, base, found) if found else base


def _kept(api: Api, published: Support, claims: list[Claim]) -> Support:
    other = [c for c in claims if c.api == api.full and _contradicts(published, c)]
    why = "as published; no silicon record"
    if other:
        why += f"; not followed: {_words(other)}"
    return Support(published.supported, published.dtypes, why)


def _contradicts(cell: Support, claim: Claim) -> bool:
    if cell.supported != (claim.says == "supported"):
        return True
    wider = claim.dtypes and cell.dtypes is not None and not {*claim.dtypes} <= {*cell.dtypes}
    return cell.supported and bool(wider)


def _claimed(api: Api, claims: list[Claim]) -> Support:
    whole = BY_NAME[api.part_of].full if api.part_of else ""
    counted = [c for c in claims if c.api == api.full]
    counted += [c for c in claims if c.api == whole and c.source["kind"] == "published page"]
    if not counted:
        return Support(False, None, "no silicon record and no claim")
    against = [c for c in counted if c.says != "supported"]
    contradict = 0 < len(against) < len(counted)
    head = "claims contradict, the cautious one wins" if contradict else "claimed"
    dtypes = None
    if limits := [c.dtypes for c in counted if c.dtypes]:
        dtypes = tuple(name for name in limits[0] if all(name in one for one in limits))
    return Support(not against, dtypes, f"{head}: {_words(counted)}")


def _words(claims: Iterable[Claim]) -> str:
    said = []
    for claim in claims:
        dtypes = f" ({', '.join(claim.dtypes)})" if claim.dtypes else ""
        name = claim.api.rpartition(".")[2]
        said.append(f"{claim.source['title']} says {name} {claim.says}{dtypes}")
    return "; ".join(dict.fromkeys(said))


def _silicon(
    api: Api, version: str, product: str, records: Sequence[Record]
) -> list[tuple[Record, list[Entry]]]:
    newest: dict[str, tuple[Record, list[Entry]]] = {}
    for record in sorted(records, key=lambda record: record.started):
        if (record.kind, record.version, record.where["product"]) != ("silicon", version, product):
            continue
        entries = [e for e in record.entries if api.full in e.apis and e.outcome != "skipped"]
        if entries:
            newest[record.where["soc"]] = (record, entries)
    return list(newest.values())


def _decided(api: Api, base: Support, found: list[tuple[Record, list[Entry]]]) -> Support:
    failed_dtypes: set[str] = set()
    passed_dtypes: set[str] = set()
    supported, whys = True, []
    for record, entries in found:
        bad = [entry for entry in entries if entry.outcome in FAILED]
        failed = {entry.dtype for entry in bad if entry.dtype}
        passed = {entry.dtype for entry in entries if entry.dtype} - failed
        general = any(not entry.dtype for entry in bad)
        supported &= not general and len(bad) < len(entries)
        failed_dtypes |= failed
        passed_dtypes |= passed
        whys.append(
            f"silicon record {record.name}: {len(entries) - len(bad)} passed, {len(bad)} failed"
        )
    dtypes = base.dtypes
    # No limit on a ✔ means every dtype; on a ✘, or where nothing was claimed, it means nothing.
    unlimited = base.supported and dtypes is None
    if api.tensors and (not unlimited or failed_dtypes) and (dtypes or passed_dtypes):
        listed = [*(dtypes or ()), *sorted(passed_dtypes)]
        dtypes = tuple(n for n in dict.fromkeys(listed) if n not in failed_dtypes)
    return Support(supported, dtypes, "; ".join(whys))
