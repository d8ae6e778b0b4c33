"""What git knows of the runs that records name: their commits, the texts of these, the records before."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from npudocs.evidence import files, rules
from npudocs.evidence.model import Entry, EvidenceError, Record

LEFT_OUT = (
    "git's history is not here in whole (git fetch --unshallow), so that the commits of records, the "
    "texts of their checks and the records that were there before are not looked at"
)
Ran = list[tuple[Record, dict[str, str], dict[str, list[Entry]]]]


def git(root: Path, *words: str, given: str = "") -> str:
    """What git says in `root`; raises EvidenceError where it says none."""
    command = ["git", "-c", "core.quotePath=off", "-C", str(root), *words]
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise EvidenceError("a record names its commit, and there is no git here") from error
    if done.returncode:
        words = done.stderr.strip()
        raise EvidenceError(f"a record names its commit, and git cannot tell it: {words}")
    return done.stdout.strip()


def whole(root: Path) -> bool:
    """Whether git has all of the project's history in `root`."""
    try:
        return git(root, "rev-parse", "--is-shallow-repository", "--show-prefix") == "false"
    except EvidenceError:
        return False


def missing_blobs(root: Path, blobs: Iterable[str]) -> list[str]:
    """The blobs that git does not have."""
    told = git(root, "cat-file", "--batch-check", given="".join(f"{name}\n" for name in blobs))
    return [line.split()[0] for line in told.splitlines() if line.endswith(" missing")]


def problems(root: Path, folder: Path) -> list[str]:
    """What git's history in `root` denies of the records and sweeps in `folder`."""
    runs = {
        p: files.read(p)
        for kind in ("records", "sweeps", "repaired")
        for p in files.paths(folder, kind)
    }
    found = [*_of_commits(root, runs), *_of_the_past(root, folder, runs)]
    return found or [*_of_texts(root, files.records(folder))]


def _of_commits(root: Path, runs: dict[Path, dict[str, Any]]) -> Iterator[str]:
    lines = git(root, "log", "--format=%H %ct", "HEAD").splitlines()
    commits = {name: int(seconds) for name, seconds in map(str.split, lines)}
    for path, content in runs.items():
        name, _, changes = content["commit"].partition("+")
        if name not in commits:
            words = f"{name} is not in git's history: push the commit that ran, unchanged"
        elif commits[name] > rules.moment(content["started"]).timestamp():
            words = f"{name} is younger than the run, which started {content['started']}"
        elif changes and content["kind"] == "silicon":
            words = "files were changed: commit them, and run again"
        else:
            continue
        yield str(files.refusal(path, "commit", words))


def _of_the_past(root: Path, folder: Path, runs: dict[Path, dict[str, Any]]) -> Iterator[str]:
    """A record that was there is there, or a reason is; and a run has one result for ever."""
    words = ("--full-history", "--no-renames", "--raw", "--no-abbrev", "--format=", "--relative")
    past: dict[Path, set[str]] = defaultdict(set)
    for line in git(folder, "log", *words, "--", "records", "sweeps", "repaired").splitlines():
        past[folder / line.split("\t")[1]].add(line.split()[3])
    removed = {folder / one["file"] for one in files.removed(folder)}
    for path in sorted(past.keys() - runs.keys() - removed):
        words = f"was removed: say why in evidence/{files.UNRECORDED}, under removed"
        yield str(files.refusal(path, "file", words))
    for path in sorted(removed & runs.keys()):
        yield str(files.refusal(folder / files.UNRECORDED, "removed", f"{path.name} is here"))
    for path in sorted(path for path in past.keys() & runs.keys() if "passed" in runs[path]):
        for blob in past[path] - {"0" * 40}:
            old, new = json.loads(git(root, "cat-file", "blob", blob)), runs[path]
            if old["digest"] != new["digest"] and _of_one_run(old, new):
                yield str(files.refusal(path, "started", "the record of this run said otherwise"))
                break


def _of_one_run(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two records say that they began at one moment, or all their checks took equally long.

    Who changes the times as well is not found out: only the history of a run elsewhere shows that.
    """
    if old["schema"] != new["schema"]:
        return False
    times = [(t, new["passed"][name]) for name, t in old["passed"].items() if name in new["passed"]]
    copied = 2 * len(times) > len(old["passed"]) and all(t == again for t, again in times)
    return copied or old["started"] == new["started"]


def _of_texts(root: Path, records: list[Record]) -> Iterator[str]:
    """The checks that are not those of the commit, and those of it that a record lacks.

    What decides a check makes its parts, so that all records of a text have the same ones, on every
    device, unless the file broke. What differed from its commit ("+changes") cannot be told.
    """
    trees = {one.commit: _tree(root, one.commit) for one in records if "+" not in one.commit}
    ran: Ran = [
        (one, trees[one.commit], {f: [*e] for f, e in groupby(one.entries, lambda e: e.check)})
        for one in records
        if one.commit in trees
    ]
    parts: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for _, _, checks in ran:
        for file, entries in checks.items():
            # A block that only serves others is recorded where it breaks alone.
            serves = "test" if file.endswith(".md") else "\0"
            kept = [] if _broke(entries) else [f"{e.part} {e.dtype}".strip() for e in entries]
            about = (file, entries[0].source, entries[0].blob)
            parts[about].update(part for part in kept if not part.startswith(serves))
    for record, tree, checks in ran:
        name = Path("records", record.kind, f"{record.name}.json")
        for file, entries in checks.items():
            # A page may have had other prose around the same blocks.
            others = {t.get(file) for _, t, c in ran if file in c and file.endswith(".md")}
            if file not in tree or entries[0].blob not in {tree[file], *others}:
                words = f"is not the text in commit {record.commit[:7]}"
                yield str(files.refusal(name, file, words))
        for (file, _, blob), wanted in parts.items():
            entries = checks.get(file, [])
            missing = wanted - {f"{e.part} {e.dtype}".strip() for e in entries}
            if tree.get(file) == blob and (not entries or (missing and not _broke(entries))):
                words = f"{len(entries)} checks, and other records of this text have {len(wanted)}"
                yield str(files.refusal(name, file, f"{words}: {min(missing, default='')}"))


def _tree(root: Path, commit: str) -> dict[str, str]:
    lines = (line.split("\t") for line in git(root, "ls-tree", "-r", commit).splitlines())
    return {name: about.split()[2] for about, name in lines}


def _broke(entries: list[Entry]) -> bool:
    ends = ((e.outcome, e.part) for e in entries)
    return any(o in ("crashed", "timeout") or (o != "passed" and not part) for o, part in ends)
