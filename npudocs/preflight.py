"""Says what a machine lacks before anything is installed or imported.

Runs with any Python 3.8 or newer and only the standard library:

    python3 npudocs/preflight.py venv    # may a virtual environment be made here?
    python3 npudocs/preflight.py host    # can this interpreter, with its own torch, build the site?
"""

import importlib.metadata as metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
from pathlib import Path

PYTHONS = ((3, 10), (3, 13))
# torch_npu has wheels for these only.
MACHINES = ("x86_64", "aarch64")
GLIBC = (2, 28)
ROOT = Path(__file__).resolve().parent.parent
DOCS_REQUIREMENTS = ROOT / "docs" / "requirements.txt"


def python_problem(version=None):
    """Return what is wrong with this Python version, or None."""
    version = tuple(version or sys.version_info)[:2]
    if PYTHONS[0] <= version <= PYTHONS[1]:
        return None
    return (
        f"Python {version[0]}.{version[1]} is not supported: torch_npu and the documentation tools need "
        "Python 3.10 to 3.13. Install one of these and name it: make html BASE_PYTHON=python3.12"
    )


def platform_problem(system=None, machine=None, libc=None):
    """Return why torch_npu has no wheel for this platform, or None."""
    system = system or platform.system()
    machine = machine or platform.machine()
    name, number = libc or platform.libc_ver()
    found = f"This is {system} {machine}"
    only = "torch_npu has wheels for Linux on x86_64 or aarch64 with glibc 2.28 or newer only."
    off = "Use such a machine or container (Debian 12 or Ubuntu 22.04, for example)."
    if system != "Linux" or machine not in MACHINES:
        return f"{found}; {only} {off}"
    if name != "glibc":
        return f"{found} with {name or 'an unknown C library'} (musl?); {only} {off}"
    if tuple(int(part) for part in number.split(".")[:2]) < GLIBC:
        return f"{found} with glibc {number}; {only} {off}"
    return None


def venv_problem(find_spec=importlib.util.find_spec):
    """Return how to get the venv module where a distribution leaves it out, or None."""
    # Debian and Ubuntu ship venv without ensurepip, so that venv fails half-way.
    if find_spec("venv") and find_spec("ensurepip"):
        return None
    return "The venv module of this Python is missing. On Debian or Ubuntu: apt-get install python3-venv"


def compiler_problem(which=shutil.which):
    """Return how to get a C compiler, which the software NPU is compiled with, or None."""
    compiler = (os.environ.get("CC", "").split() or ["cc"])[0]
    if which(compiler):
        return None
    return (
        f"No C compiler ({compiler}): the software NPU is compiled on first use. "
        "On Debian or Ubuntu: apt-get install gcc libc6-dev"
    )


def _version(package, version=metadata.version):
    try:
        return version(package)
    except metadata.PackageNotFoundError:
        return None


def versions_problem():
    """Return what is wrong with the installed torch and torch_npu, or None."""
    # softnpu asks the same question before every run.
    sys.path.insert(0, str(ROOT))
    from softnpu import packages

    return packages.problem()


def docs_problem(requirements=DOCS_REQUIREMENTS, version=metadata.version):
    """Return which packages of docs/requirements.txt are not installed, or None."""
    lines = Path(requirements).read_text(encoding="utf-8").splitlines()
    names = {m.group() for m in (re.match(r"[A-Za-z][\w.-]*", line) for line in lines) if m}
    missing = sorted(name for name in names if _version(name, version) is None)
    if not missing:
        return None
    return (
        f"Packages of the documentation tools are missing for {sys.executable}: {', '.join(missing)}. "
        f"Install them (torch and torch_npu are left alone): "
        f"{sys.executable} -m pip install -r docs/requirements.txt"
    )


CHECKS = {
    "venv": (python_problem, platform_problem, venv_problem, compiler_problem),
    "host": (python_problem, docs_problem, versions_problem),
}


def main(argv):
    """Print every problem of the asked kind; return the exit code."""
    if len(argv) != 1 or argv[0] not in CHECKS:
        print(f"usage: preflight.py {{{','.join(CHECKS)}}}", file=sys.stderr)
        return 2
    problems = []
    for check in CHECKS[argv[0]]:
        problem = check()
        if problem:
            print(f"preflight: {problem}", file=sys.stderr)
            problems.append(problem)
            if check is python_problem:
                break  # the other checks need a Python that is supported
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
