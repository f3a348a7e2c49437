"""What may stand in the folder of the cache: torn, planted and foreign files, full disks, killed writers."""

from __future__ import annotations

import errno
import logging
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from structkit.index.disk import store
from tests.shared import cases

if sys.platform == "win32":
    pytest.skip("the tests fork, and change owners and modes", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a process with threads forks

FORM: store.ArrayLayout = {"a": ("int32", 1), "b": ("uint8", 1)}
ADDRESS = store.Addresses("hostile files").of(b"")
OTHER = store.Addresses("hostile files, another").of(b"")
MAX_BYTES = 1 << 30


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _use(tmp_path, monkeypatch)
    return tmp_path


def _use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(folder))
    store._cache.cache_clear()
    monkeypatch.setattr(store, "_reported", set())


def _save(value: int, size: int = 40, address: str = ADDRESS) -> bool:
    arrays = {"a": np.full(size, value, np.int32), "b": np.full(size, value % 251, np.uint8)}
    return store.save(address, FORM, arrays, MAX_BYTES)


def _load(address: str = ADDRESS) -> int | None:
    """Return the value of a whole file, as a process that starts now reads it; `None` if there is no file."""
    store._cache.cache_clear()
    arrays = store.load(address, FORM)
    if arrays is None:
        return None
    [value] = set(arrays["a"].tolist())
    assert set(arrays["b"].tolist()) == {value % 251} and len(arrays["a"]) == len(arrays["b"])
    return int(value)


def _in_child(function: Callable[[], object]) -> int:
    """Run a function in a child process; return the process."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return child


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_every_flipped_byte_and_every_cut_is_found(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert _save(7, size=11)
    path = folder / f"{ADDRESS}.cache"
    whole = path.read_bytes()
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= random.Random(at).randrange(1, 256)
        for damaged in (bytes(flipped), whole[:at]):
            path.write_bytes(damaged)
            assert _load() is None, at
            assert not path.exists()
    path.write_bytes(whole)
    assert _load() == 7
    assert len(_warnings(caplog)) == 1, "said once"


def test_the_file_of_another_content_is_not_read(folder: Path) -> None:
    assert _save(1) and _save(2, address=OTHER)
    first, second = folder / f"{ADDRESS}.cache", folder / f"{OTHER}.cache"
    first.rename(folder / "x")
    second.rename(first)
    (folder / "x").rename(second)
    assert _load() is None and _load(OTHER) is None


@pytest.mark.long
def test_killed_writers_leave_whole_files(folder: Path) -> None:
    """A writer is killed at a random moment; the next reader finds a whole file or none, and writes another."""
    chance = random.Random(33)
    found = torn = 0
    for number in range(200):
        if number >= cases(20, of=200) and found and torn:
            break
        size = chance.choice((10, 10_000, 300_000))

        begun = os.pipe()

        def write(number: int = number, size: int = size, begun: tuple[int, int] = begun) -> None:
            os.write(begun[1], b".")
            for step in range(1000):
                _save(1000 * number + step, size)

        child = _in_child(write)
        assert os.read(begun[0], 1) == b"."  # on a busy machine the child starts late
        for end in begun:
            os.close(end)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        found += _load() is not None
        torn += bool(list(folder.glob(".new-*")))
        assert _save(number) and _load() == number
    assert found and torn, "some were killed after, and some during a write"
    for path in folder.glob(".new-*"):
        os.utime(path, (1, 1))
    store._shrink(folder, MAX_BYTES)
    assert [path.name for path in folder.iterdir()] == [f"{ADDRESS}.cache"]


@pytest.mark.long
def test_eight_processes_write_read_and_remove_the_same_files(folder: Path) -> None:
    def work(number: int) -> bool:
        chance = random.Random(number)
        for step in range(cases(60, of=400)):
            address = chance.choice((ADDRESS, OTHER))
            if chance.random() < 0.1:
                store.remove(address)
            elif chance.random() < 0.5:
                _save(1000 * number + step, chance.choice((3, 50_000)), address)
            else:
                _load(address)  # asserts that what it finds is whole
        return True

    children = [_in_child(lambda number=number: work(number)) for number in range(8)]  # type: ignore[misc]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    assert not list(folder.glob(".new-*"))


def test_a_full_disk_is_said_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A limit on the size of files stands for the full disk: a part of the file is written before the error."""
    import resource

    assert _save(1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        assert [_save(2, size=100_000) for _ in range(3)] == [False] * 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in folder.iterdir()] == [f"{ADDRESS}.cache"]
    assert _load() == 1
    [said] = _warnings(caplog)
    assert os.strerror(errno.EFBIG) in said and "STRUCTKIT_CACHE_DIR" in said


def test_a_file_in_place_of_the_folder_is_said_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error has the name of the temporary file, which is another each time."""
    (folder / "file").touch()
    _use(folder / "file", monkeypatch)
    assert [_save(2) for _ in range(3)] == [False] * 3
    assert len(_warnings(caplog)) == 1


def test_many_damaged_files_are_said_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for address in (ADDRESS, OTHER):
        assert _save(1, address=address)
        (folder / f"{address}.cache").write_bytes(b"")
        assert _load(address) is None
    assert len(_warnings(caplog)) == 1


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that root cannot write to")
def test_a_folder_that_cannot_be_written_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _use(Path("/proc/self/structkit"), monkeypatch)
    assert [_save(2) for _ in range(3)] == [False] * 3
    assert _load() is None
    assert len(_warnings(caplog)) == 1


def test_a_read_only_folder_is_read(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    if os.getuid() == 0:
        pytest.skip("root writes to a folder of any mode")
    assert _save(1)
    folder.chmod(0o500)
    try:
        assert not _save(2) and not _save(3)
        assert _load() == 1
    finally:
        folder.chmod(0o700)
    assert len(_warnings(caplog)) == 1


def _planted_by_mode(path: Path) -> None:
    path.chmod(0o666)


def _planted_by_owner(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 4242, -1)


@pytest.mark.parametrize("plant", [_planted_by_mode, _planted_by_owner])
def test_a_file_that_another_user_can_have_written_is_not_read(
    folder: Path, plant: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """The folder is private now, and was open to others when they left a file with a valid checksum in it."""
    for _ in range(2):
        assert _save(1)
        path = folder / f"{ADDRESS}.cache"
        plant(path)
        assert _load() is None and not path.exists()
    assert _save(2) and _load() == 2
    assert len(_warnings(caplog)) == 1


def test_a_file_of_root_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() != 0:
        pytest.skip("only root has files of root")
    assert _save(1)
    os.chown(folder, 4242, -1)
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert _load() == 1


def test_a_link_is_neither_followed_nor_written_through(folder: Path) -> None:
    assert _save(1)
    path, target = folder / f"{ADDRESS}.cache", folder / "elsewhere"
    path.rename(target)
    content = target.read_bytes()
    path.symlink_to(target)
    assert _load() is None
    assert _save(2) and _load() == 2
    assert not path.is_symlink() and target.read_bytes() == content


@pytest.mark.parametrize("kind", ["dangling", "loop", "device", "pipe", "folder", "full folder"])
def test_what_is_no_file_neither_blocks_nor_raises(folder: Path, kind: str) -> None:
    path = folder / f"{ADDRESS}.cache"
    if kind == "dangling":
        path.symlink_to(folder / "nowhere")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
        if kind == "full folder":
            (path / "x").write_text("x")
    assert _load() is None
    assert _save(2) == (kind not in ("folder", "full folder"))
    assert _load() == (None if path.is_dir() else 2)


def test_a_file_that_is_too_large_is_not_read_into_memory(folder: Path) -> None:
    assert _save(1)
    path = folder / f"{ADDRESS}.cache"
    os.truncate(path, 1 << 40)
    assert _load() is None and not path.exists()
