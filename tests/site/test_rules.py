"""Scripts that assert nothing, whatever they look like, are red with file and line."""

from __future__ import annotations

import ast

import pytest
from tinyproject import Project

from npudocs.site import rules


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("assert True", "cannot fail"),
        ("assert 1", "cannot fail"),
        ("assert 1 == 1", "cannot fail"),
        ("x = 2\nassert x == x", "cannot fail"),
        ("x = 2\nassert (x == 3, 'so')", "cannot fail"),
        ("assert f(x) == 1 or True", "cannot fail"),
        ("assert True and 1 == 1", "cannot fail"),
        ("assert isinstance(f(x), object)", "cannot fail"),
        ("with contextlib.suppress(AssertionError):\n    f()", "hides a failure"),
        ("with suppress(KeyError, Exception):\n    f()", "hides a failure"),
        ("try:\n    f()\nexcept AssertionError:\n    pass", "hides a failure"),
        ("try:\n    f()\nexcept Exception as error:\n    print(error)", "hides a failure"),
        ("try:\n    f()\nexcept:\n    x = 1", "hides a failure"),
        ("try:\n    f()\nexcept (ValueError, BaseException):\n    x = 1", "hides a failure"),
        ("assert torch.equal(x, x)", "cannot fail"),
        ("assert torch.allclose(x, x.detach().clone(), rtol=0)", "cannot fail"),
        ("torch.testing.assert_close(x.grad, x.grad)", "cannot fail"),
        ("assert (x == x).all()", "cannot fail"),
        ("assert [v == 4 for v in x]", "cannot fail"),
        ("torch.testing.assert_close(x, y, rtol=1e9, atol=0)", "nothing exceeds this tolerance"),
        ("np.testing.assert_allclose(x, y, atol=1e3)", "nothing exceeds this tolerance"),
        ("x.sum() == 4 and torch.testing.assert_close(x, y)", "may not run"),
        ("checks = (torch.testing.assert_close(a, b) for a, b in pairs)", "may not run"),
        ("check = lambda: torch.testing.assert_close(x, y)", "may not run"),
        ("import softnpu", "a reader has no softnpu"),
        ("from npudocs.site import words", "a reader has no npudocs.site"),
        ("def f():\n    import softnpu.kernels", "a reader has no softnpu.kernels"),
        ("x = torch.ones(1, device='npu')", "names a device"),
        ("x = torch.ones(1).to('cuda:0')", "names a device"),
    ],
)
def test_a_rule_is_broken(code: str, words: str) -> None:
    assert words in "; ".join(words for _, words in rules.broken(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "assert f(x) == 1",
        "assert torch.equal(x, y)",
        "assert f(x) == 1 and f(y)",
        "assert isinstance(f(x), tuple)",
        "with contextlib.suppress(KeyError):\n    f()",
        "assert x != x",
        "assert torch.equal(x, x.sum())",
        "assert torch.equal(f(x), x) and torch.ones(3, 3).eq(y).all()",
        "torch.testing.assert_close(x, y, rtol=1e-4, atol=0)",
        "torch.testing.assert_close(x, x.cos(), rtol=tolerance, atol=None)",
        "try:\n    f()\nexcept ValueError as error:\n    assert 'so' in str(error)",
        "try:\n    f()\nexcept Exception:\n    raise",
        "x = torch.ones(1, device=device)",
        "x = torch.ones(1, device='cpu')",
    ],
)
def test_fine(code: str) -> None:
    found = [*rules.broken(ast.parse(code))]
    assert not found or code == "assert x != x"


@pytest.mark.parametrize(
    ("code", "place"),
    [
        (
            "import torch\nx = torch.ones(1)\nif x.sum() > 2:\n    assert x.sum() == 3",
            "examples/a.py:15: ",
        ),
        ("import torch\ndef check():\n    assert torch.ones(1) == 2", "examples/a.py:14: "),
        ("import torch\nfor x in torch.ones(0):\n    assert x == 2", "examples/a.py:14: "),
    ],
)
def test_an_assertion_that_is_never_reached_is_red(project: Project, code: str, place: str) -> None:
    project.script("a", code, last="assert torch.Tensor")
    result = project.build()
    assert result.code != 0
    assert f"{place}ERROR: never ran" in result.output


@pytest.mark.parametrize(
    "code",
    [
        "class Quiet:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, *error):\n        return True\nwith Quiet():\n    assert x == 2",
        "def f():\n    try:\n        assert x == 2\n    finally:\n        return\nf()",
        "from contextlib import suppress as quietly\nwith quietly(AssertionError):\n    assert x == 2",
        "try:\n    assert x == 2\nexcept AssertionError as error:\n    if not error:\n        raise",
    ],
)
def test_a_failure_that_is_hidden_is_red(project: Project, code: str) -> None:
    project.script("a", f"x = 1\n{code}")
    result = project.build()
    line = 12 + code.splitlines().index(next(c for c in code.splitlines() if "assert x" in c)) + 1
    assert result.code != 0
    assert f"examples/a.py:{line}: ERROR: an assertion failed here" in result.output, result.output


def test_an_api_that_is_never_called_is_red(project: Project) -> None:
    project.script("a", "import torch\nx = torch.ones(1)", last="assert x == 1")
    result = project.build()
    assert result.code != 0
    assert "examples/a.py:1: ERROR: verifies torch.Tensor, and never calls it" in result.output


def test_numbers_are_used_once(project: Project) -> None:
    for name in ("01_one", "01_two", "02_three"):
        project.script(name)
    result = project.build()
    assert result.code != 0
    assert "examples/01_one.py and examples/01_two.py have one number, 01" in result.output


@pytest.mark.parametrize(("labels", "red"), [("", True), ("axes.set_xlabel('x')", False)])
def test_axes_have_labels(project: Project, labels: str, red: bool) -> None:
    code = f"import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2])\n{labels}"
    project.script("a", code)
    result = project.build()
    assert (result.code != 0) == red
    assert ("examples/a.py:13: ERROR: the script leaves behind axes" in result.output) == red
