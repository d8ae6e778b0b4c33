"""``{item-table}``: the test items and, for each, the scripts that verify it."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs.execute import problems
from npudocs.execute import scripts as gallery
from npudocs.site import parts
from npudocs.site.parts import Page
from npudocs.site.verifies import ITEMS, Verification, claims
from npudocs.site.words import say


def item_table(page: Page) -> dict[str, Any]:
    """The items, each with its scripts: page, title and how it ended on which device."""
    items = [
        {
            **item,
            "number": number,
            "scripts": [_script(page, claim) for claim in _verifying(page.app.env, number)],
        }
        for number, item in ITEMS.items()
    ]
    return {"items": items}


def _script(page: Page, claim: Verification) -> dict[str, str]:
    result = gallery.results(page.app).get(claim.page.rpartition("/")[2])
    outcome = result.outcome if result else "not executed"
    words = say(outcome)
    if outcome != "not executed":
        words += f", {say(page.app.config.execute_device.label)}"
    return {"address": page.url(claim.page), "title": page.title(claim.page), "outcome": words}


def _verifying(env: BuildEnvironment, number: str) -> list[Verification]:
    return [claim for _, claim in sorted(claims(env).items()) if number in claim.items]


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    for page in parts.pages(env, "item-table"):
        for number, item in ITEMS.items():
            if not _verifying(env, number):
                message = f"no script verifies test item {number} ({item['name']})"
                problems.report(app, message, location=page)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("env-updated", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
