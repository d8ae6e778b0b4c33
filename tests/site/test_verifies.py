"""What scripts say they verify, the item table, signatures and links."""

from __future__ import annotations

import pytest
from tinyproject import INVENTORY, Project


def test_claims_are_shown_and_kept_with_the_results(project: Project) -> None:
    project.script("one", items="3, 5")
    result = project.build()
    assert result.code == 0, result.output
    page = project.read("html/gallery/one.html")
    assert "This example verifies" in page
    assert "Test item 3, device kept" in page
    assert 'href="https://docs.example/tensors.html#torch.Tensor"' in page
    unit = project.units()["examples/one.py"]
    assert unit["about"] == {"apis": ["torch.Tensor"], "items": [3, 5]}


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (":items: 1", ":items: 9", "one.py:7: ERROR: verifies: no test item 9"),
        ("torch.Tensor", "torch.Tensr", "one.py:7: ERROR: verifies: there is no torch.Tensr"),
        ("torch.Tensor", "numpy.ndarray", "one.py:7: ERROR: verifies: numpy.ndarray is not a name"),
        (".. verifies::", ".. note::", "one.py:1: ERROR: this script has no `.. verifies::`"),
        ("   :apis: torch.Tensor\n", "", "one.py:7: ERROR: verifies: it needs the option :apis:"),
    ],
)
def test_wrong_claim_names_the_script(project: Project, old: str, new: str, place: str) -> None:
    project.script("one")
    path = project.root / "examples/one.py"
    path.write_text(path.read_text().replace(old, new))
    result = project.build()
    assert result.code != 0
    assert f"examples/{place}" in result.output


def test_item_table_lists_scripts_and_needs_all_items(project: Project) -> None:
    project.page("```{item-table}\n```\n")
    project.script("one", items="1, 2, 3, 4, 5, 6, 7")
    result = project.build()
    assert result.code != 0
    assert "docs/page.md: ERROR: no script verifies test item 8 (plain tensor)" in result.output
    project.script("two", items="8")
    result = project.build()
    assert result.code == 0, result.output
    page = project.read("html/page.html")
    assert 'href="gallery/two.html"' in page
    assert "(passed, software NPU)" in page


FORWARD_AD = "torch.autograd.forward_ad"


@pytest.mark.parametrize(
    "signature",
    [
        "function} torch.autograd.forward_ad.make_dual(tensor, tangent, *, level=None)",
        "function} torch.autograd.forward_ad.enter_dual_level()",
        "class} torch.autograd.forward_ad.dual_level()",
        "class} torch.autograd.forward_ad.UnpackedDualTensor"
        "(primal: torch.Tensor, tangent: torch.Tensor | None)",
        "function} torch.func.hessian"
        "(func: 'Callable[..., Any]', argnums: 'argnums_t' = 0) -> 'Callable[..., Any]'",
    ],
)
def test_true_signature_passes(project: Project, signature: str) -> None:
    project.page(f"```{{py:{signature}\n```\n")
    result = project.build()
    assert result.code == 0, result.output


@pytest.mark.parametrize(
    "signature",
    [
        "function} torch.autograd.forward_ad.make_dual(tensor, tangent, level=None)",
        "function} torch.autograd.forward_ad.make_dual(tensor, tangent, *, level=0)",
        "function} torch.autograd.forward_ad.make_dual",
        "function} torch.autograd.forward_ad.enter_dual_level() -> int",
        "method} torch.autograd.Function.jvp(ctx)",
    ],
)
def test_wrong_signature_shows_both(project: Project, signature: str) -> None:
    project.page(f"```{{py:{signature}\n```\n")
    result = project.build()
    assert result.code != 0
    assert "docs/page.md:3" in result.output
    assert "  torch: (" in result.output


def test_page_of_unknown_api_fails(project: Project) -> None:
    project.page("```{py:function} torch.autograd.forward_ad.enter_level()\n```\n")
    result = project.build()
    assert result.code != 0
    assert "there is no torch.autograd.forward_ad.enter_level" in result.output


def test_link_without_target_fails_and_listed_one_works(project: Project) -> None:
    project.page("{py:class}`torch.Tensor`\n")
    assert project.build().code == 0
    project.page("{py:class}`torch.Tensr`\n")
    result = project.build()
    assert result.code != 0
    assert "no page and no inventory has the name 'torch.Tensr'" in result.output


def test_malformed_inventory_is_an_error(project: Project) -> None:
    project.write("docs/inventory.txt", INVENTORY + "torch.no_role\n")
    project.page("{py:class}`torch.Tensor`\n")
    result = project.build()
    assert result.code != 0
    assert "inventory.txt" in result.output and "not enough values" in result.output


def test_a_name_of_torch_leads_to_its_own_page(project: Project) -> None:
    project.write(
        "docs/inventory.txt", f"{INVENTORY}torch.no_grad class generated/torch.no_grad.html\n"
    )
    project.page("{py:class}`torch.no_grad`\n")
    assert project.build().code == 0
    address = "https://docs.example/generated/torch.no_grad.html#torch.no_grad"
    assert f'href="{address}"' in project.read("html/page.html")


def test_formulas_need_no_script(project: Project) -> None:
    project.write("docs/page.rst", "Page\n====\n\n:math:`x^2`\n\n.. math:: \\frac{a}{b}\n")
    assert project.build().code == 0
    page = project.read("html/page.html")
    assert page.count("<math") == 2
    assert "http" not in page.split("<body>")[0].replace("http://www.w3.org", "")


def test_formula_that_cannot_be_drawn_is_named(project: Project) -> None:
    project.write("docs/page.rst", "Page\n====\n\n:math:`\\nosuch{x}`\n")
    result = project.build()
    assert result.code != 0
    assert "docs/page.rst:4: ERROR: formula: Unknown LaTeX command" in result.output


def test_a_script_that_asserts_nothing_fails(project: Project) -> None:
    project.script("a", "x = 1", last="")
    result = project.build()
    assert result.code != 0
    assert "examples/a.py:1: ERROR: this script asserts nothing" in result.output
    project.script(
        "a", "import torch\ntorch.testing.assert_close(torch.ones(1), torch.Tensor([1]))", last=""
    )
    assert project.build().code == 0


def test_a_script_that_ends_the_process_is_red(project: Project) -> None:
    project.script("a", "assert True\nraise SystemExit(0)", last="")
    result = project.build()
    assert result.code != 0
    assert "examples/a.py:13: ERROR: " in result.output and "SystemExit: 0" in result.output
