"""The pytest plugin: a fixture that creates models without weights, and a guard against downloads.

pytest loads this module at startup in every project with structkit installed, so it imports only pytest; other imports
happen when a test uses the fixture.
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
    """Type of the fixture `structkit_model`: a function that creates models."""

    @overload
    def __call__(
        self, replies: Sequence[Reply], *, vocabulary: Vocabulary | None = None
    ) -> ScriptedModel: ...
    @overload
    def __call__(self, *, seed: int = 0, vocabulary: Vocabulary | None = None) -> RandomModel: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option."""
    parser.addini(
        _NAME, "allow structkit.load() to download from the Hub in all tests", type="bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", f"{_NAME}: allow structkit.load() to download from the Hub in this test"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Disable downloads from the Hub during a test and its fixtures, unless they are allowed."""
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
def structkit_model(request: pytest.FixtureRequest) -> Iterator[MakeModel]:
    """Return a function that creates models without weights.

    `structkit_model(["a reply", ...])` returns a `structkit.testing.ScriptedModel` that writes the replies in order. A
    reply that the target does not allow, and at the end of a passed test an unused reply, is an error.
    `structkit_model(seed=0)` returns a `structkit.testing.RandomModel` that writes random values of the type.
    """
    from structkit.models.scripted import RandomModel, ScriptedModel

    scripted: list[ScriptedModel] = []
    failed = request.session.testsfailed

    def make(
        replies: Sequence[Reply] | None = None, *, seed: int = 0, vocabulary: Vocabulary | None = None
    ) -> ScriptedModel | RandomModel:
        if replies is None:
            return RandomModel(seed, vocabulary, brevity=4.0)
        scripted.append(ScriptedModel(replies, vocabulary))
        return scripted[-1]

    yield make  # type: ignore[misc]
    if request.session.testsfailed == failed:
        for model in scripted:
            model.check_finished()
