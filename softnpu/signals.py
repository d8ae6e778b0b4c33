"""Signal handlers of the program wait for the end of a kernel, as they do for torch's CPU operators.

A chip's kernel does not know of signals either. A handler that came in its middle would find the
program inside an operator: it could not use the NPU, and what it raises would be lost in C++.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from types import FrameType

_handlers: dict[int, Callable[[int, FrameType | None], object]] = {}  # the program's own


def let_kernels_finish(defer: Callable[[int], int]) -> None:
    """Has every handler written in Python, of now or later, wait for the end of a kernel.

    ``signal.getsignal`` goes on giving the program's own handler.

    Args:
        defer: with a signal's number, says whether this thread is inside a kernel, and if so
            brings the signal again after it. Not twice for one signal: a second one, for a
            kernel that does not end, reaches its handler at once.
    """
    register, registered = signal.signal, signal.getsignal

    def handle(number: int, frame: FrameType | None) -> None:
        if not defer(number):
            _handlers[number](number, frame)

    @functools.wraps(registered)
    def getsignal(signalnum):
        found = registered(signalnum)
        return _handlers[signalnum] if found is handle else found

    @functools.wraps(register)
    def set_signal(signalnum, handler):
        before = getsignal(signalnum)
        if not callable(handler):
            register(signalnum, handler)
            return before
        kept = _handlers.get(signalnum)
        _handlers[signalnum] = handler
        try:
            register(signalnum, handle)
        except BaseException:  # not the main thread, or no such signal: nothing is changed
            _handlers.pop(signalnum)
            if kept is not None:
                _handlers[signalnum] = kept
            raise
        return before

    signal.signal, signal.getsignal = set_signal, getsignal
    if threading.current_thread() is threading.main_thread():
        for number in signal.valid_signals():
            if callable(handler := registered(number)):
                set_signal(number, handler)
