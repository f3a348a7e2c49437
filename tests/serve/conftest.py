"""The demo model, loaded once, and servers of models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import structkit as sk
from structkit.models.protocols import LogitsModel
from structkit.testing import RandomModel

if TYPE_CHECKING:
    from tests.serve.running import Served


@pytest.fixture(scope="session")
def demo() -> LogitsModel:
    pytest.importorskip("transformers", reason="needs transformers")
    return sk.load()


@pytest.fixture(scope="module")
def real(demo: LogitsModel) -> Iterator[Served]:
    """A server of the demo model."""
    from tests.serve.running import serving  # needs the extra `serve`

    with serving(demo) as served:
        yield served


@pytest.fixture(scope="module")
def random() -> Iterator[Served]:
    """A server of a model without weights."""
    from tests.serve.running import serving

    with serving(RandomModel(seed=3, brevity=2.0, context_length=2_000)) as served:
        yield served
