"""Environment of all tests: few threads, no network, an empty cache, and hypothesis without deadlines."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# Set before torch, numba or tokenizers are imported, because they read the variables once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"

_cache = tempfile.TemporaryDirectory(prefix="structkit-tests-", ignore_cleanup_errors=True)
os.environ["STRUCTKIT_CACHE_DIR"] = _cache.name

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# Shared machines are sometimes slow, which must not fail a property test.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT
