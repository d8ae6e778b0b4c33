"""The box at the head of a page: what was executed there, on which device, and what came of it."""

from __future__ import annotations

import re

from tinyproject import OFF, SILICON, Project

FINE = "```{doctest}\n>>> 1\n1\n```\n"


def banner(project: Project, page: str = "page") -> tuple[str, str]:
    """The kind of the box of a built page, and its text."""
    text = project.read(f"html/{page}.html")
    kind, box = re.search(
        r'class="npudocs-banner npudocs-(\w+)[^>]*>(.*?)</div>', text, re.S
    ).groups()
    return kind, " ".join(re.sub("<[^>]*>", "", box).split())


def test_it_names_the_device(project: Project) -> None:
    project.page(FINE)
    project.script("one")
    for page, words in (("page", "Code blocks: 1 passed."), ("gallery/one", "Script passed in ")):
        project.build()
        kind, text = banner(project, page)
        assert kind == "software" and words in text
        assert text.startswith("software NPU Executed on softnpu, the software NPU (no chip), as ")
    project.device(SILICON)
    project.build()
    for page in ("page", "gallery/one"):
        kind, text = banner(project, page)
        assert kind == "silicon" and text.startswith("Ascend chip Executed on an Ascend chip, ")
    project.device(OFF)
    project.build()
    for page in ("page", "gallery/one"):
        kind, text = banner(project, page)
        assert (kind, text) == (
            "off",
            "not executed Not executed in this build: the device is switched off.",
        )


def test_it_says_what_came_of_it(project: Project) -> None:
    project.page(
        "```{doctest}\n>>> 1\n2\n```\n\n```{doctest}\n>>> import os; os._exit(0)\n```\n\n"
        "```{doctest}\n>>> while True: pass\n```\n\n" + FINE
    )
    project.script("one", "1 / 0")
    assert project.build("html", "-D", "execute_limit=1").code != 0
    assert banner(project)[1].endswith("Code blocks: 1 passed, 1 failed, 1 crashed, 1 timeout.")
    assert "Script failed in" in banner(project, "gallery/one")[1]


def test_results_of_an_earlier_text_are_not_shown(project: Project) -> None:
    project.page(FINE)
    assert project.build().code == 0
    project.page(FINE.replace("1", "2"))
    assert project.build("html", "-D", "execute_nothing=1").code == 0
    assert banner(project) == ("off", "not executed Not executed in this build.")
