"""The check of translations: what is missing, stale or broken is named with its place."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from npudocs.site import words
from tools.translations import extract, markup, terms
from tools.translations.__main__ import check, main, prepare, read, write

PAGE = "docs/api/x.md"
TERMS = """\
english\tchinese\tstrict\tsource
dual tensor\t对偶张量\tyes\there
level\t层级|级别\tno\there
"""
Texts = dict[str, str | None]


def run(root: Path, texts: Texts, *, extra: Texts | None = None, name: str = "api") -> list[str]:
    """Check a catalog: texts of the page with their translation, and what is in the catalog alone."""
    template, made = Catalog(), Catalog(locale="zh_CN")
    for number, (text, translation) in enumerate(texts.items(), 1):
        template.add(text, locations=[(PAGE, number)])
        if translation is not None:
            made.add(text, translation, flags=["fuzzy"] if translation.startswith("?") else [])
    for text, translation in (extra or {}).items():
        made.add(text, translation)
    write(root / f"build/gettext/{name}.pot", template)
    write(root / f"locales/zh_CN/LC_MESSAGES/{name}.po", made)
    (root / "locales/zh_CN/terms.tsv").write_text(TERMS, encoding="utf-8")
    return check("zh_CN", root / "build/gettext", root / "locales")[0]


def test_complete_translations_are_fine(tmp_path: Path) -> None:
    found = run(
        tmp_path, {"Make a dual tensor.": "创建对偶张量。", "`x`": None, "torch.func.jvp": None}
    )
    assert found == []


def test_code_alone_is_not_translated_into_other_code(tmp_path: Path) -> None:
    lacks, has = run(tmp_path, {"`x`": "`xx`", "`y`": "`y`", "torch.func.jvp": ""})
    assert lacks.endswith("lacks `x`: '`x`'") and "has `xx`" in has


@pytest.mark.parametrize("translation", [None, ""])
def test_an_untranslated_text_is_named(tmp_path: Path, translation: str | None) -> None:
    found = run(tmp_path, {"One.": "一。", "Two words.": translation})
    assert found == [f"{PAGE}:2: untranslated: 'Two words.'"]


def test_a_fuzzy_translation_is_none(tmp_path: Path) -> None:
    (problem,) = run(tmp_path, {"One.": "?一。"})
    assert problem.startswith("locales/zh_CN/LC_MESSAGES/api.po:") and "(fuzzy)" in problem
    assert f"see {PAGE}:1: 'One.'" in problem


def test_a_stale_translation_is_named(tmp_path: Path) -> None:
    found = run(tmp_path, {"One.": "一。"}, extra={"Gone.": "没有了。"})
    (problem,) = found
    assert "stale: no page has this any more" in problem and problem.endswith("'Gone.'")


def test_a_catalog_without_a_page_is_named(tmp_path: Path) -> None:
    write(tmp_path / "locales/zh_CN/LC_MESSAGES/gone.po", Catalog(locale="zh_CN"))
    (problem,) = run(tmp_path, {"One.": "一。"})
    assert (
        problem == "locales/zh_CN/LC_MESSAGES/gone.po: there is no page for this catalog: remove it"
    )


@pytest.mark.parametrize(
    ("kind", "text", "translation", "says"),
    [
        ("md", "Use `a` twice: `a`.", "两次使用 `a`。", "lacks `a`"),
        ("md", "See [](b.md#c).", "见 [](b.md)。", "lacks link to b.md#c"),
        ("md", "See {py:func}`~torch.x`.", "见 {py:func}`~torch.y`。", "to ~torch.x"),
        ("md", "A {term}`tangent`.", "切线。", "lacks the role term"),
        ("md", "As $x^2$.", "如 $x^3$。", "lacks $x^2$"),
        ("md", "A **b** c.", "甲**「乙」**丙。", "shows ** as text"),
        ("md", "Plain.", "`多`了。", "has `多`, which the original has not"),
        ("rst", "See :doc:`/a` and ``b``.", "见 :doc:`/a`。", "lacks ``b``"),
        ("rst", "`A <https://x.org>`_", "`甲 <https://y.org>`_", "lacks link to https://x.org"),
        ("words", "{number} checks", "{count} 项检查", "lacks {number}"),
    ],
)
def test_what_carries_meaning_is_kept(kind: str, text: str, translation: str, says: str) -> None:
    assert says in "; ".join(markup.differences(text, translation, kind))


@pytest.mark.parametrize(
    ("kind", "text", "translation"),
    [
        (
            "md",
            "A {term}`tangent` in `x`, see [here](y.md).",
            "`x` 中的{term}`切线`，见[此处](y.md)。",
        ),
        ("md", "An *emphasis*.", "强调。"),
        ("rst", "See :py:func:`jvp <torch.func.jvp>`.", "见:py:func:`该函数 <torch.func.jvp>`。"),
        ("words", "{a} of {b}", "{b} 中的 {a}"),
    ],
)
def test_order_and_words_are_free(kind: str, text: str, translation: str) -> None:
    assert markup.differences(text, translation, kind) == []


def test_a_strict_term_has_its_translation(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        {
            "Two dual tensors at a level.": "两个双张量。",
            "`dual tensor` is code.": "`dual tensor` 是代码。",
        },
    )
    (problem,) = found
    assert "the term 'dual tensor' is 对偶张量 in terms.tsv" in problem


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a\tb\tmaybe\tc", "terms.tsv:2: needs 4 fields"),
        ("a\tb\tyes", "terms.tsv:2: needs 4 fields"),
        ("a|b\tc\tyes\td\nB\tc\tno\td", "terms.tsv:3: b stands here twice"),
    ],
)
def test_a_malformed_term_list_is_refused(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"{TERMS.splitlines()[0]}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        terms.load(path)


def test_the_project_term_list_is_sound() -> None:
    listed = terms.load(words.LOCALES / "zh_CN" / terms.NAME)
    assert len(listed) > 60 and any(term.strict for term in listed)


def test_own_words_come_from_code_templates_and_data(tmp_path: Path) -> None:
    made = tmp_path / "npudocs.pot"
    root = words.LOCALES.parent
    (recipe,) = re.findall(
        r"-m babel[^\n]*\\\n[^\n]*", (root / "Makefile").read_text(encoding="utf-8")
    )
    command = shlex.split(
        recipe.replace("\\\n", "").replace("build/gettext/npudocs.pot", str(made))
    )
    subprocess.run([sys.executable, *command], cwd=root, check=True)
    found = {one for message in read(made) for one in _forms(message.id)}
    assert {
        "Executed on {device}. Code blocks: {counts}.",  # code
        "tangent lost",  # the key of a dictionary
        "forms and dtypes",  # a template of a part
        "{number} operators",  # the other form of a number
        "all dtypes",  # a script
        "Page not found",  # a template of a page
        "level creation",  # data
    } <= found


def _forms(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def test_a_constant_that_is_gone_is_an_error() -> None:
    file = io.BytesIO(b"OTHER = ('a b',)\n")
    file.name = "marks.py"
    with pytest.raises(LookupError, match="marks.py defines no KINDS, which babel.cfg names"):
        list(extract.constants(file, {}, [], {"names": "KINDS"}))


def test_a_number_has_one_form_in_chinese(tmp_path: Path) -> None:
    template, made = Catalog(), Catalog(locale="zh_CN")
    template.add(("{number} test", "{number} tests"), locations=[("npudocs/x.py", 1)])
    made.add(("{number} test", "{number} tests"), ("{count} 项测试",))
    write(tmp_path / "pot/api.pot", template)
    write(tmp_path / "locales/zh_CN/LC_MESSAGES/api.po", made)
    found = check("zh_CN", tmp_path / "pot", tmp_path / "locales")[0]
    assert len(found) == 2 and found[0].endswith("lacks {number}: '{number} tests'")


def test_a_gallery_text_is_placed_in_its_script(tmp_path: Path) -> None:
    template = Catalog()
    template.add("Some words that go on.", locations=[("../../docs/gallery/a.rst", 7)])
    # What differs from run to run is in no catalog, nor are pictures with the title of their page.
    template.add("**Total running time of the script:** (0 minutes 0.1 seconds)")
    template.add(":doc:`/gallery/a`", locations=[("../../docs/api/x.md", 7)])
    write(tmp_path / "pot/gallery.pot", template)
    prepare(tmp_path / "pot")
    (tmp_path / "locales").mkdir()
    (problem,) = check("zh_CN", tmp_path / "pot", tmp_path / "locales")[0]
    assert problem == "examples/a.py: untranslated: 'Some words that go on.'"


def test_update_makes_catalogs_that_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = Catalog()
    template.add("Words.", locations=[("docs/gallery/a.rst", 2)])
    write(tmp_path / "build/gettext/gallery.pot", template)
    makefile = (words.LOCALES.parent / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"-m sphinx_intl .*", makefile)
    command = re.sub(r"\$\(addprefix .*\)", "-l zh_CN", recipe)
    subprocess.run([sys.executable, *shlex.split(command)], cwd=tmp_path, check=True)
    assert read(tmp_path / "locales/zh_CN/LC_MESSAGES/gallery.po").get("Words.").string == ""
    folders = ["--templates", f"{tmp_path}/build/gettext", "--locales", f"{tmp_path}/locales"]
    assert main(["prepare", *folders]) == 0
    assert main(["check", *folders]) == 1
    captured = capsys.readouterr()
    assert "untranslated: 'Words.'" in captured.err and "1 problems" in captured.out


def test_without_templates_it_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--templates", str(tmp_path)])
