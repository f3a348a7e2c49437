"""The pytest plugin: a fixture that makes models without weights, and a guard against downloads.

pytest loads this at its start in every project where structkit is installed, so it imports nothing but pytest; what
costs time is imported when a test asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, overload

import pytest

if TYPE_CHECKING:
    from structkit.models.scripted import RandomModel, Reply, ScriptedModel
    from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MakeModel", "structkit_model"]

_NAME, _VARIABLE = "structkit_downloads", "STRUCTKIT_DOWNLOADS"


class MakeModel(Protocol):
    """What the fixture `structkit_model` is: a function that makes models."""

    @overload
    def __call__(
        self, replies: Sequence[Reply], *, vocabulary: Vocabulary | None = None
    ) -> ScriptedModel: ...
    @overload
    def __call__(self, *, seed: int = 0, vocabulary: Vocabulary | None = None) -> RandomModel: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting."""
    parser.addini(
        _NAME, "let structkit.load() take models of the hub in all tests", type="bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", f"{_NAME}: let structkit.load() take models of the hub in this test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Refuse models of the hub while a test and its fixtures run, unless they are allowed."""
    if item.config.getini(_NAME) or item.get_closest_marker(_NAME) is not None:
        return (yield)
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "0"
    try:
        return (yield)
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before


@pytest.fixture
def structkit_model() -> MakeModel:
    """A function that makes models without weights.

    `structkit_model(["a reply", ...])` is a `structkit.testing.ScriptedModel` that writes the replies in order, and
    `structkit_model(seed=0)` a `structkit.testing.RandomModel` that writes anything that the type allows.
    """
    from structkit.models.scripted import RandomModel, ScriptedModel

    def make(
        replies: Sequence[Reply] | None = None, *, seed: int = 0, vocabulary: Vocabulary | None = None
    ) -> ScriptedModel | RandomModel:
        if replies is None:
            return RandomModel(seed, vocabulary, brevity=4.0)
        return ScriptedModel(replies, vocabulary)

    return make  # type: ignore[return-value]
