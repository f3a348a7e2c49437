"""The demo model, loaded once."""

from __future__ import annotations

import pytest

import structkit as sk
from structkit.models.protocols import LogitsModel


@pytest.fixture(scope="session")
def demo() -> LogitsModel:
    pytest.importorskip("transformers", reason="needs transformers")
    return sk.load()
