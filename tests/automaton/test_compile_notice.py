"""The notice that kernels are compiled, and the garbage collector during compilation."""

from __future__ import annotations

import gc
import logging
from types import SimpleNamespace

import pytest

from structkit.automaton import compile_notice as module
from structkit.automaton.compile_notice import CompileNotice


def _event(where: str) -> SimpleNamespace:
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=where))})


def test_one_warning_is_logged_during_compilation(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    notice = CompileNotice()
    with caplog.at_level(logging.WARNING, "structkit"):
        for where, seconds in (("numpy.x", 9.0), ("structkit.index.rows.walk_kernels", 0.75)):
            notice.on_start(_event(where))
            now[0] += seconds
            notice.on_end(_event(where))
        assert (notice.seconds, caplog.messages) == (0.75, [])
        for _ in range(2):
            notice.on_start(_event("structkit.automaton.construct.determinize"))
            notice.on_start(_event("numba.np.arrayobj"))
            now[0] += 0.5
            notice.on_end(_event("numba.np.arrayobj"))
            notice.on_end(_event("structkit.automaton.construct.determinize"))
    assert notice.seconds == 1.75
    assert len(caplog.messages) == 1 and "once" in caplog.messages[0]


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_off_during_compilation(collects: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        notice = CompileNotice()
        notice.on_start(_event("numpy.x"))
        assert gc.isenabled() == collects, "kernels of other packages are ignored"
        notice.on_end(_event("numpy.x"))
        notice.on_start(_event("structkit.automaton.construct.determinize"))
        notice.on_start(_event("numba.np.arrayobj"))
        notice.on_end(_event("numba.np.arrayobj"))
        assert not gc.isenabled()
        notice.on_end(_event("structkit.automaton.construct.determinize"))
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()


def test_the_notice_that_is_returned_hears_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    notice = module.watch_compilation()
    heard: list[bool] = []
    monkeypatch.setattr(notice, "on_start", lambda event: heard.append(True))
    monkeypatch.setattr(notice, "on_end", lambda event: heard.append(False))
    data = _event("structkit.index.rows.walk_kernels").data
    try:
        # Both, because another notice of the process hears them, too.
        for is_start in (True, False):
            module.event.broadcast(
                SimpleNamespace(kind="numba:compile", is_start=is_start, is_end=not is_start, data=data)
            )
    finally:
        module.event.unregister("numba:compile", notice)
    assert heard == [True, False]
