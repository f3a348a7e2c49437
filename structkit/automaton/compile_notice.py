"""What is done while the first use on a machine compiles the kernels, which takes some seconds.

Who waits is told. And no garbage is collected: numba makes millions of objects that it keeps until a kernel is done,
and to look through them and through all that was imported, again and again, took a tenth of the time.
"""

from __future__ import annotations

import gc
import logging
import time

from numba.core import event

__all__ = ["CompileNotice", "watch_compilation"]

_PATIENCE = 1.0
"""Seconds of compiling after which it is said."""

_log = logging.getLogger("structkit")


class CompileNotice(event.Listener):
    """Says once, through the logger `structkit`, that numba compiles, and lets Python collect no garbage meanwhile.

    Kernels that are read from disk do not count.

    Attributes:
        seconds: How long it did so far.
        reported: Whether it was said.

    >>> CompileNotice().seconds
    0.0
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.reported = False
        self._open = 0
        self._start_time = 0.0
        self._collects = False

    def on_start(self, event: event.Event) -> None:
        """A function begins to be compiled, perhaps for another one; those of other packages are their affair."""
        if not self._open:
            if not _is_ours(event):
                return
            self._start_time = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
        self._open += 1

    def on_end(self, event: event.Event) -> None:
        """A function is compiled."""
        if not self._open:
            return
        self._open -= 1
        now = time.perf_counter()
        self.seconds += now - self._start_time
        self._start_time = now
        if self._collects and not self._open:
            gc.enable()
        if self.seconds > _PATIENCE and not self.reported:
            self.reported = True
            _log.warning("structkit compiles its kernels for this machine, once; that takes about 10 seconds")


def _is_ours(event: event.Event) -> bool:
    module: str = event.data["dispatcher"].py_func.__module__
    return module.startswith("structkit.")


def watch_compilation() -> CompileNotice:
    """Listen to numba from now on."""
    notice = CompileNotice()
    event.register("numba:compile", notice)
    return notice
