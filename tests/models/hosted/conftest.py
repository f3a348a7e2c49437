"""What the clients share, and what they leave behind."""

from __future__ import annotations

import gc
import ssl
from collections.abc import Iterator
from functools import cache

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


@pytest.fixture(autouse=True, scope="module")
def _share_certificates() -> Iterator[None]:
    """Read the certificates once; each client would read them again, which takes longer than its requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield
