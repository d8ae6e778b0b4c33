"""What needs environments of its own: ``nox -s matrix``, ``nox -s sweeps``, ``nox -s pythons``.

One environment at a time, removed when it is done with. What was recorded stays recorded, so that a run
that was stopped goes on where it was. Behind ``--`` stand the versions and products that are wanted, by
default all, and ``--force``, which also records what is recorded as it is now.
"""

import datetime
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator

import nox

from npudocs import evidence
from npudocs.evidence import messages, writing
from npudocs.evidence.model import Unrecorded

# The newest torch_npu on PyPI for each torch that loads beside the torch of PyPI: the third
# post-releases of 2.11.0 and 2.12.0 abort beside a CUDA build (softnpu/packages.py).
POSTS = {"2.7.1": ".post11", "2.11.0": ".post2", "2.12.0": ".post2"}
PACKAGES = {version: version + POSTS.get(version, "") for version in evidence.VERSIONS}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# "===" is this very version, the build for CUDA; "+cpu" is the other one.
BUILDS = {"cpu": "torch=={}+cpu", "cuda": "torch==={}"}
# What a shell may have set for another torch or device.
FOREIGN = r"ASCEND_|SOFTNPU_(SOC|DEVICES|MEMORY)|LD_PRELOAD|LD_LIBRARY_PATH|NPUDOCS_"
CLEAN = {name: None for name in os.environ if re.match(FOREIGN, name)}
# As make record does it: everything anew, whatever an earlier run left.
EXECUTE = (
    *("softnpu", "run", "-m", "sphinx", "-n", "-W", "--keep-going", "-c", ".", "docs"),
    *("-b", "execute", "-D", "execute_fresh=1"),
)
ROOT, LOGS = evidence.ROOT, evidence.ROOT / "build" / "matrix"
nox.options.sessions, nox.options.envdir = [], "build/nox"


@nox.session
@nox.parametrize("version", [*PACKAGES])
def matrix(session: nox.Session, version: str) -> None:
    """Run all checks on the software NPU and record them, for each version and product."""
    known = evidence.records()
    left = wanted(session, version, lambda product: recorded(version, product, known))
    made = {}
    for product, failed in each(session, version, left):
        out = LOGS / f"{version}-{product}"
        run = (*EXECUTE, "-d", str(out / "doctrees"), str(out / "execute"))
        # The results file lies beside the folder of what the builder writes.
        record = ("npudocs.evidence", "record", str(out / "executed.json"))
        made[product] = failed or step(session, product, *run) or step(session, product, *record)
        if made[product]:
            reason = messages.shorten(messages.Scrubber(ROOT)(made[product]))
            about = (version, PACKAGES[version], product, reason)
            writing.write_unrecorded(
                evidence.FOLDER, Unrecorded(*about, f"{datetime.date.today()}")
            )
    end(session, version, made)


@nox.session
@nox.parametrize("version", [*PACKAGES])
def sweeps(session: nox.Session, version: str) -> None:
    """Sweep all operators on the software NPU in float32, for each version and product."""
    there = [one["where"] for one in evidence.sweeps() if one["kind"] == "software"]
    known = {(where["torch_npu"], where["product"]) for where in there}
    left = wanted(session, version, lambda product: (PACKAGES[version], product) in known)
    made = {}
    for product, failed in each(session, version, left):
        run = ("softnpu", "run", "-m", "npudocs.sweep", "run", "--dtypes", "float32", "--fresh")
        made[product] = failed or step(session, product, *run)
    end(session, version, made)


@nox.session(venv_backend="none")
@nox.parametrize("build", [*BUILDS])
@nox.parametrize("python", PYTHONS)
def pythons(session: nox.Session, python: str, build: str) -> None:
    """Make the environment and the site anew, with each Python and both builds of torch."""
    name = f"python{python}"
    if not shutil.which(name) or subprocess.run([name, "--version"], check=False).returncode:
        session.skip(f"there is no {name} here")
    copy = ROOT / "build" / "pythons" / f"{python}-{build}"
    shutil.rmtree(copy, ignore_errors=True)
    session.run("git", "clone", "--quiet", str(ROOT), str(copy), external=True)
    listed = copy / "requirements.txt"
    pin = re.search(r"(?m)^torch==(\S+)$", text := listed.read_text(encoding="utf-8"))
    torch = BUILDS[build].format(pin[1])
    probe = [name, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", torch]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        session.skip(f"pip finds no {torch} for {name}")
    listed.write_text(text.replace(pin[0], torch), encoding="utf-8")
    with session.chdir(copy):
        session.run("make", "html", f"BASE_PYTHON={name}", external=True, env=CLEAN)
    shutil.rmtree(copy)


def wanted(session: nox.Session, version: str, known: Callable[[str], bool]) -> list[str]:
    """The products of this version that are asked for and not `known`, or by force."""
    words = set(session.posargs) - {"--force"}
    if wrong := words - {*PACKAGES, *evidence.PRODUCTS}:
        session.error(f"{', '.join(sorted(wrong))}: no version or product of the matrix")
    if words & {*PACKAGES} and version not in words:
        return []
    asked = [one for one in evidence.PRODUCTS if one in words] or evidence.PRODUCTS
    return [one for one in asked if "--force" in session.posargs or not known(one)]


def recorded(version: str, product: str, known: list[evidence.Record]) -> bool:
    """Whether a new record would repeat one of `known`; a page's very first check is not noticed."""
    scripts = {*ROOT.glob("examples/*.py"), *ROOT.glob("tests/npu/test_*.py")}
    return any(
        (one.kind, one.where["torch_npu"]) == ("software", PACKAGES[version])
        and one.where["product"] == product
        and scripts <= {ROOT / entry.check for entry in one.entries}
        and unchanged(one)
        for one in known
    )


def unchanged(record: evidence.Record) -> bool:
    """Whether every file of checks is still, byte for byte, the one that the evidence names."""
    blobs = {ROOT / entry.check: entry.blob for entry in record.entries}
    return all(
        path.is_file() and evidence.blob(path.read_bytes()) == blob for path, blob in blobs.items()
    )


def each(session: nox.Session, version: str, left: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each product, and why the environment of this version cannot be made or nothing."""
    if not left:
        session.skip("nothing is left to do")
    pip = ("pip", "install", "--quiet")
    try:
        # Alone: some releases of torch_npu ask for a local version of torch that PyPI does not have.
        failed = (
            step(session, "", *pip, f"torch=={version}")
            or step(session, "", *pip, "--no-deps", f"torch_npu=={PACKAGES[version]}")
            or step(session, "", *pip, "-r", "docs/requirements.txt")
        )
        yield from ((product, failed) for product in left)
    finally:
        shutil.rmtree(session.virtualenv.location, ignore_errors=True)


def step(session: nox.Session, product: str, *module: str) -> str:
    """Run a module in the session's environment; return how it failed, or nothing."""
    LOGS.mkdir(parents=True, exist_ok=True)
    variables = CLEAN | {"SOFTNPU_SOC": product or None, "SOFTNPU_FORCE": "1"}
    log = LOGS / f"{session.name}-{product or 'install'}.log"
    with log.open("w", encoding="utf-8") as output:
        try:
            session.run("python", "-m", *module, env=variables, stdout=output, stderr=output)
        except nox.command.CommandFailed as error:
            said = messages.without_frames(log.read_text(encoding="utf-8", errors="replace"))
            return "\n".join([error.reason, *said.splitlines()[-8:]])
    return ""


def end(session: nox.Session, version: str, made: dict[str, str]) -> None:
    """Say what became of each product; fail where one has no record."""
    for product, failed in made.items():
        words = failed and f"NO RECORD: {failed}"
        session.log(f"torch_npu {PACKAGES[version]} as {product}: {words or 'recorded'}")
    if any(made.values()):
        session.error("not all is recorded")
