"""``{upstream-tests}`` and ``{corrections}``: what upstream tests, and what the task's report says that does not hold.

``evidence/upstream_tests.json`` is written by hand; ``tests/site/`` has the check of the tests of ours that it names.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from npudocs import evidence
from npudocs.site import cells
from npudocs.site.parts import Page

TESTS = "upstream_tests.json"
REPORT = evidence.FOLDER / "task_report.json"
VERDICTS = {"passed": "passed", "failed": "failed", "error": "failed"}
# How a test ended, as the data say it.
OUTCOMES = ("passed", "failed", "error", "not run")


def inventory(page: Page) -> dict[str, Any]:
    """The tests of each class, with how they ended here."""
    path = page.evidence.folder / TESTS
    schema = "upstream_tests.schema.json"
    content = cells.trusted(evidence.load_checked, path, schema) if path.is_file() else {}
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
