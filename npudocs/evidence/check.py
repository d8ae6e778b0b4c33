"""Is what lies in ``evidence/`` whole, and does it agree with what runs here?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from npudocs.evidence import disagreements, files, history, sweep_records
from npudocs.evidence.model import EvidenceError, Record


def problems(folder: Path = files.FOLDER, root: Path = files.ROOT) -> list[str]:
    """Everything that is wrong with the evidence, file by file.

    A build looks at less of what a run writes, which is most of the evidence: at its digests and at ``rules``.
    """
    found: list[str] = []

    def look(at: Callable[..., Any], *words: Any) -> Any:
        try:
            return at(*words)
        except EvidenceError as error:
            found.append(str(error))

    if table := look(_table, folder):
        for path in files.paths(folder):
            look(lambda path: files.checked_record(files.read(path), path, table), path)
        for path in [*files.paths(folder, "sweeps"), *files.paths(folder, "repaired")]:
            look(sweep_records.check, path)
        for read in (files.claims, files.unrecorded, disagreements.explanations):
            look(read, folder)
    for kind in ("records", "sweeps"):
        others = {*(folder / kind).glob("*/*")} | {*(folder / kind).glob("*/*/*")}
        others -= {*files.paths(folder, kind)}
        found += [f"{path.relative_to(folder)}: nobody reads this file" for path in sorted(others)]
    if found:
        return found
    unnamed = table["checks"].keys() - files.used(folder)
    found += [f"{files.CHECKS}: checks.{name}: no record names it" for name in unnamed]
    if not found and history.whole(root):
        missing = history.missing_blobs(root, table["sources"].values())
        found += [
            f"{files.CHECKS}: sources: git has no blob {name}: commit the checks that a record is of, "
            "as they ran"
            for name in missing
        ]
        found += history.problems(root, folder)
    return found


def _table(folder: Path) -> dict[str, Any]:
    path = folder / files.CHECKS
    if path.is_file():
        files.load_checked(path, "checks.schema.json")
    table = files.read_checks(folder)
    for name, check in table["checks"].items():
        source = check["source"]
        if source not in table["sources"]:
            raise files.refusal(path, f"checks.{name}.source", "is not in the sources")
        # The text of a script or test decides as a whole, so that its digest is its blob.
        if check["file"].endswith(".py") and table["sources"][source] != source:
            raise files.refusal(path, f"sources.{source}", "is not the blob of a script")
    return table


def compare(folder: Path, ran: Record) -> list[str]:
    """Where the committed record of a run's combination disagrees with the run."""
    same = [
        record
        for record in files.records(folder)
        if record.kind == ran.kind
        and all(record.where[name] == ran.where[name] for name in ("torch_npu", "soc"))
    ]
    if not same:
        # A chip's record is sent by who has the chip; nothing of it has to be there before.
        return [] if ran.kind == "silicon" else [f"{ran.name}: is not recorded in {folder.name}/"]
    return differences(same[-1], ran)


def differences(committed: Record, ran: Record) -> list[str]:
    """Where a committed record disagrees with a run of the same combination."""
    before, now = ({entry.key: entry for entry in record.entries} for record in (committed, ran))
    found = []
    for key in dict.fromkeys([*before, *now]):
        name = f"{committed.name}: {' '.join(filter(None, key))}"
        old, new = before.get(key), now.get(key)
        if new is None:
            found.append(f"{name}: is recorded, and did not run")
        elif old is None:
            found.append(f"{name}: ran ({new.outcome}), and is not recorded")
        elif old.outcome != new.outcome:
            words = f"recorded as {old.outcome}, and now {new.outcome}: {new.message}"
            found.append(f"{name}: {words}".rstrip(": "))
        elif old.source != new.source:
            found.append(f"{name}: its source changed since it was recorded")
        elif (old.apis, old.items) != (new.apis, new.items):
            found.append(f"{name}: its APIs or items changed since it was recorded")
    return found
