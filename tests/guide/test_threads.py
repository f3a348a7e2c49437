"""One guide in many threads and processes: the masks are those of one thread."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal

import numpy as np
import pytest

import structkit as sk
from structkit.guide.guide import Cursor, Guide
from structkit.index.disk import store
from structkit.testing import ScriptedModel, byte_vocabulary, small_vocabulary
from tests.shared import cases

V = small_vocabulary()
END = V.eos_token_ids[0]
NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12, "pattern": "^[a-zé]*$"},
        "ids": {"type": "array", "items": {"enum": [1, 2, 12, 123]}, "uniqueItems": True},
        "next": {
            "anyOf": [
                {"type": "null"},
                {"$ref": "#/$defs/node"},
                {"type": "array", "items": {"$ref": "#/$defs/node"}},
            ]
        },
        "size": {"type": "number", "minimum": -3, "maximum": 10},
    },
    "required": ["name", "ids", "next", "size"],
    "additionalProperties": False,
}
SCHEMA = {"$defs": {"node": NODE}, "$ref": "#/$defs/node"}


def _guide() -> Guide:
    return sk.compile(SCHEMA, V, cache=False)


def _step(cursor: Cursor, chance: random.Random, left: int) -> bytes:
    """Advance by a random allowed token within a budget; return the mask.

    Each twentieth step asks for the exact minimum of tokens, whose search takes longer than all others.
    """
    out = np.empty(V.mask_words, np.uint32)
    is_exact = left % 20 == 0 or not cursor.fits(left)
    cursor.fill_mask(out, max(left, cursor.min_tokens_to_end()) if is_exact else left)
    bits = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")[: V.size])
    cursor.advance(int(chance.choice(bits.tolist())))
    return out.tobytes()


@cache
def _alone() -> Guide:
    """Return a guide that one thread uses."""
    return _guide()


@cache
def _expected(seed: int) -> list[bytes]:
    return _walk(_alone(), seed)


def _walk(guide: Guide, seed: int, length: int = 60) -> list[bytes]:
    cursor, chance, masks = guide.cursor(), random.Random(seed), []
    while not cursor.is_terminated:
        masks.append(_step(cursor, chance, length - len(masks)))
    return masks


@pytest.mark.long
def test_sixteen_threads_with_one_guide_get_the_masks_of_one() -> None:
    walks = cases(16, of=400)
    shared = _guide()
    expected = [_expected(seed) for seed in range(walks)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(lambda seed: _walk(shared, seed), range(walks))) == expected
    finally:
        sys.setswitchinterval(before)


@pytest.mark.long
def test_guides_are_compiled_shared_and_dropped_by_eight_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What guides of one vocabulary share, in memory and in the cache, is made and evicted while others read it."""
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path))
    store._cache.cache_clear()
    targets: list[Any] = [SCHEMA, list[str], list[dict[Literal["a"], float]], sk.Regex("(ab|c){2,30}d"), {}]
    expected = [_walk_freely(sk.compile(each, V, cache=False), seed) for seed, each in enumerate(targets)]
    shared = [sk.compile(each, V) for each in targets]

    def work(number: int) -> None:
        chance = random.Random(number)
        for _ in range(cases(6, of=200)):
            at = chance.randrange(len(targets))
            if chance.random() < 0.5:
                shared[at] = sk.compile(targets[at], V, cache=chance.random() < 0.5)
            if chance.random() < 0.1:
                gc.collect()
            assert _walk_freely(shared[at], at) == expected[at]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(before)
        store._cache.cache_clear()


def _walk_freely(guide: Guide, seed: int, length: int = 30) -> list[bytes]:
    """Return masks without a budget, which do not depend on the sequences before."""
    cursor, chance, masks = guide.cursor(), random.Random(seed), []
    while not cursor.is_terminated and len(masks) < length:
        out = np.empty(V.mask_words, np.uint32)
        cursor.fill_mask(out)
        masks.append(out.tobytes())
        cursor.advance(
            int(chance.choice(np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little"))))
        )
    return masks


@pytest.mark.long
def test_cursors_are_handed_between_threads() -> None:
    """A cursor takes each step in another thread, and a fork of it goes on in a third."""
    shared = _guide()
    expected = {seed: _expected(seed) for seed in range(12)}
    waiting: SimpleQueue[tuple[int, Cursor, random.Random, list[bytes]] | None] = SimpleQueue()
    done: SimpleQueue[tuple[int, list[bytes]]] = SimpleQueue()
    for seed in expected:
        waiting.put((seed, shared.cursor(), random.Random(seed), []))

    def work() -> None:
        while (item := waiting.get()) is not None:
            seed, cursor, chance, masks = item
            masks.append(_step(cursor, chance, 60 - len(masks)))
            if cursor.is_terminated:
                done.put((seed, masks))
            else:
                waiting.put((seed, cursor.fork() if chance.getstate()[1][-1] % 2 else cursor, chance, masks))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    found = dict(done.get(timeout=100) for _ in expected)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join(10)
    assert found == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_that_are_forked_after_threads_have_used_the_guide_go_on() -> None:
    """The threads live and wait, as in a server that loads everything and then forks its workers."""
    expected = _expected(5)
    shared, prompt = _guide(), "Ana is 34."
    model = ScriptedModel(["12"] * 20)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: _walk(shared, seed), range(4)))
        assert sk.extract(model, prompt, int) == 12
        for _ in range(cases(2, of=40)):
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(200)  # a deadlock; the machine may be slow
                try:
                    same = _walk(shared, 5) == expected == _walk(_guide(), 5)
                    os._exit(0 if same and sk.extract(model, prompt, int) == 12 else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert list(pool.map(lambda seed: _walk(shared, seed), [5])) == [expected]


def test_budgets_are_asked_for_while_a_rule_is_published() -> None:
    """The arrays of the automaton are replaced one by one, so another thread can see new ones beside old ones."""
    guide = sk.compile(dict[str, list[bool]], byte_vocabulary(), cache=False)
    automaton = guide.automaton
    known = automaton.call_distinct
    automaton.build_all()
    automaton.call_distinct = known
    assert guide.cursor().fits(100)
