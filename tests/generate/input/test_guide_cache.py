"""The cache of guides, and the checks of settings."""

from __future__ import annotations

import threading
from datetime import date
from importlib import import_module

import pytest
from pydantic import PastDate

import structkit as sk
from structkit.generate.input.guide_cache import GuideCache
from structkit.generate.input.options import StreamOptions
from structkit.generate.input.settings import CompileSettings, Settings
from structkit.testing import byte_vocabulary

V = byte_vocabulary()


def test_a_guide_is_compiled_once_per_settings() -> None:
    guides = GuideCache(max_entries=10)
    first = guides.get(list[int], V, CompileSettings())
    assert first.seconds > 0
    again = guides.get(list[int], byte_vocabulary(), CompileSettings())
    assert again.guide is first.guide
    assert again.seconds == 0
    for other in (
        guides.get(list[int], V, CompileSettings(whitespace="compact")),
        guides.get(list[int], V, CompileSettings(limits=sk.Limits(integer_digits=3))),
        guides.get(
            list[int], sk.Vocabulary([*V.tokens[:256], b"ab"], eos_token_ids=[300]), CompileSettings()
        ),
        guides.get(list[bool], V, CompileSettings()),
    ):
        assert other.guide is not first.guide


def test_the_least_recently_used_guide_is_evicted() -> None:
    guides = GuideCache(max_entries=2)
    first = guides.get(int, V, CompileSettings()).guide
    second = guides.get(bool, V, CompileSettings()).guide
    assert guides.get(int, V, CompileSettings()).guide is first
    guides.get(None, V, CompileSettings())
    assert guides.get(int, V, CompileSettings()).guide is first
    assert guides.get(bool, V, CompileSettings()).guide is not second


def test_a_guide_that_grew_without_end_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Combinations of objects have a rule for each state that a text reaches."""
    some = [{"anyOf": [{"required": [f"k{n}_{i}"]} for i in range(3)]} for n in range(20)]
    target = {"type": "object", "allOf": some}
    guides = GuideCache(max_entries=10)
    first = guides.get(target, V, CompileSettings()).guide
    assert guides.get(target, V, CompileSettings()).guide is first
    monkeypatch.setattr("structkit.guide.guide._MAX_GROWN", first.automaton.tables.nbytes)
    cursor = first.cursor()
    for byte in b'{"k0_0": 1, ':
        cursor.advance(byte)
    assert guides.get(target, V, CompileSettings()).guide is not first
    cursor.advance(ord('"'))  # sequences of the old guide go on


def test_errors_are_not_cached() -> None:
    guides = GuideCache(max_entries=2)
    for _ in range(2):
        with pytest.raises(sk.UnsatisfiableSchema):
            guides.get({"type": "string", "minLength": 3, "maxLength": 2}, V, CompileSettings())


def test_many_threads() -> None:
    guides = GuideCache(max_entries=3)
    found: list[object] = []

    def work() -> None:
        found.extend(guides.get(target, V, CompileSettings()).guide for target in (int, bool, None, int))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"max_token": 3},
            TypeError,
            r"no argument 'max_token'; write max_tokens=\.\.\.$",
        ),
        ({"max_tokens": -1}, ValueError, "max_tokens must be at least 0"),
        ({"max_tokens": 2.5}, TypeError, "max_tokens must be an integer"),
        ({"whitespace": "pretty"}, ValueError, "whitespace must be 'spaced' or 'compact', not 'pretty'"),
        ({"defaults": True}, ValueError, "defaults must be"),
        ({"include_schema": "no"}, ValueError, "include_schema must be True or False"),
        ({"include_schema": 1}, TypeError, "include_schema must be True or False"),
        ({"fast_forward": 1}, TypeError, "fast_forward must be True or False"),
        ({"system": ["x"]}, TypeError, "system must be a string"),
        ({"limits": {}}, TypeError, "limits must be structkit.Limits"),
        ({"temperature": -1}, ValueError, "temperature"),
        ({"thinking": None}, TypeError, "thinking must be True, False or a number of tokens, not None"),
        (
            {"prompt_lookup": "x"},
            TypeError,
            "prompt_lookup must be True, False or a number of tokens, not 'x'",
        ),
    ],
)
def test_options_are_checked(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Settings.read("extract", options)


@pytest.mark.parametrize("value", ["", 0, [], None])
def test_confidence_is_a_bool_also_if_it_is_false_like(value: object) -> None:
    with pytest.raises(TypeError, match="confidence must be True or False"):
        Settings.read("generate", {"confidence": value}, StreamOptions)


def test_particles_that_are_none_are_the_default() -> None:
    assert Settings.read("generate", {"sampling": "faithful", "particles": None}).particles == 32
    assert Settings.read("generate", {"particles": None}).particles is None


def test_guides_expire_at_the_end_of_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    guides = GuideCache(max_entries=4)
    first = guides.get(PastDate, V, CompileSettings())
    assert guides.get(PastDate, V, CompileSettings()).guide is first.guide
    monkeypatch.setattr(
        import_module("structkit.generate.input.guide_cache"), "_today", lambda: date(2200, 1, 1)
    )
    tomorrow = guides.get(PastDate, V, CompileSettings())
    assert tomorrow.guide is not first.guide and tomorrow.target is not first.target
