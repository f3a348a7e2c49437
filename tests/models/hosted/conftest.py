"""What the clients leave behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The packages leave suspended generators of a stream that was closed, and Python says so when it finalizes them.
    left = "ignore:Exception ignored in. <async_generator object:pytest.PytestUnraisableExceptionWarning"
    for item in items:
        if "/models/hosted/" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings(left))


@pytest.fixture(autouse=True, scope="module")
def _collect_generators() -> Iterator[None]:
    """Finalize them here, and not in a test of other files."""
    yield
    gc.collect()
