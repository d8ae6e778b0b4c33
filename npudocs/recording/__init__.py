"""Runs every check of the project: `checks` finds them, `worker` runs them, `supervisor` survives both."""

from __future__ import annotations


class RecordingError(Exception):
    """There is no record, in words that say why and what to do."""
