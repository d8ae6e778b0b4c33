"""The translation of a site: other words, the same results, and a search that finds Chinese."""

from __future__ import annotations

import json
import shutil
import subprocess
from urllib.parse import quote

import pytest
from evidencefiles import API, claims
from sphinx.cmd.build import build_main
from tinyproject import OFF, Project, Result

from npudocs.site import signatures, verifies, words

CONF = '\nlocale_dirs = ["../locales"]\n'
PAGE = """
A dual tensor has a *tangent* in `level` 0.

```{doctest}
>>> 1 + 1
2
```
"""
TRANSLATED = "前向模式中，对偶张量在 `level` 0 有*切线*。"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--virtual-time-budget=8000", "--dump-dom"),
)
TERMS = "english\tchinese\tstrict\tsource\ndual tensor\t对偶张量\tyes\there\nforward mode\t前向模式\tyes\there\n"


def po(**messages: str) -> str:
    """A catalog; names cannot be messages, so that it takes pairs under any name."""
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n'
    pairs = [pair.split(" = ", 1) for pair in messages.values()]
    return head + "".join(
        f"\nmsgid {json.dumps(one, ensure_ascii=False)}\nmsgstr {json.dumps(other, ensure_ascii=False)}\n"
        for one, other in pairs
    )


@pytest.fixture
def site(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a page, a script and Chinese catalogs."""
    conf = project.root / "conf.py"
    project.write("conf.py", conf.read_text(encoding="utf-8") + CONF)
    project.page(PAGE)
    project.script(
        "one", f"with open({str(project.root / 'build/ran')!r}, 'a') as file:\n    file.write('x')"
    )
    catalogs = "locales/zh_CN/LC_MESSAGES"
    page = po(
        text=f"A dual tensor has a *tangent* in `level` 0. = {TRANSLATED}", title="Page = 页面"
    )
    project.write(f"{catalogs}/page.po", page)
    project.write(
        f"{catalogs}/gallery.po", po(title="one = 其一", text="Text of the script. = 脚本的文字。")
    )
    own = po(
        ran="Executed on {device}. Code blocks: {counts}. = 已在{device}上执行。代码块：{counts}。",
        passed="passed = 通过",
        label="software NPU = 软件NPU",
        box="This example verifies = 本示例验证",
        name="level creation = 创建层级",
        time="Total running time of the script: = 脚本总运行时间：",
    )
    project.write(f"{catalogs}/npudocs.po", own)
    project.write("locales/zh_CN/terms.tsv", TERMS)
    # Read when the first build of a process loads the search.
    shutil.copy(words.LOCALES / "zh_CN" / "split.js", project.root / "locales" / "zh_CN")
    monkeypatch.setattr(words, "LOCALES", project.root / "locales")
    return project


def translate(site: Project) -> Result:
    """Build the Chinese site as the Makefile does."""
    site.capfd.readouterr()
    root = site.root
    flags = ["-n", "-W", "--keep-going", "-c", str(root), "-D", "language=zh_CN"]
    try:
        code = build_main(
            [*flags, "-d", str(root / "build/trees"), str(root / "docs"), str(root / "build/zh")]
        )
    except SystemExit as stop:
        print(stop.code)
        code = 1
    captured = site.capfd.readouterr()
    return Result(code, captured.out + captured.err)


@pytest.fixture
def both(site: Project) -> Project:
    """The project with both sites built."""
    for builder in ("doctest", "html"):
        result = site.build(builder)
        assert result.code == 0, result.output
    site.results = site.read("executed.json")
    result = translate(site)
    assert result.code == 0, result.output
    return site


def test_a_translation_has_the_words_and_the_results(both: Project) -> None:
    page = both.read("zh/page.html")
    assert "对偶张量在" in page and "<em>切线</em>" in page and ">level</span>" in page
    assert (
        "<strong>软件NPU</strong> 已在softnpu, the software NPU" in page
        and "代码块：1 通过。" in page
    )
    assert ">&gt;&gt;&gt; </span>" in page
    script = both.read("zh/gallery/one.html")
    assert "<strong>脚本总运行时间：</strong> (0 minutes" in script
    assert "本示例验证" in script and "创建层级" in script and "脚本的文字。" in script
    assert 'thumbnail-title">其一<' in both.read("zh/gallery/index.html")
    assert 'tooltip="脚本的文字。"' in both.read("zh/gallery/index.html")
    english = both.read("html/page.html")
    assert "has a <em>tangent</em>" in english and "Code blocks: 1 passed." in english


def test_a_translation_executes_nothing(both: Project) -> None:
    assert (both.root / "build/ran").read_text() == "x"
    assert both.read("executed.json") == both.results
    assert not (both.root / "build/zh/data").exists()
    # And the English site is as it was: nothing is executed or read again.
    assert both.build().code == 0
    assert (both.root / "build/ran").read_text() == "x"


def test_a_translation_asks_torch_nothing(site: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """To import torch takes a quarter of the time of a translation."""
    shown = f"```{{py:function}} {API}(tensor, tangent, *, level=None)\n```\n"
    site.page(f"{PAGE}\n{shown}\n```{{contradictions}}\n```\n")
    claims(site, "page", {"words": "`input`仅支持fp32"})
    result = site.build()
    assert result.code == 0, result.output

    def resolve(name: str) -> None:
        raise AssertionError(f"asked for {name}")

    monkeypatch.setattr(signatures, "resolve", resolve)
    monkeypatch.setattr(verifies, "resolve", resolve)
    result = translate(site)
    assert result.code == 0, result.output
    assert "<code" in site.read("zh/page.html").partition("<table")[2]


def test_a_translation_needs_the_english_site(site: Project) -> None:
    result = translate(site)
    assert result.code == 1
    assert (
        "a translation shows the results of the English site, and there are none" in result.output
    )
    assert not (site.root / "build/ran").exists()


def test_a_translation_of_another_device_is_refused(both: Project) -> None:
    both.device(OFF)
    conf = both.root / "conf.py"
    both.write("conf.py", conf.read_text(encoding="utf-8") + CONF)
    assert "none of this device" in translate(both).output


def test_english_has_the_words_of_the_code(site: Project) -> None:
    assert words.load("en") == {} and words.say("passed") == "passed"
    assert words.load("zh_CN", words.LOCALES)["passed"] == "通过"
    assert words.say_number("{number} case", "{number} cases", 2) == "{number} cases"
    words.load("en")


def test_the_search_finds_chinese(both: Project) -> None:
    index = (both.root / "build/zh/searchindex.js").read_text(encoding="utf-8")
    for word in ("切线", "张量", "对偶张量", "前向模式"):
        assert f'"{word}"' in index or f'"{word.encode("unicode_escape").decode()}"' in index, word
    browser = next(filter(None, map(shutil.which, BROWSERS)), "")
    if not browser:
        pytest.skip("there is no Chromium here")
    search = (both.root / "build/zh/search.html").as_uri()
    for query in ("切线", "张量", "对偶张量", "前向模式", "对偶张量的切线", "nothing"):
        command = [browser, *FLAGS, f"--user-data-dir={both.root}", f"{search}?q={quote(query)}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        found = done.stdout.partition('id="search-results"')[2]
        assert ('href="page.html' in found) == (query != "nothing"), (query, found, done.stderr)
