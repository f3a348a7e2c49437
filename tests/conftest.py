"""Environment of all tests: few threads, no network, an empty cache, few or all cases, a bar of progress.

Tests with the marker `long` run with `--all`, with `-m long`, and when they are named (`tests/file.py::test`). With
`long(every=4)` they are all cases of a test but the first of each four.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import ssl
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

# Set before torch, numba or tokenizers are imported, because they read the variables once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"

_cache = tempfile.TemporaryDirectory(prefix="structkit-tests-", ignore_cleanup_errors=True)
os.environ["STRUCTKIT_CACHE_DIR"] = _cache.name


def _import_later(name: str, function: str) -> None:
    """Replace a package by one that imports it when a function of it is called."""
    package = ModuleType(name)

    def called(*arguments: object) -> object:
        if sys.modules[name] is package:
            del sys.modules[name]
        return getattr(import_module(name), function)(*arguments)

    vars(package)[function] = called
    sys.modules[name] = package


# jsonschema imports it for the format `iri`. It makes 38 parsers, which takes each process more than a second.
if find_spec("rfc3987_syntax"):
    _import_later("rfc3987_syntax", "is_valid_syntax")

# torch imports it where it is installed, which only the benchmarks need. Without it, the end of a process need not free
# the frozen objects, which takes 4 s: triton reports those that remain as leaks.
sys.modules["triton"] = None  # type: ignore[assignment]

# No test speaks TLS; reading the certificates takes each of hundreds of clients 20 ms.
ssl.create_default_context = cache(ssl.create_default_context)

gc.set_threshold(100_000, 50, 20)  # with 700, collections take a ninth of the time
gc.disable()  # until the tests are collected, none of which is garbage

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from hypothesis.internal.conjecture import providers  # noqa: E402

from structkit.trace import text  # noqa: E402
from tests.bar import Bar  # noqa: E402

text._SHOWN_SECONDS = 1000.0  # the drawings in the tests and the docs are the same on a slow machine

# Shared machines are sometimes slow, which must not fail a property test.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("all"), max_examples=12)

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="run long tests and all random cases, as before a release"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--all"):
        os.environ["STRUCTKIT_ALL"] = "1"  # read by tests.shared, also in the workers
    profile = settings.get_profile("all" if os.environ.get("STRUCTKIT_ALL") else "few")
    # The default run has the same cases each time, so that none fails by chance; `--all` looks for new ones.
    if os.environ.get("CI") or not os.environ.get("STRUCTKIT_ALL"):
        profile = settings(profile, derandomize=True, print_blob=True)
        # Otherwise it draws constants from the sources that a process has imported, and reads all of them for 3 s.
        providers.is_local_module_file = lambda path: False  # type: ignore[attr-defined]
    settings.register_profile("chosen", profile)
    settings.load_profile("chosen")
    if sys.stdout.isatty() and config.option.verbose <= 0 and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Bar(config), "structkit-bar")


def pytest_collection_finish() -> None:
    """Collect no garbage among modules and tests, which live until the end, and leave all logs to the root."""
    gc.enable()
    gc.freeze()
    # pytest adds its handlers to each logger that does not propagate, six times for each test; torch has 57 of them.
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True


@pytest.fixture
def few_objects() -> None:
    """Exempt what other tests left from the collections of garbage of a test, which take half a second each."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed the generators that a process shares, so that a test draws the same after any other."""
    random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(0)
        if torch.cuda.is_initialized():  # otherwise `torch.manual_seed` notes a stack for each kind of device
            torch.cuda.manual_seed_all(0)


_left_out = pytest.StashKey[int]()  # how many long tests


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave out long tests; before `-m long` chooses, those that `every` keeps lose the marker."""
    counts = Counter[str]()
    for item in items:
        if (mark := item.get_closest_marker("long")) and "every" in mark.kwargs:
            name = item.nodeid.partition("[")[0]
            if counts[name] % mark.kwargs["every"] == 0:
                item.own_markers[:] = [each for each in item.own_markers if each.name != "long"]
            counts[name] += 1
    yield
    named = any("::" in argument for argument in config.args)
    if os.environ.get("STRUCTKIT_ALL") or config.option.markexpr or named:
        return
    if long := [item for item in items if item.get_closest_marker("long")]:
        config.stash[_left_out] = len(long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave no objects to the later collections of pytest and of the interpreter, which take a second each."""
    gc.collect()  # pytest raises what the finalizers of garbage raise
    gc.freeze()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    if count := getattr(node, "workeroutput", {}).get("left_out"):
        node.config.stash[_left_out] = count  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if count := config.stash.get(_left_out, 0):
        terminalreporter.write_line(
            f"{count} long tests left out: `sh scripts/test -m long` runs them, `sh scripts/test --all` everything"
        )
