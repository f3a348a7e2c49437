"""The garbage collector is left as it was found."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import structkit as sk
from structkit.grammar import collection
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


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("frozen", [True, pytest.param(False, marks=pytest.mark.long)])
def test_many_objects_become_old_and_their_garbage_is_collected(
    frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    collections: list[int] = []
    monkeypatch.setattr(collection, "_untraversed", [0])
    monkeypatch.setattr(collection, "_MANY", 1_000)
    monkeypatch.setattr(collection, "_MAX_UNTRAVERSED", 10_000)
    was_frozen = gc.get_freeze_count() > 0
    if frozen:
        gc.freeze()
    else:  # the collections traverse all that other tests left
        gc.unfreeze()
        gc.collect()
    gc.callbacks.append(lambda phase, info: collections.append(info["generation"]))
    try:
        kept = []
        garbage = []
        for _ in range(8):
            with collection_paused():
                kept += [[each] for each in range(2_000)]
                garbage.append(weakref.ref(_Cycle()))
            assert gc.get_count()[0] < 1_000
    finally:
        gc.callbacks.pop()
        if was_frozen and not frozen:
            gc.freeze()
        elif not was_frozen:
            gc.unfreeze()
    # Each collection starts and stops; the youngest objects alone are never traversed, and all objects seldom.
    assert collections == ([1] * 16 if frozen else [2] * 2)
    assert [each() is None for each in garbage] == ([True] * 8 if frozen else [True] * 5 + [False] * 3)


@pytest.mark.parametrize("frozen", [0, 5])
@pytest.mark.parametrize("untraversed", [0, 10, 11, 12])
def test_objects_become_old_and_a_bound_of_them_is_traversed(
    monkeypatch: pytest.MonkeyPatch, frozen: int, untraversed: int
) -> None:
    """What a caller has frozen stays frozen."""
    calls: list[object] = []
    collector = SimpleNamespace(
        get_freeze_count=lambda: frozen,
        collect=lambda *generation: calls.append(("collect", *generation)),
        freeze=lambda: calls.append("freeze"),
        unfreeze=lambda: calls.append("unfreeze"),
    )
    monkeypatch.setattr(collection, "gc", collector)
    monkeypatch.setattr(collection, "_untraversed", [untraversed])
    monkeypatch.setattr(collection, "_MAX_UNTRAVERSED", 21)
    collection._make_old(10)
    if frozen:
        assert (calls, collection._untraversed) == ([("collect", 1)], [untraversed])
    elif untraversed == 12:
        assert (calls, collection._untraversed) == ([("collect",)], [0])
    else:
        assert (calls, collection._untraversed) == (["freeze", "unfreeze"], [untraversed + 10])
