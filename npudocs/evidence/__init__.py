"""The evidence: records that runs made and claims that others published, read, checked and asked.

``python -m npudocs.evidence record`` alone writes a record. A file that was edited by hand, is broken
or contradicts itself is an error that names the file and the field. Neither Sphinx nor torch is in here:
``model`` is what there is, ``files`` reads it and ``writing`` writes it, ``questions`` and
``disagreements`` answer what pages ask, ``sweep_records`` has the sweeps of operators, ``recording``
makes a record of a run's results, in ``messages`` without what is private. ``rules`` has what a record
cannot say and ``history`` what git denies, and ``check`` is for CI.
"""

from npudocs.evidence.disagreements import (
    Contradiction,
    Explanation,
    Ran,
    by_check,
    changed_between,
    contradictions,
    differences,
    explanations,
    first_line,
)
from npudocs.evidence.files import (
    FOLDER,
    ITEMS,
    ROOT,
    blob,
    claims,
    digest,
    file_name,
    load_checked,
    records,
    refusal,
)
from npudocs.evidence.model import (
    MODULE,
    PRODUCTS,
    VERSIONS,
    Claim,
    Entry,
    EvidenceError,
    Mark,
    Record,
    release,
    short,
)
from npudocs.evidence.questions import Evidence, current_digests, spread
from npudocs.evidence.sweep_records import SweepCell
from npudocs.evidence.sweep_records import cells as sweep_cells
from npudocs.evidence.sweep_records import counts as sweep_counts
from npudocs.evidence.sweep_records import load as sweeps
