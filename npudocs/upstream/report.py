"""``report``: the task's results report in Chinese and English, from one set of data.

Chip records, software records and claims are named apart in every cell and never merged. The tables are in
`templates/`, prose and facts in ``evidence/task_report.json`` and ``evidence/upstream_tests.json``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jinja2

from npudocs import evidence
from npudocs.evidence import ITEMS, PRODUCTS, VERSIONS, Claim, Entry, Record, disagreements
from npudocs.upstream.rule import APIS

TEMPLATES = Path(__file__).with_name("templates")
LANGUAGES = ("zh", "en")
PAGE = "published page"


def write(output: Path, folder: Path = evidence.FOLDER) -> list[Path]:
    """Write both reports into `output`; return their paths."""
    data = model(evidence.records(folder), evidence.claims(folder))
    texts = {output / f"report.{lang}.md": render(data, lang) for lang in LANGUAGES}
    output.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def render(data: dict[str, Any], language: str) -> str:
    """Return the report in one language."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    # Text that stays within one cell of a table.
    environment.filters["cell"] = lambda text: re.sub(r"\s*\n\s*", " ", text).replace("|", r"\|")
    environment.filters["say"] = lambda word: data["words"][word][language]
    template = environment.get_template("report.md.j2")
    return template.render(**data, language=language)


def model(records: Sequence[Record], claims: Sequence[Claim]) -> dict[str, Any]:
    """Return everything the reports say, without a language."""
    shared = _load("task_report.json")
    newest = {(r.kind, r.version, r.where["soc"]): r for r in records}
    current = [record for record in records if record in newest.values()]
    return {
        **{name: shared[name] for name in ("words", "texts", "corrections")},
        "inventory": _load("upstream_tests.json")["report"],
        "products": PRODUCTS,
        "versions": VERSIONS,
        "items": {
            int(number): {
                "zh": shared["items"][number],
                "en": f"{item['name']}: {item['expected']}",
            }
            for number, item in ITEMS.items()
        },
        "documentation": _documentation(claims),
        "contradictions": _contradictions(claims),
        "cell": lambda *place: _cell(current, claims, *place),
        "records": current,
        "counted": _counts,
    }


def _cell(
    records: Sequence[Record], claims: Sequence[Claim], item: int, version: str, product: str
) -> dict[str, Any]:
    """Return what runs and claims say of an item, in one version and product."""
    found: dict[str, Any] = {"silicon": [], "software": []}
    for record in records:
        entries = [entry for entry in record.entries if item in entry.items]
        if entries and (record.version, record.where["product"]) == (version, product):
            found[record.kind].append({"soc": record.where["soc"], "counts": _counts(entries)})
    said = [c for c in claims if (c.version, c.product) == (version, product) and item in c.items]
    return {**found, "claims": sorted({(claim.source["kind"], claim.says) for claim in said})}


def _counts(entries: Iterable[Entry]) -> list[tuple[str, int]]:
    counts = Counter(entry.outcome for entry in entries)
    return sorted(counts.items(), key=lambda pair: (pair[0] != "passed", pair[0]))


def _documentation(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Return what the published pages say of each API, versions that say the same together."""
    rows: list[dict[str, Any]] = []
    published = [claim for claim in claims if claim.source["kind"] == PAGE]
    versions = [v for v in VERSIONS if any(claim.version == v for claim in published)]
    for api in APIS:
        groups: dict[tuple[Any, ...], list[str]] = {}
        for version in versions:
            said = [c for c in published if (c.api, c.version) == (api.full, version)]
            marks = tuple((claim.product, claim.says) for claim in said)
            limits = {c.words.partition("; ")[2].rpartition("：")[2].strip() for c in said} - {""}
            groups.setdefault((marks, tuple(sorted(limits))), []).append(version)
        for (marks, limits), same in groups.items():
            named = re.findall(r"`(\w+)`", " ".join(limits))
            wrong = [name for name in named if name not in api.tensors]
            row = {"api": api.name, "versions": same, "marks": marks, "limits": limits}
            rows.append({**row, "wrong": wrong, "tensors": api.tensors})
    return rows


def _contradictions(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Return where the report and a page cannot both be right, versions together."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for found in disagreements.between_claims(claims):
        about, page, report = found.about, found.claim, found.other
        if (page.source["kind"], report.source["kind"]) == (PAGE, "report"):
            sides = [(one.says,) if about == "support" else one.dtypes for one in (page, report)]
            key = (page.api.rpartition(".")[2], about, page.product, *sides)
            groups.setdefault(key, []).append(page.version)
    names = ("api", "about", "product", "page", "report")
    return [
        {**dict(zip(names, key, strict=True)), "versions": sorted(v, key=VERSIONS.index)}
        for key, v in groups.items()
    ]


def _load(name: str) -> dict[str, Any]:
    return json.loads((evidence.FOLDER / name).read_text(encoding="utf-8"))
