"""The garbage collector is left as it was found."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import structkit as sk
from structkit.grammar.collection import collection_paused


@pytest.fixture(params=[True, False])
def enabled(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    if request.param:
        gc.enable()
    else:
        gc.disable()
    yield request.param
    if before:
        gc.enable()
    else:
        gc.disable()


def test_after_a_grammar_and_after_errors(enabled: bool) -> None:
    assert sk.Grammar('start: "a" start | "b"', parser="lalr")
    assert gc.isenabled() == enabled
    for invalid in ('start: "a" start', "start: (", "start: /(a+)\\1/"):
        with pytest.raises(sk.GrammarError):
            sk.Grammar(invalid)
        assert gc.isenabled() == enabled
    with pytest.raises(sk.LimitExceeded):
        sk.Grammar('start: /a/ "b"', limits=sk.Limits(grammar_length=3))
    assert gc.isenabled() == enabled


def test_in_overlapping_threads(enabled: bool) -> None:
    started, ended = threading.Event(), threading.Event()

    def first() -> None:
        with collection_paused():
            started.set()
            ended.wait()

    thread = threading.Thread(target=first)
    thread.start()
    started.wait()
    with collection_paused():
        ended.set()
        thread.join()
        assert not gc.isenabled()  # the first block has ended inside this one
    assert gc.isenabled() == enabled


def test_in_nested_blocks(enabled: bool) -> None:
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == enabled
