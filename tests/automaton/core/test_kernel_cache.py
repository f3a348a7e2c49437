"""numba's cache of the kernels: a file that does not match is replaced, and never runs."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from structkit.automaton.core.object_code import KernelCache, ObjectCode
from tests.shared import cases


def _increment(number: int) -> int:
    return number + 1


def _double(number: int) -> int:
    return number * 2


def _call(function: Callable[[int], int] = _increment, number: Any = 3) -> bool:
    """Call a new kernel, which must return what its function does; return whether it was in the cache."""
    kernel = numba.njit(no_cfunc_wrapper=True, _nrt=False)(function)
    kernel._cache = KernelCache(function, ObjectCode(Path("none")))
    assert kernel(number) == function(number)
    return bool(kernel.stats.cache_hits)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert not _call() and _call()
    return tmp_path


def _file(cache: Path, suffix: str, function: Callable[[int], int] = _increment) -> Path:
    [path] = cache.rglob(f"*{function.__name__}*.{suffix}")
    return path


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").touch()


def _as_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _as_foreign(path: Path) -> None:
    _call(_double)
    path.write_bytes(_file(path.parents[1], path.suffix[1:], _double).read_bytes())


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "text": lambda path: path.write_text("text"),
    "missing": Path.unlink,
    "folder": _as_folder,
    "loop": _as_loop,
    "foreign": _as_foreign,
}

ABSENT = "missing nbi", "missing nbc", "loop nbc", "foreign nbi"
"""What numba does not tell from a kernel that was never stored."""


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_kernel_with_a_damaged_file_is_compiled_again(
    damage: str, suffix: str, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = _file(cache, suffix)
    DAMAGES[damage](path)
    assert not _call()
    assert caplog.text.count("not used") == (f"{damage} {suffix}" not in ABSENT)
    assert _call() == (damage != "folder"), "the file was replaced"


@pytest.mark.long
def test_every_flipped_byte_and_every_cut_is_found(cache: Path) -> None:
    chance = random.Random(6)
    for path in (_file(cache, "nbi"), _file(cache, "nbc")):
        whole = path.read_bytes()
        for _ in range(cases(8, of=400)):
            at = chance.randrange(len(whole))
            flipped = bytearray(whole)
            flipped[at] ^= chance.randrange(1, 256)
            for damaged in (bytes(flipped), whole[:at]):
                path.write_bytes(damaged)
                _call()
                assert _call(), at


def test_an_index_that_names_the_file_of_another_signature_is_not_believed(cache: Path) -> None:
    """numba was killed between writing the index and the file that it names, where an older file lies."""
    index, content = _file(cache, "nbi"), _file(cache, "nbc")
    whole, integers = index.read_bytes(), content.read_bytes()
    index.unlink()
    assert not _call(number=2.5)
    content.write_bytes(integers)
    assert not _call(number=2.5)
    assert _call(number=2.5)
    index.write_bytes(whole)
    assert not _call() and _call()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_kernel_is_used_that_cannot_be_stored(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A limit on the size of files stands for the full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        assert not _call(_double)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "cannot write to" in caplog.text
    assert not _call(_double) and _call(_double)
