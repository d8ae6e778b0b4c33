"""The operators below a call: which go to the host, which draw random numbers.

torch_npu says that it sends an operator to the host once an operator and process, on the descriptor of standard error.
`Watch` looks there after each operator, and remembers which call it belonged to.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_SAID = re.compile(rb"The operator '([\w:.]+)' is not currently supported on the NPU")


class StandardError:
    """Takes the process's standard error into a file, and tells what is new in it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process is
        self._read = 0
        os.dup2(self._file.fileno(), 2)

    def new(self) -> bytes:
        """Return what was written since the last call."""
        size = os.fstat(self._file.fileno()).st_size
        text = os.pread(self._file.fileno(), size - self._read, self._read)
        self._read = size
        return text


class Watch(TorchDispatchMode):
    """While it is on, `seen` collects the operators that the calls below send to the host."""

    known: ClassVar[dict[str, set[str]]] = defaultdict(set)
    said: ClassVar[set[str]] = set()

    def __init__(self, errors: StandardError) -> None:
        super().__init__()
        self.errors = errors
        self.seen: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.errors.new()  # what was said before is not this operator's
        try:
            return func(*args, **(kwargs or {}))
        finally:
            if said := _SAID.findall(self.errors.new()):
                self.known[str(func)] |= {name.decode() for name in said}
                self.said |= self.known[str(func)]
            own = func._schema.name
            self.seen |= {name for name in self.said if name.partition(".")[0] == own}
            self.seen |= self.known.get(str(func), set())


class _Random(TorchDispatchMode):
    found = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.found |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def draws_random_numbers(call: Callable[[], Any]) -> bool:
    """Return whether an operator below `call` draws random numbers."""
    with _Random() as mode:
        call()
    return mode.found
