"""What a reader does on the site, and what every kind of page owes each reader.

Run by ``make browser``, on the site in ``build/html`` or in ``NPUDOCS_SITE``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from conftest import SITE, new_page

Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe

# One page of each kind; a name with a star is the first that there is.
KINDS = {
    "front": "index.html",
    "learn": "learn/tangents.html",
    "api": "api/unpack_dual.html",
    "api-index": "api/index.html",
    "errors": "errors.html",
    "glossary": "glossary.html",
    "gallery": "gallery/index.html",
    "example": "gallery/11_*.html",
    "operators": "operators/index.html",
    "family": "operators/families/torch-t-z.html",
    "deviations": "deviations/index.html",
    "evidence": "evidence/index.html",
    "checks": "evidence/checks.html",
    "contribute": "contribute.html",
    "search": "search.html?q=tangent",
    "index": "genindex.html",
    "404": "404.html",
}
CHINESE = {f"zh-{kind}": f"zh/{KINDS[kind]}" for kind in ("front", "api", "operators", "evidence")}
# A page may be so wide, and no wider, on a phone of 390 pixels.
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
WIDTH = "document.documentElement.scrollWidth"
LOUD = ("error", "warning")
# Axe needs a minute for a page of 500 rows: rows and parts that are built and styled alike are looked at once.
ALIKE = """() => {
  const named = (one) => Boolean(one.textContent.trim() || one.ariaLabel || one.alt || one.title);
  const look = (one) => [one.tagName, one.className, one.dataset.s, one.hidden, named(one)].join();
  for (const list of document.querySelectorAll("article :is(tbody, ul, dl, section, pre)")) {
    const seen = new Set();
    for (const item of [...list.children]) {
      const looks = [item, ...item.querySelectorAll("*")].map(look).filter((one) => !seen.has(one));
      if (!looks.length) item.remove();
      looks.forEach((one) => seen.add(one));
    }
  }
}"""


def address(name: str) -> str:
    """The address of a page of this kind; skips where the site has none."""
    path, _, query = name.partition("?")
    if path.startswith("zh/"):
        chinese()
    found = sorted(SITE.glob(path))
    if not found:
        pytest.skip(f"the site has no page {path}")
    return f"/{found[0].relative_to(SITE).as_posix()}{f'?{query}' * bool(query)}"


def chinese() -> None:
    """Skip where the Chinese site was not built."""
    if not (SITE / "zh" / "index.html").is_file():
        pytest.skip("the Chinese site is not built")


@dataclass
class Opened:
    """A page of one kind, and what happened while it was opened."""

    page: Any
    told: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def visit(self, path: str) -> None:
        """Open the page and write down what goes wrong and what is asked for."""
        page, told = self.page, self.told
        page.on("console", lambda m: told.append(m.text) if m.type in LOUD else None)
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("requestfailed", lambda request: told.append(f"failed: {request.url}"))
        page.on("response", lambda r: told.append(f"{r.status}: {r.url}") if not r.ok else None)
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(path, wait_until="load")
        # The theme makes what scrolls reachable by keyboard a moment after loading.
        page.wait_for_timeout(400)
        if "search.html" in path:
            page.locator("ul.search li").first.wait_for()


# --- every kind of page: opened once, the tests of a kind follow each other


@pytest.fixture(scope="module", params=[*KINDS, *CHINESE])
def opened(request: pytest.FixtureRequest, chromium: Any, site: str) -> Iterator[Opened]:
    """A page of each kind."""
    path = address((KINDS | CHINESE)[request.param])
    one = Opened(new_page(chromium, site))
    one.visit(path)
    yield one
    one.page.context.close()


def test_a_page_opens_without_errors(opened: Opened) -> None:
    assert opened.told == []


def test_a_page_asks_no_other_host(opened: Opened, site: str) -> None:
    assert [url for url in opened.asked if not url.startswith((f"{site}/", "data:"))] == []


def test_a_page_fits_a_phone(opened: Opened) -> None:
    opened.page.set_viewport_size(PHONE)
    assert opened.page.evaluate(WIDTH) <= PHONE["width"]
    opened.page.set_viewport_size(DESK)


def test_axe_finds_nothing_severe(opened: Opened) -> None:
    axe, options = Axe(), {"resultTypes": ["violations"]}
    opened.page.evaluate(ALIKE)
    found = severe(axe.run(opened.page, options=options))
    # In the dark only colors are other ones.
    opened.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    colors = options | {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    found += [f"dark: {text}" for text in severe(axe.run(opened.page, options=colors))]
    assert found == []


def severe(results: Any) -> list[str]:
    """What axe calls serious or critical, in words."""
    return [
        f"{rule['id']}, {len(rule['nodes'])} places, such as {rule['nodes'][0]['html'][:200]}: "
        f"{rule['nodes'][0]['failureSummary']}"
        for rule in results.response["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


# --- ways through the site


@pytest.fixture
def visit(page: Any) -> Callable[[str], None]:
    """Open a page of a kind in a new page."""
    return lambda kind: page.goto(address((KINDS | CHINESE)[kind]), wait_until="load")


@pytest.mark.parametrize(
    ("card", "target"),
    [("Learn", "learn/index"), ("Look up", "api/index"), ("Contribute", "contribute")],
)
def test_the_front_page_leads_on(
    page: Any, visit: Callable[[str], None], card: str, target: str
) -> None:
    visit("front")
    page.locator(".sd-card", has_text=card).first.click()
    page.wait_for_url(f"**/{target}.html")


def test_a_page_has_its_neighbors_section_and_parts(
    page: Any, visit: Callable[[str], None]
) -> None:
    visit("api")
    assert page.locator(".bd-sidebar-primary a", has_text="make_dual").first.is_visible()
    page.locator("#pst-page-toc-nav a", has_text="Errors").click()
    page.wait_for_url("**#errors")
    page.locator(".prev-next-area a.left-prev").click()
    page.wait_for_url(lambda url: "unpack_dual" not in url)
    page.locator(".prev-next-area a.right-next").click()
    page.wait_for_url("**/api/unpack_dual.html")


def test_the_menu_of_a_phone_leads_on(page: Any, visit: Callable[[str], None]) -> None:
    page.set_viewport_size(PHONE)
    visit("front")
    page.locator("button.primary-toggle").click()
    page.locator("#pst-primary-sidebar-modal a", has_text="API").first.click()
    page.wait_for_url("**/api/index.html")


def test_search(page: Any, visit: Callable[[str], None]) -> None:
    visit("front")
    page.locator(".search-button__button:visible").first.click()
    page.keyboard.type("unpack_dual")
    page.keyboard.press("Enter")
    page.locator("ul.search li a", has_text="unpack_dual").first.wait_for()


def test_search_in_chinese(page: Any) -> None:
    chinese()
    page.goto("/zh/search.html?q=张量")
    page.locator("ul.search li a").first.wait_for()


def test_an_address_without_a_page(page: Any, site: str) -> None:
    answer = page.goto("/no/such/page.html")
    assert answer.status == 404
    assert page.locator("h1").inner_text() == "Page not found"
    # Its style and its links hold at any depth.
    assert "sans-serif" in page.evaluate("getComputedStyle(document.body).fontFamily")
    page.locator("article a").first.click()
    page.wait_for_url(lambda url: url in (f"{site}/index.html", f"{site}/"))


def test_opens_from_a_folder(page: Any) -> None:
    told: list[str] = []
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("console", lambda m: told.append(m.text) if m.type == "error" else None)
    page.goto((SITE / "api" / "unpack_dual.html").as_uri())
    assert page.locator(".npudocs-version:visible").first.inner_text()
    assert told == []


# --- switches


def test_the_color_mode_is_switched_and_kept(page: Any, visit: Callable[[str], None]) -> None:
    visit("front")
    theme = "document.documentElement.dataset.theme"
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(theme) == "light"
    light = page.evaluate(background)
    page.locator(".theme-switch-button:visible").click()
    page.locator("[data-mode=dark].theme-change-button:visible").click()
    visit("api")
    assert page.evaluate(theme) == "dark"
    assert page.evaluate(background) != light


def test_the_language_switch_keeps_the_page(page: Any, visit: Callable[[str], None]) -> None:
    chinese()
    visit("api")
    page.locator("a.npudocs-language:visible").click()
    page.wait_for_url("**/zh/api/unpack_dual.html")
    assert page.evaluate("document.documentElement.lang").startswith("zh")
    page.locator("a.npudocs-language:visible").click()
    page.wait_for_url(lambda url: url.endswith("/api/unpack_dual.html") and "/zh/" not in url)


def test_the_version_switch_keeps_the_page(page: Any, visit: Callable[[str], None]) -> None:
    listed = [{"name": "1.0", "path": "./"}, {"name": "2.0", "path": "../2.0/"}]
    page.route("**/versions.json", lambda route: route.fulfill(body=json.dumps(listed)))
    page.route("**/2.0/**", lambda route: route.fulfill(content_type="text/html", body="<p>2</p>"))
    visit("api")
    page.locator(".npudocs-version select:visible").select_option(label="2.0")
    page.wait_for_url("**/2.0/api/unpack_dual.html")


# --- parts of pages


def test_code_is_copied_without_prompts(page: Any, visit: Callable[[str], None]) -> None:
    visit("front")
    page.locator("div.highlight").first.hover()
    page.locator("button.copybtn").first.click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.length > 0)")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("import torch\n") and ">>>" not in copied


def test_the_operator_table_is_filtered(page: Any, visit: Callable[[str], None]) -> None:
    visit("operators")
    rows = page.locator("#operator-table tbody tr:visible")
    before = rows.count()
    page.locator("#operator-table input[name=search]").fill("conv")
    names = rows.locator("th").all_inner_texts()
    assert 0 < len(names) < before and all("conv" in name for name in names)
    told = page.locator("#operator-table [aria-live]").inner_text()
    assert re.match(rf"{len(names)}\D", told)
    # The view has an address of its own.
    assert "search=conv" in page.url
    page.reload()
    page.wait_for_function(
        "count => document.querySelectorAll('#operator-table tbody tr:not([hidden])').length === count",
        arg=len(names),
    )


def test_heads_of_a_long_table_stay_in_sight(page: Any, visit: Callable[[str], None]) -> None:
    page.set_viewport_size(PHONE)
    visit("operators")
    area = page.locator("#operator-table .npudocs-scroll")
    area.evaluate("area => area.scrollTo(200, 3000)")
    distance = "area => area.querySelector('thead th').getBoundingClientRect().top - area.getBoundingClientRect().top"
    assert 0 <= area.evaluate(distance) < 5
    assert area.evaluate("area => area.scrollTop") > 1000


def test_a_wide_table_scrolls_by_itself_on_a_phone(page: Any, visit: Callable[[str], None]) -> None:
    page.set_viewport_size(PHONE)
    visit("evidence")
    wide = page.evaluate(
        "[...document.querySelectorAll('.pst-scrollable-table-container')]"
        ".filter((area) => area.scrollWidth > area.clientWidth).length"
    )
    assert wide > 0
