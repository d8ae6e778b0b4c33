"""How evidence is drawn: a chip's record, a software record and a claim never look alike.

Color is never alone: each kind has its own words and shape, and a stale mark says so. What a mark
leaves to the eye stands beside it in words for screen readers.
"""

from __future__ import annotations

SIGNS = {
    "silicon": {"passed": "✔", "failed": "✘", "partial": "✔✘", "skipped": "skipped"},
    "software": {"passed": "SW ✓", "failed": "SW ✗", "partial": "SW ✓✗", "skipped": "SW skipped"},
}
KINDS = {"silicon": "Ascend chip", "software": "software NPU"}
# A record is of software as a product, or of a chip on one.
ON = {"silicon": "on", "software": "as"}
# Whose words a claim has.
WHO = ("page", "report", "published page")
SAYS = {"supported": "✔", "not supported": "✘"}
# The page with all checks, which marks link to.
CHECKS = "evidence/checks"
# What a record says of where it ran, beyond versions and product.
WHERE = {"device": "device name", "machine": "machine", "softnpu": "softnpu, fingerprint"}
