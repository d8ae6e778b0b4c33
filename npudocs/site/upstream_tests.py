"""``{upstream-tests}`` and ``{upstream-disabled}``: what upstream tests, and what those tests find on an NPU."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.evidence import EvidenceError
from npudocs.execute import problems
from npudocs.site import cells, marks, parts, tables, upstream_test_data
from npudocs.site.upstream_test_data import CAUSES, OUTCOMES, Group
from npudocs.site.words import say, say_number

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
        return [tables.text(say("There is no inventory."))]
    source, where = content["source"], content["where"]
    made: list[nodes.Node] = [
        tables.text(
            say(
                "Read from {repository}, commit `{commit}`: {what}. Run on the {where} on {day}."
            ).format(
                repository=source["repository"],
                commit=source["commit"][:12],
                what=say(source["what"]),
                where=_on(where),
                day=content["seen"],
            )
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
    counts = ", ".join(f"{number} {say(outcome)}" for outcome, number in ended.items())
    line = say_number(
        "`{file}`: {tests}; upstream, {reach} of them reaches an NPU; performed here: {counts}.",
        "`{file}`: {tests}; upstream, {reach} of them reach an NPU; performed here: {counts}.",
        reach,
    ).format(file=tests[0]["file"], tests=_tests(len(tests)), reach=reach, counts=counts)
    hows = list(dict.fromkeys(_upstream(test) for test in tests))
    if len(hows) == 1:
        line += " " + say("Upstream: {how}.").format(how=hows[0])
    head = [tables.row(say("test, what it checks, and our test of the same"), say("here"))]
    body = [_test(test, kind, len(hows) > 1) for test in tests]
    table = tables.table(head, body, [8, 3], "npudocs-differences")
    return [nodes.rubric(text=name), tables.text(line), table]


def _upstream(test: dict[str, Any]) -> str:
    return f"{say(test['device'])}; {say(test['how'])}"


def _test(test: dict[str, Any], kind: str, with_how: bool) -> nodes.row:
    checked: list[nodes.Node] = [
        nodes.paragraph("", "", nodes.literal(text=test["method"])),
        nodes.paragraph(text=say(test["checks"])),
    ]
    if with_how:
        words = say(
            "Upstream it reaches an NPU: {how}"
            if test["reaches_npu"]
            else "Upstream it does not reach an NPU: {how}"
        ).format(how=_upstream(test))
        checked.append(nodes.paragraph(text=words, classes=["npudocs-note"]))
    ran = test["on_npu"]
    verdict = _VERDICTS.get(ran["outcome"])
    drawn = marks.draw(kind, verdict) if verdict else [nodes.Text(say(ran["outcome"]))]
    here: list[nodes.Node] = [nodes.paragraph("", "", *drawn)]
    if ran["message"]:
        here.append(nodes.paragraph(text=ran["message"], classes=["npudocs-note"]))
    ours = nodes.paragraph(text=say("Ours: "))
    if not test["equivalent"]:
        ours += nodes.Text(say("none, since {why}").format(why=say(test["why_none"])))
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
        return [tables.text(say("The disabled tests were not performed."))]
    made = [tables.text(_run(content)), _counts(content["cases"])]
    groups = upstream_test_data.groups(content["cases"])
    for cause, title in CAUSES.items():
        if mine := [group for group in groups if group.cause == cause]:
            made += _groups(say(title), mine)
    return made


def _run(content: dict[str, Any]) -> str:
    source, limits, cases = content["source"], content["limits"], content["cases"]
    given = Counter(case.get("reason", "") for case in cases)
    reasons = [f"{number} `{reason}`" for reason, number in given.items() if reason]
    said = say("; the others: {reasons}").format(reasons=", ".join(reasons)) if reasons else ""
    note = sum("made_on_cpu" in case for case in cases)
    return say(
        "`{file}` of {repository}, commit `{commit}`, disables {disabled} tests of the class, {bare} of the "
        "{all} that were performed without a reason{others}. They ran on the {where} on {day}, in {minutes} "
        "minutes. Of each operator at most {samples} samples were checked, spread over the first {first}, for "
        "at most {seconds} seconds. For {cases} the samples had to be made on the CPU, since the operators "
        "that make them do not run in this dtype."
    ).format(
        file=source["file"], repository=source["repository"], commit=source["commit"][:12],
        disabled=source["disabled"], bare=given[""], all=len(cases), others=said,
        where=_on(content["where"]), day=content["started"][:10],
        minutes=f"{content['seconds'] / 60:.0f}", samples=limits["samples"],
        first=limits["of_the_first"], seconds=f"{limits['seconds']:g}", cases=_cases(note),
    )  # fmt: skip


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
    body.append(
        tables.row(say("all"), "", *(str(total[outcome]) for outcome in used), str(len(cases)))
    )
    head = [tables.row(say("test"), "dtype", *map(say, used), say("all"))]
    return tables.table(head, body, [5, 2, *(1 for _ in used), 1])


def _groups(title: str, groups: list[Group]) -> list[nodes.Node]:
    number = sum(len(group.cases) for group in groups)
    body = [
        tables.row(
            nodes.literal(text=group.words),
            ", ".join(dict.fromkeys(say(case["outcome"]) for case in group.cases)),
            _collapsed(group),
        )
        for group in groups
    ]
    head = [tables.row(*map(say, ("message", "outcome", "cases")))]
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
    summary = html.escape(_cases(len(group.cases)))
    opened = f"<details><summary>{summary}</summary>"
    return [
        nodes.raw("", opened, format="html"), *lines, nodes.raw("", "</details>", format="html")
    ]  # fmt: skip


def _on(where: dict[str, str]) -> str:
    as_what = say("as" if where["kind"] == "software" else "on")
    versions = f"torch {where['torch']}, torch_npu {where['torch_npu']}"
    return f"{say(marks.KINDS[where['kind']])} {as_what} {where['soc']} ({versions})"


def _tests(number: int) -> str:
    return say_number("{number} test", "{number} tests", number).format(number=number)


def _cases(number: int) -> str:
    return say_number("{number} case", "{number} cases", number).format(number=number)


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "upstream-tests", inventory)
    parts.add(app, "upstream-disabled", disabled)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
