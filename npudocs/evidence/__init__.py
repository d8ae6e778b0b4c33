"""The evidence: records that runs made and claims that others published, read and checked.

A record is written by ``npudocs.recording`` alone. Its digest, the schema and the rules below
make one that was edited by hand, is broken or contradicts itself an error that names the file
and the field; nothing else in the project reads the files in ``evidence/``.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jsonschema

from softnpu import soc

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "evidence"
VERSIONS = ("2.7.1", "2.11.0", "2.12.0", "2.13.0", "2.14.0")
PRODUCTS = ("A2", "A3", "950DT")
# The module that the site is about: its APIs go by their short names.
MODULE = "torch.autograd.forward_ad"

# The blocks of a page that decide what its checks do; the prose around them may change.
_BLOCKS = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|:{3,})\{(?:doctest|test(?:code|output|setup|cleanup))\}"
    r".*?^[ \t]*(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


class EvidenceError(ValueError):
    """A file of the evidence is not to be trusted; the message names the file and the field."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """What became of one check in one run."""

    check: str
    part: str
    apis: tuple[str, ...]
    items: tuple[int, ...]
    dtype: str
    source: str
    outcome: str
    message: str
    seconds: float

    def stale(self, root: Path = ROOT) -> bool:
        """Whether the check is no longer the one that ran."""
        path = root / self.check
        return not path.is_file() or sha256(source_text(path)) != self.source


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


def short(api: str) -> str:
    """The name that tells an API from all others: ``make_dual``, and ``func.jvp`` for ``torch.func.jvp``.

    Several modules have a ``jvp`` and a ``hessian``. A function of a module of its own name has it
    once: ``gradcheck``.
    """
    module, _, name = api.rpartition(".")
    parent = module.rpartition(".")[2]
    return name if module == MODULE or parent == name else f"{parent}.{name}"


def sha256(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def source_text(path: Path) -> bytes:
    """What decides a check in a file: the executable blocks of a page, the whole of a script."""
    data = path.read_bytes()
    if path.suffix != ".md":
        return data
    found = [match.group() for match in _BLOCKS.finditer(data.decode("utf-8"))]
    return ("\n\n".join(found) + "\n").encode()


def product_of(soc_name: str) -> str:
    """The product of a SoC name, or ``unknown``."""
    return "950DT" if soc_name.startswith("Ascend950") else soc.product(soc_name)


def release(version: str) -> str:
    """``2.13.0`` for ``2.13.0+cpu`` and ``2.13.0.post2``."""
    return re.match(r"\d+\.\d+\.\d+", version).group()


def digest(content: dict[str, Any]) -> str:
    """The digest that a record's content has to carry; its ``digest`` field is left out."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    return sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode())


def records(folder: Path = FOLDER) -> list[Record]:
    """All records, oldest first.

    Raises:
        EvidenceError: a record is malformed, edited or contradictory.
    """
    found = [_record(path, folder) for path in sorted((folder / "records").glob("*/*.json"))]
    return sorted(found, key=lambda record: record.started)


def claims(folder: Path = FOLDER) -> list[Claim]:
    """All claims, with their source.

    Raises:
        EvidenceError: a file is malformed, or one source says two things at once.
    """
    found: list[Claim] = []
    for path in sorted((folder / "claims").glob("*.json")):
        content = load_checked(path, folder, "claims.schema.json")
        mine = [_claim(entry, content["source"]) for entry in content["claims"]]
        seen: set[tuple[str, ...]] = set()
        for claim in mine:
            key = (claim.api, claim.version, claim.product)
            if key in seen:
                raise refusal(path, "claims", f"{' '.join(key)} stands here twice")
            seen.add(key)
        found += mine
    return found


def _claim(entry: dict[str, Any], source: dict[str, str]) -> Claim:
    listed = {key: tuple(entry.get(key, ())) for key in ("dtypes", "items")}
    return Claim(**{**entry, **listed}, source=source)


def _record(path: Path, folder: Path) -> Record:
    return check(_read(path), path, folder)


def check(content: dict[str, Any], path: Path, folder: Path) -> Record:
    """The record that this content is, as the file `path` of the evidence in `folder`.

    Raises:
        EvidenceError: it is malformed, edited or contradictory.
    """
    check_schema(content, path, folder, "record.schema.json")
    if content["digest"] != digest(content):
        raise refusal(path, "digest", "does not fit the content: only a run may write a record")
    where = content["where"]
    if release(where["torch"]) != release(where["torch_npu"]):
        raise refusal(path, "where.torch", f"does not match torch_npu {where['torch_npu']}")
    if where["product"] != product_of(where["soc"]):
        raise refusal(path, "where.product", f"{where['soc']} is not a SoC of {where['product']}")
    software = content["kind"] == "software"
    if software != bool(where["softnpu"]) or software != ("softnpu" in where["device"]):
        raise refusal(
            path, "kind", f"{content['kind']!r} contradicts where.softnpu or where.device"
        )
    if path.parent.name != content["kind"]:
        raise refusal(path, "kind", f"{content['kind']!r} does not belong into {path.parent.name}/")
    expected = file_name(content)
    if path.stem != expected:
        raise refusal(path, "where", f"belongs into {expected}.json")
    try:
        datetime.datetime.fromisoformat(content["started"])
    except ValueError as error:
        raise refusal(path, "started", str(error)) from error
    entries = tuple(_entry(entry) for entry in content["entries"])
    seen: dict[tuple[str, str, str], int] = {}
    for number, entry in enumerate(entries):
        key = (entry.check, entry.part, entry.dtype)
        if key in seen:
            raise refusal(path, f"entries[{number}]", f"repeats entries[{seen[key]}]")
        seen[key] = number
        if not (folder / "sources" / source_name(entry)).is_file():
            raise refusal(path, f"entries[{number}].source", "its text is not in evidence/sources")
    fields = {key: content[key] for key in ("kind", "where", "commit", "started", "seconds")}
    return Record(name=path.stem, entries=entries, **fields)


def _entry(entry: dict[str, Any]) -> Entry:
    return Entry(**{**entry, "apis": tuple(entry["apis"]), "items": tuple(entry["items"])})


def file_name(content: dict[str, Any]) -> str:
    """The name of a record's file, without its ending: one per combination, and date on silicon."""
    where = content["where"]
    name = f"torch_npu-{where['torch_npu']}-{where['soc']}"
    return name if content["kind"] == "software" else f"{name}-{content['started'][:10]}"


def source_name(entry: Entry) -> str:
    """The name of the file in ``evidence/sources`` that keeps a check as it ran."""
    return entry.source[:16] + Path(entry.check).suffix


def unrecorded(folder: Path = FOLDER) -> list[Unrecorded]:
    """The combinations of the version matrix on which nothing could start.

    Raises:
        EvidenceError: the file is malformed, or a combination has a record all the same.
    """
    path = folder / "unrecorded.json"
    if not path.is_file():
        return []
    content = load_checked(path, folder, "unrecorded.schema.json")
    found = [Unrecorded(**entry) for entry in content["combinations"]]
    recorded = {
        (record.version, record.where["product"])
        for record in records(folder)
        if record.kind == "software"
    }
    for number, one in enumerate(found):
        if (one.version, one.product) in recorded:
            raise refusal(path, f"combinations[{number}]", "has a record")
    return found


def orphans(folder: Path = FOLDER) -> list[str]:
    """The files in ``evidence/sources`` that no record names."""
    named = {source_name(entry) for record in records(folder) for entry in record.entries}
    return sorted(path.name for path in (folder / "sources").glob("*") if path.name not in named)


def problems(folder: Path = FOLDER) -> list[str]:
    """Everything that is wrong with the evidence, file by file."""
    found = []
    used: dict[str, str] = {}
    for path in sorted((folder / "records").glob("*/*.json")):
        try:
            entries = _record(path, folder).entries
        except EvidenceError as error:
            found.append(str(error))
        else:
            used |= {source_name(entry): entry.source for entry in entries}
    for name, source in sorted(used.items()):
        if sha256((folder / "sources" / name).read_bytes()) != source:
            found.append(f"evidence/sources/{name}: file: is not the text that its record names")
    for look in (claims, unrecorded):
        try:
            look(folder)
        except EvidenceError as error:
            if str(error) not in found:
                found.append(str(error))
    if not found:
        found += [f"evidence/sources/{name}: file: no record names it" for name in orphans(folder)]
    return found


def load_checked(path: Path, folder: Path, schema: str) -> dict[str, Any]:
    """The content of a JSON file that a schema in `folder` allows.

    Raises:
        EvidenceError: it is no JSON, or the schema does not allow it.
    """
    content = _read(path)
    check_schema(content, path, folder, schema)
    return content


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise refusal(path, "file", f"is not JSON: {error}") from error


def check_schema(content: Any, path: Path, folder: Path, schema: str) -> None:
    # The rules are the project's, wherever the evidence lies.
    rules = json.loads((FOLDER / schema).read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator(rules, format_checker=jsonschema.FormatChecker())
    # The first by place, so that the message does not change from run to run.
    for problem in sorted(checker.iter_errors(content), key=lambda error: error.json_path):
        raise refusal(path, problem.json_path.lstrip("$.") or "file", problem.message)


def refusal(path: Path, field: str, message: str) -> EvidenceError:
    """The error that names a file of the evidence and the field that is wrong."""
    name = "/".join(path.parts[-3:])
    return EvidenceError(f"{name}: {field}: {message}")
