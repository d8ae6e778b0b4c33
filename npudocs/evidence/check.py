"""Is what lies in ``evidence/`` whole, and does it agree with what runs here?"""

from __future__ import annotations

from pathlib import Path

from npudocs.evidence import files, recording, sweep_records
from npudocs.evidence.model import Entry, EvidenceError, Record


def whole(folder: Path, root: Path) -> list[str]:
    """What is wrong with the evidence, in lines."""
    problems = files.problems(folder)
    try:
        sweep_records.load(folder)
    except EvidenceError as error:
        problems.append(str(error))
    return problems or _texts(folder, root)


def _texts(folder: Path, root: Path) -> list[str]:
    """The sources that git does not have; nothing where its history is not here in whole."""
    if not (root / ".git").exists() or recording.shallow(root):
        return []
    sources = files.read_checks(folder)["sources"]
    here = files.texts(root, sources.values())
    return [
        f"{folder.name}/{files.CHECKS}: sources.{name}: git has no blob {blob}: commit the checks "
        "that a record is of, as they ran"
        for name, blob in sources.items()
        if blob not in here
    ]


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
    before, now = _by_check(committed), _by_check(ran)
    found = []
    for key in dict.fromkeys([*before, *now]):
        name = " ".join(filter(None, key))
        if key not in now:
            found.append(f"{name}: is recorded, and did not run")
        elif key not in before:
            found.append(f"{name}: ran ({now[key].outcome}), and is not recorded")
        elif before[key].outcome != now[key].outcome:
            words = f"recorded as {before[key].outcome}, and now {now[key].outcome}"
            found.append(f"{name}: {words}: {now[key].message}".rstrip(": "))
        elif before[key].source != now[key].source:
            found.append(f"{name}: its source changed since it was recorded")
        elif (before[key].apis, before[key].items) != (now[key].apis, now[key].items):
            found.append(f"{name}: its APIs or items changed since it was recorded")
    return [f"{committed.name}: {words}" for words in found]


def _by_check(record: Record) -> dict[tuple[str, str, str], Entry]:
    return {entry.key: entry for entry in record.entries}
