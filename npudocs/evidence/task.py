"""The test items of the community task that this project began with: number to name and expectation."""

from __future__ import annotations

import json

from npudocs import evidence

ITEMS: dict[str, dict[str, str]] = json.loads(
    (evidence.FOLDER / "items.json").read_text(encoding="utf-8")
)
