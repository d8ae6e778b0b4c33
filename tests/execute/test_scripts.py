"""The gallery on tiny projects: failures, what is reused and what never is."""

from __future__ import annotations

import re
from pathlib import Path

from tinyproject import OFF, SILICON, SOFTWARE, Project

PLOT = """
    import matplotlib.pyplot as plt

    print("printed by the script")
    plt.plot([1, 2])
    plt.xlabel("x")
    """


def _outcomes(project: Project) -> dict[str, str]:
    return {file: unit["results"][0]["outcome"] for file, unit in project.units().items()}


def test_scripts_run_once_and_results_are_carried_over(project: Project) -> None:
    project.script("one", PLOT)
    first = project.build()
    assert first.code == 0, first.output
    assert "1 executed in" in first.output
    one = project.units()["examples/one.py"]
    assert one["results"][0]["outcome"] == "passed"
    project.script("two")
    second = project.build()
    assert second.code == 0, second.output
    assert "2 scripts: 2 passed; 1 executed in" in second.output
    assert project.units()["examples/one.py"] == one


def test_every_failing_script_is_named_with_file_line_and_message(project: Project) -> None:
    project.script("one", "x = 1\nassert x == 2, 'the message'")
    project.script("two", "1 / 0")
    project.script("three")
    for _ in range(2):
        result = project.build()
        assert result.code != 0
        assert "examples/one.py:13: ERROR: " in result.output
        assert "AssertionError: the message" in result.output
        assert "examples/two.py:12: ERROR: " in result.output
        assert "ZeroDivisionError: division by zero" in result.output
    assert _outcomes(project) == {
        "examples/one.py": "failed",
        "examples/two.py": "failed",
        "examples/three.py": "passed",
    }


def test_level_left_open_fails_its_script_only(project: Project) -> None:
    project.script("a", "import torch.autograd.forward_ad as f\n\nf.enter_dual_level()")
    project.script("b", "import torch.autograd.forward_ad as f\n\nwith f.dual_level():\n    pass")
    for _ in range(2):
        result = project.build()
        assert result.code != 0
        assert (
            "examples/a.py:14: ERROR: the script leaves behind forward-AD level 0 open"
            in result.output
        )
        assert _outcomes(project) == {"examples/a.py": "failed", "examples/b.py": "passed"}


def test_scripts_are_seeded(project: Project) -> None:
    code = "import torch\n\nx = torch.rand(1).item()\ntorch.manual_seed(0)\nassert x == torch.rand(1).item()"
    project.script("one", "import torch\n\ntorch.set_default_dtype(torch.float64)")
    project.script("two", code)
    result = project.build()
    assert result.code == 0, result.output


def test_another_device_runs_everything_again(project: Project) -> None:
    project.script("one", PLOT)
    assert "1 scripts: 1 passed; 1 executed" in project.build().output
    left = project.root / "docs/gallery/images/sphx_glr_one_009.png"
    left.write_bytes(b"")
    project.device(SOFTWARE.replace("f00", "another"))
    assert "1 scripts: 1 passed; 1 executed" in project.build().output
    assert not left.exists()
    project.device(SILICON)
    assert "1 scripts: 1 passed; 1 executed" in project.build().output
    assert "npudocs-silicon" in project.read("html/gallery/one.html")
    assert "softnpu" not in project.read("html/gallery/one.html")


def test_killed_build_is_not_taken_for_a_result(project: Project) -> None:
    project.script("one")
    project.build()
    (project.root / "build/executed.json").unlink()
    assert "1 scripts: 1 passed; 1 executed" in project.build().output


def test_page_of_deleted_script_goes(project: Project) -> None:
    project.script("one", PLOT)
    project.script("two")
    project.build()
    assert "One" in project.read("html/gallery/index.html").title()
    (project.root / "examples/one.py").unlink()
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    for builder in ("doctest", "html"):
        result = project.build(builder)
        assert result.code == 0, result.output
    assert not (project.root / "build/html/gallery/one.html").exists()
    assert not [*(project.root / "docs/gallery").glob("one.*")]
    assert not [*(project.root / "docs/gallery/images").rglob("*_one_*")]
    assert list(project.units()) == ["docs/page.md", "examples/two.py"]


def test_device_off_executes_nothing_and_shows_nothing_stale(project: Project) -> None:
    project.script("one", PLOT)
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    assert project.build("doctest").code == 0
    assert project.build().code == 0
    assert "printed by the script</" in project.read("html/gallery/one.html").replace("\n", "")
    assert "Executed on softnpu" in project.read("html/page.html")
    project.device(OFF)
    result = project.build()
    assert result.code == 0, result.output
    for page in ("gallery/one", "page"):
        text = project.read(f"html/{page}.html")
        assert "Not executed in this build" in text
        assert "Executed on softnpu" not in text
    assert "sphx_glr_one_001" not in project.read("html/gallery/one.html")
    assert not list((project.root / "build/html").rglob("sphx_glr_one_001*"))
    project.device(SOFTWARE)
    assert "1 scripts: 1 passed; 1 executed" in project.build().output


def test_an_error_in_the_text_of_a_script_names_the_script(project: Project) -> None:
    project.script("one", "x = 1\n# %%\n# Text with :py:class:`torch.Nowhere`.\nx += 1")
    result = project.build()
    assert result.code != 0
    assert "examples/one.py:14: ERROR: no page and no inventory has the name" in result.output


def test_doctest_builder_runs_no_script(project: Project) -> None:
    project.script("one", "raise SystemError")
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    result = project.build("doctest")
    assert result.code == 0, result.output
    assert project.build().code != 0


def test_minigallery_works_in_markdown(project: Project) -> None:
    project.script("one", "import torch\n\ntorch.ones(1)")
    project.page("```{eval-rst}\n.. minigallery:: torch.ones\n```\n")
    result = project.build()
    assert result.code == 0, result.output
    assert 'href="gallery/one.html' in project.read("html/page.html")
    assert "one.ipynb" not in project.read("html/gallery/one.html")


def test_no_minigallery_of_the_site_is_empty() -> None:
    root = Path(__file__).parents[2]
    scripts = [path.read_text(encoding="utf-8") for path in (root / "examples").glob("*.py")]
    pages = [path.read_text(encoding="utf-8") for path in (root / "docs/api").glob("*.md")]
    names = [name for page in pages for name in re.findall(r"minigallery:: (\S+)", page)]
    assert len(names) > 8
    for name in names:
        short = name.rpartition(".")[2]
        used = [s for s in scripts if re.search(rf"(\.|import ){short}\b", s) and name in s]
        assert used, f"no script in the gallery uses {name}"


def test_script_without_a_figure_has_its_own_drawing(project: Project) -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><text>1</text></svg>\n'
    for name in ("one", "three"):
        project.write(f"examples/thumbnails/{name}.svg", drawing)
    project.script("one")
    project.script("two")
    project.script("three", PLOT)
    thumbs = project.root / "docs/gallery/images/thumb"
    for _ in range(2):
        result = project.build()
        assert result.code == 0, result.output
        assert (thumbs / "sphx_glr_one_thumb.svg").read_text(encoding="utf-8") == drawing
        assert (thumbs / "sphx_glr_two_thumb.svg").read_text(encoding="utf-8") != drawing
        assert not (thumbs / "sphx_glr_three_thumb.svg").exists()
