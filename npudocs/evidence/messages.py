"""The words of a record: short, and with nothing of the machine that it was made on."""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
import sysconfig
from pathlib import Path

LIMIT = 2000
# Names that say nothing of a machine or a person, and that messages are full of.
COMMON = {"root", "user", "test", "admin", "localhost", "npu", "ascend", "torch", "python", "main"}

_PATH = re.compile(r"(?<![\w:/.>~])/(?:[\w.+@%=-]+/)*([\w.+@%=-]+)/?")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,}")
_PROCESS = re.compile(r"\b(PID|pid|tid|TID)([ :=]+)\d+")
_STAMP = re.compile(r"\b\d{4}-\d\d-\d\d[-T ]\d\d:\d\d:\d\d(?:[.,]\d+)*")


class Scrubber:
    """Takes out the paths and names of this machine; what is left of a path is a file's name."""

    def __init__(self, root: Path) -> None:
        paths = sysconfig.get_paths()
        # What begins with one of these is named from there.
        known = (root.resolve(), root, paths["purelib"], paths["platlib"], paths["stdlib"])
        places = {f"{folder}/": "" for folder in known}
        places |= {f"{folder}/": "<python>/" for folder in (sys.prefix, sys.base_prefix)}
        places |= {str(root.resolve()): ".", str(Path.home()): "~", f"{Path.home()}/": "~/"}
        # The longest first: one place lies inside another.
        self.places = sorted(places.items(), key=lambda place: -len(place[0]))
        names = {os.environ.get("USER", ""), _user(), socket.gethostname()}
        names |= {name.partition(".")[0] for name in names}
        self.names = sorted(n for n in names if len(n) > 2 and n.lower() not in COMMON)

    def __call__(self, text: str) -> str:
        """Return `text` without what is private or changes from run to run."""
        for place, words in self.places:
            if len(place) > 2:
                text = text.replace(place, words)
        text = _PATH.sub(lambda found: _file_name(found.group(1)), text)
        for name in self.names:
            text = re.sub(rf"(?<![\w]){re.escape(name)}(?![\w])", "<name>", text)
        text = _ADDRESS.sub("0x...", text)
        return _STAMP.sub("<time>", _PROCESS.sub(r"\1\g<2>...", text))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""


def _file_name(name: str) -> str:
    return f"<path>/{name}" if "." in name.strip(".") else "<path>"


def shorten(text: str, limit: int = LIMIT) -> str:
    """Keep the head of a long text: kind and text of the error come first."""
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 4].rstrip() + " ..."


def without_frames(text: str) -> str:
    """Drop the C++ stack that torch appends to its messages."""
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not re.match(r"\s*(frame #\d+|Exception raised from|<omitting)", line)
    ]
    return "\n".join(lines)


def essential(text: str) -> str:
    """A doctest's words without what its source, which a record names, says anyway.

    Left out are the repeated code and the stack between an error's head and its text.
    """
    text = re.sub(r"(?m)^Code:\n(?:    .*\n|[ ]*\n)*", "", text)
    head = r"(?m)^( *)Traceback \(most recent call last\):\n"
    return re.sub(head + r"(?:\1  .*\n|\n)+(?=\1\S)", "", text)
