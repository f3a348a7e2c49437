"""Listener for the kernel compilation on the first use on a machine, which takes some seconds.

The listener logs a warning, and disables the garbage collector during compilation: numba allocates millions of objects
that live until a kernel is compiled, and repeated collections take a tenth of the time.
"""

from __future__ import annotations

import gc
import logging
import time

from numba.core import event

__all__ = ["CompileNotice", "watch_compilation"]

_PATIENCE = 1.0
"""Seconds of compilation after which the warning is logged."""

_log = logging.getLogger("structkit")


class CompileNotice(event.Listener):
    """Logs one warning to the logger `structkit` during compilation, and disables the garbage collector meanwhile.

    Kernels loaded from the disk cache are not counted.

    Attributes:
        seconds: Seconds of compilation so far.
        reported: Whether the warning was logged.

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
        """Handle the start of a compilation, possibly nested; functions of other packages are ignored."""
        if not self._open:
            if not _is_ours(event):
                return
            self._start_time = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
        self._open += 1

    def on_end(self, event: event.Event) -> None:
        """Handle the end of a compilation."""
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
            _log.warning("structkit is compiling its kernels once for this machine; this can take a minute")


def _is_ours(event: event.Event) -> bool:
    module: str = event.data["dispatcher"].py_func.__module__
    return module.startswith("structkit.")


def watch_compilation() -> CompileNotice:
    """Register a listener with numba and return it."""
    notice = CompileNotice()
    event.register("numba:compile", notice)
    return notice
