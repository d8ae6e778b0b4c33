"""``make matrix``: records every version and product; how stands in npudocs/recording/matrix.py."""

import sys

import nox


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Record on the software NPU what is not recorded yet: nox -s matrix -- [--force] [2.12.0 A3 ...]"""
    session.run(sys.executable, "-m", "npudocs.recording.matrix", *session.posargs, external=True)
