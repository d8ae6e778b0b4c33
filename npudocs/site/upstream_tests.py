"""``{upstream-tests}`` and ``{corrections}``: what upstream tests, and what the task's report says that does not hold.

``evidence/upstream_tests.json`` is written by hand and checked against the tests of ours that it names.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from npudocs import evidence
from npudocs.evidence import EvidenceError
from npudocs.execute import problems
from npudocs.site.parts import Page

TESTS = "upstream_tests.json"
REPORT = evidence.FOLDER / "task_report.json"
VERDICTS = {"passed": "passed", "failed": "failed", "error": "failed"}
# How a test ended, as the data say it.
OUTCOMES = ("passed", "failed", "error", "not run")


def load(folder: Path, root: Path) -> dict[str, Any]:
    """Return the inventory, or an empty dictionary where there is none.

    Raises:
        EvidenceError: it is malformed, repeats a test or names one of ours that is not there.
    """
    path = folder / TESTS
    if not path.is_file():
        return {}
    content = evidence.load_checked(path, "upstream_tests.schema.json")
    seen: set[tuple[str, str]] = set()
    for number, test in enumerate(content["tests"]):
        place = f"tests[{number}]"
        key = (test["class"], test["method"])
        if key in seen:
            raise evidence.refusal(path, place, f"{'.'.join(key)} stands here twice")
        seen.add(key)
        for name in test["equivalent"]:
            file, _, method = name.partition("::")
            found = root / file
            if not found.is_file() or f"def {method}(" not in found.read_text(encoding="utf-8"):
                raise evidence.refusal(path, f"{place}.equivalent", f"there is no test {name}")
    return content


def inventory(page: Page) -> dict[str, Any]:
    """The tests of each class, with how they ended here."""
    try:
        content = load(page.evidence.folder, Path(page.app.confdir))
    except EvidenceError as error:
        problems.report(page.app, str(error), location=page.docname)
        content = {}
    classes: dict[str, dict[str, Any]] = {}
    for test in content.get("tests", []):
        into = classes.setdefault(test["class"], {"tests": [], "ended": Counter(), "hows": {}})
        into["tests"].append(test)
        into["ended"][test["on_npu"]["outcome"]] += 1
        into["hows"][test["device"], test["how"]] = True
    return {"content": content, "classes": classes, "verdicts": VERDICTS}


def corrections(page: Page) -> dict[str, Any]:
    """What the task's report says, what is the case, and the page that shows it; in the page's language."""
    listed = json.loads(REPORT.read_text(encoding="utf-8"))["corrections"]
    return {"corrections": listed, "language": page.app.config.language[:2]}
