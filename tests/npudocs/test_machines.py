"""What programs read: the inventory, the support tables as JSON, badges and llms.txt."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from io import BytesIO
from pathlib import Path

import jsonschema
import pytest
from evidencefiles import API, claims, entry, record
from sphinx.util.inventory import InventoryFile
from tinyproject import Project

from npudocs import evidence
from npudocs.site import badges, support_data

PAGE = f"""
What it is about.

```{{py:function}} torch.autograd.forward_ad.unpack_dual(tensor, *, level=None)
```

```{{support}} {API}
```
"""


@pytest.fixture
def site(project: Project) -> Project:
    """A project with a support table, a gallery script and the page for machines."""
    project.script("one")
    project.page(PAGE)
    machines = "---\norphan: true\n---\n# M\n\n```{machine-files}\n```\n\n```{badges}\n```\n"
    project.write("docs/evidence/machines.md", machines)
    return project


def build(site: Project) -> None:
    """Build the site, which has to go well."""
    result = site.build()
    assert result.code == 0, result.output


def badge(site: Project) -> str:
    """Build, and return the words of the badge of the API."""
    build(site)
    drawn = site.read(f"html/badges/{API}.svg")
    ET.fromstring(drawn)
    return re.search("<title>(.*)</title>", drawn)[1]


def test_the_inventory_has_the_functions(site: Project) -> None:
    build(site)
    data = (site.root / "build/html/objects.inv").read_bytes()
    found = InventoryFile.load(BytesIO(data), "", lambda base, uri: uri)
    name = "torch.autograd.forward_ad.unpack_dual"
    item = found["py:function"][name]
    # Sphinx 8.2 has an object, 8.1 a tuple.
    assert (item.uri if hasattr(item, "uri") else item[2]) == f"page.html#{name}"


def test_the_support_tables_as_json(site: Project) -> None:
    record(site, entry(site), entry(site, dtype="float16", outcome="failed"))
    record(site, entry(site), kind="silicon", product="A3")
    claims(site, "page", {"dtypes": ["float32"]})
    build(site)
    content = site.json("html/data/support.json")
    schema = site.json("html/data/support.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(content, schema)
    (api,) = content["apis"]
    assert (api["api"], api["page"]) == (API, "page.html")
    cells = {(c["version"], c["product"], c["dtype"]): c for c in api["cells"]}
    (mark,) = cells["2.13.0", "A2", "float16"]["records"]
    assert (mark["kind"], mark["outcome"], mark["counts"]) == ("software", "failed", {"failed": 1})
    (chip,) = cells["2.13.0", "A3", "float32"]["records"]
    assert chip["kind"] == "silicon"
    (claim,) = cells["2.13.0", "A2", "float32"]["claims"]
    assert (claim["says"], claim["source"]) == ("supported", "page")
    # Unknown is absent.
    assert ("2.13.0", "950DT", "float32") not in cells
    pages = {made["name"]: made["page"] for made in content["records"]}
    for name in (mark["record"], chip["record"]):
        assert (site.root / "build/html" / pages[name]).is_file()
    assert content["items"][2]["cells"][0]["records"]


def test_a_badge_of_software_is_no_chip(site: Project) -> None:
    assert badge(site) == "forward AD on Ascend: not recorded"
    record(site, entry(site))
    record(site, entry(site), product="A3")
    assert badge(site) == "software NPU: passed 2.13.0 A2, A3"
    software = site.read(f"html/badges/{API}.svg")
    assert badges.SOFTWARE in software and "stroke-dasharray" in software
    assert not re.search("[✔✓]", software) and badges.COLORS["passed"] not in software
    record(site, entry(site), kind="silicon", version="2.12.0")
    # An older release on a chip says more than a newer one in software.
    assert badge(site) == "Ascend chip: passed 2.12.0 A2"
    chip = site.read(f"html/badges/{API}.svg")
    assert badges.COLORS["passed"] in chip and badges.SOFTWARE not in chip and "dash" not in chip


def test_a_badge_counts_what_failed(site: Project) -> None:
    record(site, entry(site), entry(site, dtype="float16", outcome="failed"))
    assert badge(site) == "software NPU: 1 of 2 passed 2.13.0 A2"
    record(site, entry(site, outcome="crashed"))
    assert badge(site) == "software NPU: failed 2.13.0 A2"


def test_a_claim_makes_no_badge(site: Project) -> None:
    claims(site, "page", {})
    assert badge(site).endswith("not recorded")


def test_the_page_for_machines_links_to_what_is_there(site: Project) -> None:
    build(site)
    page = site.root / "build/html/evidence/machines.html"
    text = page.read_text(encoding="utf-8")
    linked = re.findall(r'(?:href|src)="(\.\./[^"#?]+)"', text)
    wanted = {"../data/support.json", "../objects.inv", "../llms.txt", f"../badges/{API}.svg"}
    assert wanted <= {*linked}
    # The Chinese site was not built.
    here = [link for link in linked if not link.startswith("../zh/")]
    assert all((page.parent / link).exists() for link in here)
    assert f"[![{API}](https://SITE/badges/{API}.svg)](https://SITE/page.html)" in text


def test_llms_txt_lists_the_pages(site: Project) -> None:
    build(site)
    text = site.read("html/llms.txt")
    lines = text.splitlines()
    assert lines[0].startswith("# ") and lines[2].startswith("> ")
    assert "## Gallery" in lines and "## Data" in lines
    assert "- [one](gallery/one.html): Text of the script." in lines
    assert "- [Page](page.html): What it is about." in lines
    for address in re.findall(r"\]\(([^)]+)\)", text):
        assert (site.root / "build/html" / address).is_file(), address
    full = site.read("html/llms-full.txt")
    assert "=== page.html\n\n# Page\n\nWhat it is about." in full and "assert True" in full


def test_the_schema_is_the_projects() -> None:
    schema = json.loads(support_data.SCHEMA.read_text(encoding="utf-8"))
    assert schema["$defs"]["kind"]["enum"] == ["software", "silicon"]
    assert Path(evidence.FOLDER).is_dir()
