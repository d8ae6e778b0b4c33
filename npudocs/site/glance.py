"""``{glance}``: the state of the tables in a few numbers, for the front page.

Numbers alone, each with a link to what it counts. They say on which kind of device they were seen, and none
of them is a mark: what works where is for the tables to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudocs.execute import scripts as gallery
from npudocs.site import cells
from npudocs.site.operators import data, table
from npudocs.site.operators.data import Sweep
from npudocs.site.parts import Page
from npudocs.site.words import say

OPERATORS = "operators/index"
# No difference to the CPU.
QUIET = ("same", "both refuse")


Number = tuple[int, str, str]  # with its words, and the address of what it counts


def glance(page: Page) -> dict[str, Any]:
    """The numbers of the operators, if they were swept, and those of records and pages."""
    boxes = []
    sweep = data.of(page.app).default
    if sweep is not None and page.has(OPERATORS):
        dtype = data.of(page.app).dtype(sweep)
        title = say("Operators swept in {dtype}: {place}").format(
            dtype=dtype, place=f"torch_npu {sweep.version}, {sweep.product}"
        )
        numbers = [*_operators(page.url(OPERATORS), sweep, dtype)]
        boxes.append((sweep.kind, say(cells.KINDS[sweep.kind]), title, numbers))
    boxes.append(("pages", "", say("Records and pages"), [*_rest(page)]))
    return {"boxes": boxes}


def _operators(home: str, sweep: Sweep, dtype: str) -> Iterator[Number]:
    """All, those without any difference, and how many have which status in any form."""
    worst = [sweep.worst(name, dtype) for name in sweep.made["operators"]]
    yield sum(status != "" for status in worst), say("operators"), home
    yield sum(status in QUIET for status in worst), say("same in every form"), home
    for status, count in sweep.operators_by_status(dtype).items():
        if status not in QUIET:
            state = table.state({"dtype": dtype, "status": status})
            yield count, say(status), f"{home}{state}"


def _rest(page: Page) -> Iterator[Number]:
    """How many records and pages there are; only what has a page to lead to."""
    kinds = [record.kind for record in page.evidence.current]
    documented = [name for name in page.app.env.found_docs if name.startswith("api/")]
    for count, words, home in (
        (kinds.count("software"), say("records of the software NPU"), "evidence/index"),
        (kinds.count("silicon"), say("records of Ascend chips"), "evidence/index"),
        (len({*documented} - {"api/index"}), say("API pages"), "api/index"),
        (len(gallery.scripts(page.app)), say("examples"), f"{gallery.FOLDER}/index"),
    ):
        if page.has(home):
            yield count, words, page.url(home)
