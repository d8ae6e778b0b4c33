"""What programs read: the inventory and the support tables as JSON."""

from __future__ import annotations

import re
from io import BytesIO

import jsonschema
import pytest
from evidencefiles import API, claims, entry, record
from sphinx.util.inventory import InventoryFile
from tinyproject import Project

PAGE = f"""
What it is about.

```{{py:function}} torch.autograd.forward_ad.unpack_dual(tensor, *, level=None)
```

```{{support}} {API}
```
"""


@pytest.fixture
def site(project: Project) -> Project:
    """A project with a support table, a gallery script and links to the files."""
    project.script("one")
    project.page(PAGE)
    home = "---\norphan: true\n---\n# M\n\n```{program-files}\n```\n"
    project.write("docs/evidence/index.md", home)
    checks = "---\norphan: true\n---\n# C\n\n```{records}\n```\n"
    project.write("docs/evidence/checks.md", checks)
    return project


def build(site: Project) -> None:
    """Build the site, which has to go well."""
    result = site.build()
    assert result.code == 0, result.output


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
        home, _, anchor = pages[name].partition("#")
        assert f'id="{anchor}"' in site.read(f"html/{home}")
    assert content["items"][2]["cells"][0]["records"]


def test_the_links_to_the_files_lead_to_what_is_there(site: Project) -> None:
    build(site)
    page = site.root / "build/html/evidence/index.html"
    linked = re.findall(r'external" href="(\.\./[^"#?]+)"', page.read_text(encoding="utf-8"))
    assert {"../data/support.json", "../objects.inv"} <= {*linked}
    # Where nothing was swept there is no file of operators.
    assert "../data/operators.json" not in linked
    assert all((page.parent / link).exists() for link in linked)
