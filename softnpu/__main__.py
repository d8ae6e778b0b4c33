"""The command line: ``python -m softnpu run | env | export | info``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import shlex
import sys

from . import SoftNpuError, activate, activation, info, packages


def main() -> int:
    """Runs one sub-command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m softnpu",
        description="A software Ascend NPU under the unmodified torch_npu wheel.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a script or module on the software NPU")
    run.add_argument("-m", dest="module", action="store_true", help="TARGET is a module")
    run.add_argument("target", metavar="TARGET")
    run.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS")
    commands.add_parser("env", help="print the path of the script to source in a shell")
    commands.add_parser("export", help="print the shell commands that the script runs")
    about = commands.add_parser("info", help="print what is emulated, the versions and the kernels")
    about.add_argument(
        "operator", nargs="?", help="one operator, such as aclnnAdd: what it accepts"
    )
    options = parser.parse_args()
    try:
        return _COMMANDS[options.command](options)
    except SoftNpuError as error:
        print(f"softnpu: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    if options.module:
        sys.path[0] = os.getcwd()
        if not _module_exists(options.target):
            raise SoftNpuError(f"there is no module {options.target} for {sys.executable}")
    elif not os.path.isfile(options.target):
        raise SoftNpuError(f"there is no script {options.target}")
    activate()
    if options.module and (missing := _missing(options.target)):
        raise SoftNpuError(f"there is no module {missing} for {sys.executable}")
    # The target sees the command line it would see without softnpu.
    sys.argv = [options.target, *options.arguments]
    if options.module:
        runpy.run_module(options.target, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.target))
        runpy.run_path(options.target, run_name="__main__")
    return 0


def _module_exists(name: str) -> bool:
    # The package alone: to find a module in it would import it, before the device is there.
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except ValueError:  # a module without a specification, such as __main__
        return False


def _missing(name: str) -> str | None:
    """The module that is not there, itself or the ``__main__`` of a package; imports its packages."""
    try:
        found = importlib.util.find_spec(name)
        if found and found.submodule_search_locations is not None:
            name = f"{name}.__main__"
            found = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:  # of a package on the way to it, or of what that imports
        if not error.name or not f"{name}.".startswith(f"{error.name}."):
            raise
        return name
    except ValueError:  # a module without a specification: runpy says what it thinks of it
        return None
    return None if found and found.name == name else name


def _env(options: argparse.Namespace) -> int:
    print(activation.PACKAGE / "set_env.sh")
    return 0


def _export(options: argparse.Namespace) -> int:
    if wrong := packages.problem():
        raise SoftNpuError(wrong)
    if not activation.real_device():
        for name, value in activation.environment().items():
            print(f"export {name}={shlex.quote(value)}")
    return 0


def _info(options: argparse.Namespace) -> int:
    try:
        named = options.operator is not None
        print(info.operator_text(options.operator) if named else info.text(), flush=True)
    except BrokenPipeError:
        # The reader, head for one, has what it wanted; nothing may be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


_COMMANDS = {"run": _run, "env": _env, "export": _export, "info": _info}

if __name__ == "__main__":
    sys.exit(main())
