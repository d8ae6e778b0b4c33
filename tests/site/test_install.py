"""The table of versions in docs/install.md says what torch_npu's project says, in evidence/compatibility.json."""

from __future__ import annotations

import json
import re

import pytest

from npudocs import evidence
from tools.collect_compatibility import compatibility

STATED = json.loads((evidence.FOLDER / "compatibility.json").read_text(encoding="utf-8"))
PAGE = (evidence.ROOT / "docs" / "install.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (\d+\.\d+\.\d+)\b(.*)\|$", PAGE, re.MULTILINE))


def cann(torch: str) -> str:
    """What the page has to say of CANN: the first torch_npu's, then where it changes."""
    stated = STATED.get(torch, {}).get("cann", {})
    changes = [
        one if name == torch else f"{one} ({name.removeprefix(f'{torch}.')})"
        for name, one in stated.items()
    ]
    return ", ".join(changes) or "not stated"


def python(torch: str) -> str:
    """What the page has to say of Python: the oldest and the newest, which leave none out."""
    stated = STATED.get(torch, {}).get("python", [])
    minors = [int(one.removeprefix("3.")) for one in stated]
    assert minors == [*range(minors[0], minors[-1] + 1)] if minors else True
    return f"{stated[0]} to {stated[-1]}" if stated else "not stated"


@pytest.mark.parametrize("torch", evidence.VERSIONS)
def test_the_page_says_what_the_project_says(torch: str) -> None:
    words, _, says_cann, says_python = (cell.strip() for cell in ROWS[torch].split("|"))
    assert says_cann == cann(torch)
    assert says_python == python(torch)
    assert ("recommended" in words) == (torch == STATED["recommended"])


def test_the_source_is_named() -> None:
    assert STATED["source"]["commit"][:12] in PAGE


def test_the_document_is_read() -> None:
    text = """| Component | Recommended |
|:--:|:--:|
| TorchNPU | 2.12.0 (Installation Package Version) |

| 2.7.1.post2 | v2.7.1-7.3.0 | 2.7.1 | CANN 8.5.0 |
| 2.7.1 | v2.7.1-7.2.0 | 2.7.1 | CANN 8.3.RC1 |

| PyTorch 2.7.1 | Python3.9, Python 3.10 |
"""
    assert compatibility(text, ("2.7.1", "2.13.0")) == {
        "recommended": "2.12.0",
        "2.7.1": {"cann": {"2.7.1": "8.3.RC1", "2.7.1.post2": "8.5.0"}, "python": ["3.9", "3.10"]},
    }
