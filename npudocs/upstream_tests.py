"""``{upstream-tests}`` and ``{upstream-disabled}``: what upstream tests, and what those tests find on an NPU."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import cells, marks, parts, problems, tables, upstream_test_data
from npudocs.evidence import EvidenceError
from npudocs.upstream_test_data import CAUSES, OUTCOMES, Group

_VERDICTS = {"passed": "passed", "failed": "failed", "error": "failed"}


def inventory(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """Each test of the inventory, a table for each class."""
    found = cells.of(app)
    try:
        content = upstream_test_data.inventory(found.folder, found.root)
    except EvidenceError as error:
        problems.report(app, str(error), location=docname)
        return []
    if content is None:
        return [tables.text("There is no inventory.")]
    source, where = content["source"], content["where"]
    made: list[nodes.Node] = [
        tables.text(
            f"Read from {source['repository']}, commit `{source['commit'][:12]}`: {source['what']}. "
            f"Run on the {_on(where)} on {content['seen']}."
        )
    ]
    classes: dict[str, list[dict[str, Any]]] = {}
    for test in content["tests"]:
        classes.setdefault(test["class"], []).append(test)
    for name, tests in classes.items():
        made += _class(name, tests, where["kind"])
    return made


def _class(name: str, tests: list[dict[str, Any]], kind: str) -> list[nodes.Node]:
    reach = sum(test["reaches_npu"] for test in tests)
    ended = Counter(test["on_npu"]["outcome"] for test in tests)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in ended.items())
    line = (
        f"`{tests[0]['file']}`: {_number(len(tests), 'test')}; upstream, {reach} of them "
        f"{'reaches' if reach == 1 else 'reach'} an NPU; performed here: {counts}."
    )
    hows = list(dict.fromkeys(_upstream(test) for test in tests))
    if len(hows) == 1:
        line += f" Upstream: {hows[0]}."
    head = [tables.row("test, what it checks, and our test of the same", "here")]
    body = [_test(test, kind, len(hows) > 1) for test in tests]
    table = tables.table(head, body, [8, 3], "npudocs-differences")
    return [nodes.rubric(text=name), tables.text(line), table]


def _upstream(test: dict[str, Any]) -> str:
    return f"{test['device']}; {test['how']}"


def _test(test: dict[str, Any], kind: str, with_how: bool) -> nodes.row:
    checked: list[nodes.Node] = [
        nodes.paragraph("", "", nodes.literal(text=test["method"])),
        nodes.paragraph(text=test["checks"]),
    ]
    if with_how:
        reaches = "reaches" if test["reaches_npu"] else "does not reach"
        words = f"Upstream it {reaches} an NPU: {_upstream(test)}"
        checked.append(nodes.paragraph(text=words, classes=["npudocs-note"]))
    ran = test["on_npu"]
    verdict = _VERDICTS.get(ran["outcome"])
    drawn = marks.draw(kind, verdict) if verdict else [nodes.Text(ran["outcome"])]
    here: list[nodes.Node] = [nodes.paragraph("", "", *drawn)]
    if ran["message"]:
        here.append(nodes.paragraph(text=ran["message"], classes=["npudocs-note"]))
    ours = nodes.paragraph(text="Ours: ")
    if not test["equivalent"]:
        ours += nodes.Text(f"none, since {test['why_none']}")
    for number, name in enumerate(test["equivalent"]):
        ours += [nodes.Text(", " if number else ""), nodes.literal(text=name.partition("::")[2])]
    return tables.row([*checked, ours], here)


def disabled(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The counts of the disabled cases, and those that do not pass."""
    try:
        content = upstream_test_data.disabled(cells.of(app).folder)
    except EvidenceError as error:
        problems.report(app, str(error), location=docname)
        return []
    if content is None:
        return [tables.text("The disabled tests were not performed.")]
    made = [tables.text(_run(content)), _counts(content["cases"])]
    groups = upstream_test_data.groups(content["cases"])
    for cause, title in CAUSES.items():
        if mine := [group for group in groups if group.cause == cause]:
            made += _groups(title, mine)
    return made


def _run(content: dict[str, Any]) -> str:
    source, limits, cases = content["source"], content["limits"], content["cases"]
    given = Counter(case.get("reason", "") for case in cases)
    reasons = [f"{number} `{reason}`" for reason, number in given.items() if reason]
    said = f"; the others: {', '.join(reasons)}" if reasons else ""
    note = sum("made_on_cpu" in case for case in cases)
    return (
        f"`{source['file']}` of {source['repository']}, commit `{source['commit'][:12]}`, disables "
        f"{source['disabled']} tests of the class, {given['']} of the {len(cases)} that were performed without "
        f"a reason{said}. They ran on the {_on(content['where'])} on {content['started'][:10]}, in "
        f"{content['seconds'] / 60:.0f} minutes. Of each operator at most {limits['samples']} samples were "
        f"checked, spread over the first {limits['of_the_first']}, for at most {limits['seconds']:g} seconds. "
        f"For {_number(note, 'case')} the samples had to be made on the CPU, since the operators that make "
        "them do not run in this dtype."
    )


def _counts(cases: list[dict[str, Any]]) -> nodes.table:
    rows: dict[tuple[str, str], Counter[str]] = {}
    for case in cases:
        rows.setdefault((case["test"], case["dtype"]), Counter())[case["outcome"]] += 1
    used = [outcome for outcome in OUTCOMES if any(outcome in row for row in rows.values())]
    body = [
        tables.row(
            nodes.literal(text=test), nodes.literal(text=dtype),
            *(str(counts[outcome]) for outcome in used), str(counts.total()),
        )
        for (test, dtype), counts in sorted(rows.items())
    ]  # fmt: skip
    total = Counter(case["outcome"] for case in cases)
    body.append(tables.row("all", "", *(str(total[outcome]) for outcome in used), str(len(cases))))
    head = [tables.row("test", "dtype", *used, "all")]
    return tables.table(head, body, [5, 2, *(1 for _ in used), 1])


def _groups(title: str, groups: list[Group]) -> list[nodes.Node]:
    number = sum(len(group.cases) for group in groups)
    body = [
        tables.row(
            nodes.literal(text=group.words),
            ", ".join(dict.fromkeys(case["outcome"] for case in group.cases)),
            _collapsed(group),
        )
        for group in groups
    ]
    head = [tables.row("message", "outcome", "cases")]
    table = tables.table(head, body, [6, 1, 5], "npudocs-differences")
    return [nodes.rubric(text=f"{title}: {number}"), table]


def _collapsed(group: Group) -> list[nodes.Node]:
    by_test: dict[tuple[str, str], list[str]] = {}
    for case in group.cases:
        by_test.setdefault((case["test"], case["dtype"]), []).append(case["op"])
    lines = [
        nodes.paragraph("", "", nodes.literal(text=test), nodes.Text(f" {dtype}: {', '.join(ops)}"))
        for (test, dtype), ops in sorted(by_test.items())
    ]
    if len(group.cases) < 4:
        return [*lines]
    summary = html.escape(_number(len(group.cases), "case"))
    opened = f"<details><summary>{summary}</summary>"
    return [
        nodes.raw("", opened, format="html"), *lines, nodes.raw("", "</details>", format="html")
    ]  # fmt: skip


def _on(where: dict[str, str]) -> str:
    as_what = "as" if where["kind"] == "software" else "on"
    versions = f"torch {where['torch']}, torch_npu {where['torch_npu']}"
    return f"{marks.KINDS[where['kind']]} {as_what} {where['soc']} ({versions})"


def _number(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "upstream-tests", inventory)
    parts.add(app, "upstream-disabled", disabled)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
