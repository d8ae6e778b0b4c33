"""``make record``: runs every check of the project on the device at hand and writes what was seen.

`checks` finds what there is to run, `worker` runs it in a process of its own, `supervisor` watches
that process and survives its death, `messages` takes out what is private, `writing` makes the
record. `check` looks at what lies in ``evidence/``, `matrix` records all versions and products.
"""

from __future__ import annotations


class RecordingError(Exception):
    """There is no record, in words that say why and what to do."""
