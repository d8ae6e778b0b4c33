"""The files in ``evidence/``, read and checked; nothing else in the project reads them.

One table, ``checks.json``, has every check that a record names, under an id that is the hash of the
check; a record has the outcomes by id. Its digest covers the ids and so the checks themselves, which
makes a file that was edited by hand an error. The text that ran is not copied: a check has the digest
of what decides it, and the table a blob in git with that digest.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema

from npudocs.evidence.model import (
    Claim,
    Entry,
    EvidenceError,
    Record,
    Unrecorded,
    product_of,
    release,
)

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "evidence"
CHECKS = "checks.json"
# Of which an id is the hash; `file` is the path of the check in the project.
FIELDS = ("file", "source", "part", "dtype", "apis", "items")


def sha256(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def blob(data: bytes) -> str:
    """The name that git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest(content: dict[str, Any]) -> str:
    """The digest that a record's content has to carry; its ``digest`` field is left out."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    return sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode())


def check_id(check: dict[str, Any]) -> str:
    """The id of a check in the table: a hash of its fields."""
    text = json.dumps({name: check[name] for name in FIELDS}, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode())[:12]


def file_name(content: dict[str, Any]) -> str:
    """The name of a record's file, without its ending: one per combination, and date on silicon."""
    where = content["where"]
    name = f"torch_npu-{where['torch_npu']}-{where['soc']}"
    return name if content["kind"] == "software" else f"{name}-{content['started'][:10]}"


def records(folder: Path = FOLDER) -> list[Record]:
    """All records, oldest first.

    Raises:
        EvidenceError: a record or the table of checks is malformed, edited or contradictory.
    """
    table = read_checks(folder)
    paths = sorted((folder / "records").glob("*/*.json"))
    found = [record_of(read(path), path, table) for path in paths]
    return sorted(found, key=lambda record: record.started)


def read_checks(folder: Path = FOLDER) -> dict[str, Any]:
    """The table of checks: ``sources`` (digest to blob) and ``checks`` (id to check).

    Raises:
        EvidenceError: it is malformed or was edited.
    """
    path = folder / CHECKS
    if not path.is_file():
        return {"sources": {}, "checks": {}}
    table = load_checked(path, "checks.schema.json")
    for name, check in table["checks"].items():
        if name != check_id(check):
            raise refusal(path, f"checks.{name}", "is not the hash of this check: do not edit it")
        if check["source"] not in table["sources"]:
            raise refusal(path, f"checks.{name}.source", "is not in the sources")
        # The text of a script or test decides as a whole, so that its digest is its blob.
        source = table["sources"][check["source"]]
        if check["file"].endswith(".py") and source != check["source"]:
            raise refusal(path, f"sources.{check['source']}", "is not the blob of a script")
    return table


def record_of(content: Any, path: Path, table: dict[str, Any]) -> Record:
    """The record that this content is, as the file `path`, with the checks of `table`.

    Raises:
        EvidenceError: it is malformed, edited or contradictory.
    """
    check_schema(content, path, "record.schema.json")
    if content["digest"] != digest(content):
        raise refusal(path, "digest", "does not fit the content: only a run may write a record")
    where = content["where"]
    if release(where["torch"]) != release(where["torch_npu"]):
        raise refusal(path, "where.torch", f"does not match torch_npu {where['torch_npu']}")
    if where["product"] != product_of(where["soc"]):
        raise refusal(path, "where.product", f"{where['soc']} is not a SoC of {where['product']}")
    kind, software = content["kind"], content["kind"] == "software"
    if software != bool(where["softnpu"]) or software != ("softnpu" in where["device"]):
        raise refusal(path, "kind", f"{kind!r} contradicts where.softnpu or where.device")
    if path.parent.name != kind:
        raise refusal(path, "kind", f"{kind!r} does not belong into {path.parent.name}/")
    if path.stem != file_name(content):
        raise refusal(path, "where", f"belongs into {file_name(content)}.json")
    try:
        datetime.datetime.fromisoformat(content["started"])
    except ValueError as error:
        raise refusal(path, "started", str(error)) from error
    fields = {key: content[key] for key in ("kind", "where", "commit", "started", "seconds")}
    return Record(name=path.stem, entries=tuple(_entries(content, path, table)), **fields)


def _entries(content: dict[str, Any], path: Path, table: dict[str, Any]) -> list[Entry]:
    passed = {
        name: {"outcome": "passed", "message": "", "seconds": seconds}
        for name, seconds in content["passed"].items()
    }
    if not passed and not content["others"]:
        raise refusal(path, "passed", "no check ran")
    if both := passed.keys() & content["others"].keys():
        raise refusal(path, f"others.{min(both)}", "stands in passed too")
    found: dict[tuple[str, str, str], Entry] = {}
    for field, results in (("passed", passed), ("others", content["others"])):
        for name, result in results.items():
            check = table["checks"].get(name)
            if check is None:
                raise refusal(path, f"{field}.{name}", f"is not in {CHECKS}")
            more = {key: check[key] for key in ("part", "dtype", "source")}
            listed = {key: tuple(check[key]) for key in ("apis", "items")}
            about = {"check": check["file"], "blob": table["sources"][check["source"]]}
            entry = Entry(**about, **more, **listed, **result)
            if entry.key in found:
                words = " ".join(filter(None, entry.key))
                raise refusal(path, f"{field}.{name}", f"{words} stands here twice")
            found[entry.key] = entry
    return sorted(found.values(), key=lambda entry: natural(*entry.key))


def natural(*words: str) -> tuple[Any, ...]:
    """What sorts names as a person does: ``block 2`` before ``block 10``."""
    split = re.split(r"([0-9]+)", "\0".join(words))
    return tuple(int(word) if number % 2 else word for number, word in enumerate(split))


def claims(folder: Path = FOLDER) -> list[Claim]:
    """All claims, with their source.

    Raises:
        EvidenceError: a file is malformed, or one source says two things at once.
    """
    found: list[Claim] = []
    for path in sorted((folder / "claims").glob("*.json")):
        content = load_checked(path, "claims.schema.json")
        seen: set[tuple[str, ...]] = set()
        for entry in content["claims"]:
            listed = {key: tuple(entry.get(key, ())) for key in ("dtypes", "items")}
            claim = Claim(**{**entry, **listed}, source=content["source"])
            key = (claim.api, claim.version, claim.product)
            if key in seen:
                raise refusal(path, "claims", f"{' '.join(key)} stands here twice")
            seen.add(key)
            found.append(claim)
    return found


def unrecorded(folder: Path = FOLDER, known: Iterable[Record] | None = None) -> list[Unrecorded]:
    """The combinations of the version matrix on which nothing could start.

    Raises:
        EvidenceError: the file is malformed, or a combination has a record all the same.
    """
    path = folder / "unrecorded.json"
    if not path.is_file():
        return []
    content = load_checked(path, "unrecorded.schema.json")
    found = [Unrecorded(**entry) for entry in content["combinations"]]
    recorded = {
        (record.version, record.where["product"])
        for record in (records(folder) if known is None else known)
        if record.kind == "software"
    }
    for number, one in enumerate(found):
        if (one.version, one.product) in recorded:
            raise refusal(path, f"combinations[{number}]", "has a record")
    return found


def problems(folder: Path = FOLDER) -> list[str]:
    """Everything that is wrong with the records and the claims, file by file."""
    found: list[str] = []
    try:
        table = read_checks(folder)
    except EvidenceError as error:
        return [str(error)]
    used: set[str] = set()
    for path in sorted((folder / "records").glob("*/*.json")):
        try:
            content = read(path)
            record_of(content, path, table)
            used |= content["passed"].keys() | content["others"].keys()
        except EvidenceError as error:
            found.append(str(error))
    for look in (claims, unrecorded):
        try:
            look(folder)
        except EvidenceError as error:
            if str(error) not in found:
                found.append(str(error))
    if not found:
        found += [
            f"{folder.name}/{CHECKS}: checks.{name}: no record names it"
            for name in table["checks"].keys() - used
        ]
    return found


def texts(root: Path, blobs: Iterable[str]) -> dict[str, bytes]:
    """The texts that git in `root` has of these blobs; without git or its history some are missing."""
    wanted = sorted(set(blobs))
    command = ["git", "-C", str(root), "cat-file", "--batch"]
    names = "".join(f"{name}\n" for name in wanted).encode()
    try:
        done = subprocess.run(command, input=names, capture_output=True, check=False)
    except FileNotFoundError:
        return {}
    found, rest = {}, done.stdout
    while rest:
        head, _, rest = rest.partition(b"\n")
        name, kind, *size = head.decode().split()
        if kind == "blob":
            found[name], rest = rest[: int(size[0])], rest[int(size[0]) + 1 :]
    return found


def load_checked(path: Path, schema: str) -> dict[str, Any]:
    """The content of a JSON file of the evidence that a schema allows.

    Raises:
        EvidenceError: it is no JSON, or the schema does not allow it.
    """
    content = read(path)
    check_schema(content, path, schema)
    return content


def read(path: Path) -> Any:
    """The content of a JSON file; raises EvidenceError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise refusal(path, "file", f"is not JSON: {error}") from error


@functools.cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    # The rules are the project's, wherever the evidence lies.
    rules = json.loads((FOLDER / schema).read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(rules, format_checker=jsonschema.FormatChecker())


def check_schema(content: Any, path: Path, schema: str) -> None:
    """Raise EvidenceError where a schema does not allow the content of the file `path`."""
    # The first by place, so that the message does not change from run to run.
    for problem in sorted(_validator(schema).iter_errors(content), key=lambda one: one.json_path):
        raise refusal(path, problem.json_path.lstrip("$.") or "file", problem.message)


def refusal(path: Path, field: str, message: str) -> EvidenceError:
    """The error that names a file of the evidence and the field that is wrong."""
    name = "/".join(path.parts[-3:])
    return EvidenceError(f"{name}: {field}: {message}")
