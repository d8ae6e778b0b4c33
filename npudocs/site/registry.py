"""Every part of a page that is drawn from data: the name of its directive and the function that answers.

The template is ``templates/parts/NAME.html.j2``. See `npudocs.site.parts`.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from npudocs.evidence.sweep_records import FORMS, STATUSES
from npudocs.site import (
    checks,
    data_files,
    deviations,
    parts,
    support,
    upstream_tests,
    verifies,
)
from npudocs.site.operators import pages, table
from softnpu.conformance import record

PARTS = {
    "checks": checks.checks,
    "claims": support.sources,
    "conformance": lambda page: record.summary(),
    "contradictions": support.contradicting,
    "corrections": upstream_tests.corrections,
    "deviation": deviations.section,
    "deviations": deviations.table,
    "device": lambda page: {"device": page.app.config.execute_device},
    "differences": checks.differences,
    "glance": table.glance,
    "item-table": verifies.item_table,
    "operator-changes": table.changes,
    "operator-counts": table.counts,
    "operator-cpu": table.cpu,
    "operator-files": lambda page: {"columns": data_files.COLUMNS},
    "operator-limits": lambda page: {},
    "operator-page": pages.operator_page,
    "operator-statuses": lambda page: {"statuses": STATUSES, "forms": FORMS},
    "operator-table": table.operators,
    "program-files": lambda page: {},
    "records": checks.records,
    "support": support.support,
    "support-items": support.items,
    "support-legend": lambda page: {},
    "support-overview": support.overview,
    "upstream-tests": upstream_tests.inventory,
}


def setup(app: Sphinx) -> None:
    for name, context in PARTS.items():
        parts.draw(app, name, context)
