"""The files in ``evidence/``, read; nothing else in the project reads them.

One table, ``checks.json``, has every check that a record names, under an id that is the hash of the
check; a record has the outcomes by id. Its digest covers the ids and so the checks themselves, which
makes a file that was edited by hand an error. That is what a build looks at; a run alone writes these
files, and their schemas are looked at when it does and by ``check``. The text that ran is not copied:
a check has the digest of what decides it, and the table a blob in git with that digest.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema

from npudocs.evidence import rules
from npudocs.evidence.model import Claim, Entry, EvidenceError, Record, Unrecorded

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "evidence"
CHECKS = "checks.json"
UNRECORDED = "unrecorded.json"
# The test items of the community task that this project began with: number to name and expectation.
ITEMS: dict[str, dict[str, str]] = json.loads((FOLDER / "items.json").read_text(encoding="utf-8"))
# Of which an id is the hash; `file` is the path of the check in the project.
FIELDS = ("file", "source", "part", "dtype", "apis", "items")


def blob(data: bytes) -> str:
    """The name that git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest(content: dict[str, Any]) -> str:
    """A hash of what a run wrote; its ``digest`` field, which has to be that, is left out."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_id(check: dict[str, Any]) -> str:
    """The id of a check in the table: a hash of its fields."""
    return digest({name: check.get(name) for name in FIELDS})[:12]


def file_name(content: dict[str, Any]) -> str:
    """The name of a record's file, without its ending: one per combination, and date on silicon."""
    where = content["where"]
    name = f"torch_npu-{where['torch_npu']}-{where['soc']}"
    return name if content["kind"] == "software" else f"{name}-{content['started'][:10]}"


def paths(folder: Path, kind: str = "records") -> list[Path]:
    """The files that runs wrote: of ``records`` or of ``sweeps``."""
    return sorted((folder / kind).glob("*/*.json"))


def records(folder: Path = FOLDER) -> list[Record]:
    """All records, oldest first; raises EvidenceError where one or the table of checks was edited."""
    table = read_checks(folder)
    found = [record_of(signed(path), path, table) for path in paths(folder)]
    return sorted(found, key=lambda record: record.started)


def used(folder: Path) -> set[str]:
    """The ids of the checks that records name."""
    return {
        name
        for content in map(read, paths(folder))
        for name in (*content["passed"], *content["others"])
    }


def read_checks(folder: Path = FOLDER) -> dict[str, Any]:
    """The table of checks: ``sources`` (digest to blob) and ``checks`` (id to check)."""
    path = folder / CHECKS
    if not path.is_file():
        return {"sources": {}, "checks": {}}
    table = read(path)
    for name, check in table["checks"].items():
        if name != check_id(check):
            raise refusal(path, f"checks.{name}", "is not the hash of this check: do not edit it")
    return table


def record_of(content: dict[str, Any], path: Path, table: dict[str, Any]) -> Record:
    """The record that this content of the file `path` is, with the checks of `table`."""
    passed = {
        name: {"outcome": "passed", "message": "", "seconds": seconds}
        for name, seconds in content["passed"].items()
    }
    entries = []
    for name, result in (*passed.items(), *content["others"].items()):
        if name not in table["checks"]:
            raise refusal(path, name, f"is not in {CHECKS}")
        check = {**table["checks"][name]}
        check |= {key: tuple(check[key]) for key in ("apis", "items")}
        check |= {"check": check.pop("file"), "blob": table["sources"].get(check["source"], "")}
        entries.append(Entry(**check, **result))
    entries.sort(key=lambda entry: natural(*entry.key))
    fields = {key: content[key] for key in ("kind", "where", "commit", "started", "seconds")}
    return Record(name=path.stem, entries=tuple(entries), **fields)


def checked_record(content: Any, path: Path, table: dict[str, Any]) -> Record:
    """The record that this content of the file `path` is, after a look at all that it says.

    Raises:
        EvidenceError: it is malformed, edited or contradictory.
    """
    check_schema(content, path, "record.schema.json")
    check_digest(content, path)
    check_place(content, path)
    record = record_of(content, path, table)
    check_run(content, path)
    if not record.entries:
        raise refusal(path, "passed", "no check ran")
    ((key, number),) = Counter(entry.key for entry in record.entries).most_common(1)
    if number > 1:
        raise refusal(path, "passed", f"{' '.join(filter(None, key))} stands here twice")
    return record


def check_run(content: dict[str, Any], path: Path) -> None:
    """Raise EvidenceError where a record or a sweep says what no run can have seen."""
    try:
        found = next(rules.broken(content), None)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise refusal(path, "file", f"is malformed: {type(error).__name__}: {error}") from error
    if found:
        raise refusal(path, *found)


def check_place(content: dict[str, Any], path: Path) -> None:
    """Raise EvidenceError where a run's file has the name or the folder of another."""
    name = f"{content['kind']}/{file_name(content)}.json"
    if "/".join(path.parts[-2:]) != name:
        raise refusal(path, "where", f"belongs into {name}")


def natural(*words: str) -> tuple[Any, ...]:
    """What sorts names as a person does: ``block 2`` before ``block 10``."""
    split = re.split(r"([0-9]+)", "\0".join(words))
    return tuple(int(word) if number % 2 else word for number, word in enumerate(split))


def claims(folder: Path = FOLDER) -> list[Claim]:
    """All claims; raises EvidenceError where a source is malformed or says two things at once."""
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


def unrecorded(folder: Path = FOLDER) -> list[Unrecorded]:
    """The combinations of the version matrix on which nothing could start."""
    return [Unrecorded(**one) for one in _unrecorded(folder).get("combinations", ())]


def removed(folder: Path = FOLDER) -> list[dict[str, str]]:
    """The records and sweeps that were taken away, and why."""
    return _unrecorded(folder).get("removed", [])


def _unrecorded(folder: Path) -> dict[str, Any]:
    path = folder / UNRECORDED
    return load_checked(path, "unrecorded.schema.json") if path.is_file() else {}


def signed(path: Path) -> dict[str, Any]:
    """The content of a file that a run wrote; raises EvidenceError where it was edited or cannot be."""
    content = read(path)
    check_digest(content, path)
    check_run(content, path)
    return content


def check_digest(content: Any, path: Path) -> None:
    """Raise EvidenceError where the content of a run's file is not what the run wrote."""
    if not isinstance(content, dict) or content.get("digest") != digest(content):
        raise refusal(path, "digest", "does not fit the content: only a run may write a record")


def load_checked(path: Path, schema: str) -> dict[str, Any]:
    """The content of a JSON file of the evidence; raises EvidenceError where a schema forbids it."""
    content = read(path)
    check_schema(content, path, schema)
    return content


def read(path: Path) -> Any:
    """The content of a JSON file; raises EvidenceError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError) as error:
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
