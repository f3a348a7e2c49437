from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from structkit.compile import compile
from structkit.guide.guide import Guide
from structkit.index import guide_file
from structkit.index.disk import background, store
from structkit.index.disk.background import Writer
from structkit.index.rows import row_files
from structkit.index.rows.row import shared_rows
from tests.languages import vocabulary

V = vocabulary()
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
TEXT = b'{"a": "xy"}'

PROCESS = """
import structkit as sk
from tests.index.disk.test_background import SCHEMA, TEXT, V
guide = sk.compile(SCHEMA, V)
cursor = guide.cursor()
for byte in TEXT:
    cursor.advance(byte)
cursor.advance(V.eos_token_ids[0])
"""
"""A process that ends after its first sequence."""


@pytest.fixture
def writer() -> Iterator[Writer]:
    made = Writer()
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(guide_file, "MIN_SECONDS", 0.0)
    for cache in (store._cache, shared_rows, row_files.row_files):
        cache.cache_clear()
    return tmp_path


def _finish(guide: Guide) -> None:
    """Write a sequence up to the end token."""
    cursor = guide.cursor()
    for byte in TEXT:
        cursor.fill_mask(np.empty(V.mask_words, np.uint32))
        cursor.advance(byte)
    cursor.advance(V.eos_token_ids[0])


def _job(done: Callable[[], object]) -> Callable[[], Iterator[None]]:
    def steps() -> Iterator[None]:
        done()
        yield

    return steps


def _wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_compile_only_reads_and_the_first_finished_sequence_saves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer()
    monkeypatch.setattr(guide_file, "WRITER", writer)
    guide = compile(SCHEMA, V)
    writer.flush()
    assert list(folder.iterdir()) == []
    _finish(guide)
    writer.flush()
    assert list(folder.glob("*.cache"))
    assert compile(SCHEMA, V).index.saver.is_stored  # type: ignore[union-attr]
    assert guide.index.saver is not None and not guide.index.saver.is_worth_it(1.0)


def test_a_target_that_compiles_faster_than_a_file_is_read_is_not_saved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide_file, "MIN_SECONDS", 100.0)
    monkeypatch.setattr(row_files, "MIN_SECONDS", 100.0)
    writer = Writer()
    monkeypatch.setattr(guide_file, "WRITER", writer)
    guide = compile({"enum": ["a"]}, V)
    guide.save_soon()
    writer.flush()
    assert list(folder.iterdir()) == []
    guide.save()
    assert len(list(folder.iterdir())) == 1, "a call of `save` is not a guess"


def test_a_schema_that_was_changed_since_is_not_saved(folder: Path) -> None:
    schema = {"type": "array", "items": {"enum": ["a"]}}
    guide = compile(schema, V)
    schema["items"] = {"type": "null"}
    guide.save()
    assert list(folder.iterdir()) == []


def test_jobs_run_in_order_in_a_daemon_thread(writer: Writer) -> None:
    threads: list[threading.Thread] = []
    order: list[int] = []
    for number in range(5):
        assert writer.submit(
            _job(lambda n=number: (order.append(n), threads.append(threading.current_thread())))
        )
    _wait_for(lambda: len(order) == 5)
    assert order == [0, 1, 2, 3, 4]
    begin = time.monotonic()
    assert writer.submit(_job(lambda: None)) and writer.flush(60)
    assert time.monotonic() - begin < 30  # the end of the last job wakes the thread that waits
    assert threads[0].daemon and threads[0] is not threading.current_thread()


def test_the_thread_ends_when_it_has_nothing_to_do(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_LINGER_SECONDS", 0.01)
    writer.submit(_job(lambda: None))
    _wait_for(lambda: writer._thread is None)
    done = threading.Event()
    writer.submit(_job(done.set))
    assert done.wait(60)


def test_jobs_are_refused_when_many_wait(writer: Writer) -> None:
    gate = threading.Event()
    writer.submit(_job(gate.wait))
    accepted = [writer.submit(_job(lambda: None)) for _ in range(2 * background._MAX_JOBS)]
    gate.set()
    assert background._MAX_JOBS - 1 <= sum(accepted) <= background._MAX_JOBS + 1
    writer.flush()
    assert writer.submit(_job(lambda: None))


def test_jobs_wait_until_no_further_job_comes(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_QUIET_SECONDS", 3600.0)
    done: list[int] = []
    for number in range(3):
        writer.submit(_job(lambda n=number: done.append(n)))
        time.sleep(0.01)
        assert done == []
    writer.flush()
    assert done == [0, 1, 2]
    monkeypatch.setattr(background, "_QUIET_SECONDS", 0.01)
    writer.submit(_job(lambda: done.append(3)))
    _wait_for(lambda: done == [0, 1, 2, 3])


def test_jobs_that_wait_while_the_writer_stops_run_with_the_next(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_QUIET_SECONDS", 3600.0)
    done: list[int] = []
    for number in range(2):
        assert writer.submit(_job(lambda n=number: done.append(n)))
    writer.stop(60)
    assert not writer.submit(_job(lambda: done.append(9))) and done == []
    writer.resume()
    monkeypatch.setattr(background, "_QUIET_SECONDS", 0.01)
    assert writer.submit(_job(lambda: done.append(2)))
    _wait_for(lambda: done == [0, 1, 2])


def test_many_jobs_are_done_at_once_in_a_burst(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_QUIET_SECONDS", 3600.0)
    done: list[int] = []
    for number in range(background._CROWD + 1):
        writer.submit(_job(lambda n=number: done.append(n)))
        if number == background._CROWD - 2:
            assert done == []
    _wait_for(lambda: len(done) >= background._CROWD)
    writer.flush()
    assert done == [*range(background._CROWD + 1)]


def test_an_exception_is_logged_once_and_does_not_end_the_thread(
    writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    background._log_once.cache_clear()

    def fail() -> None:
        raise ValueError("no way to save")

    done = threading.Event()
    for job in (fail, fail, done.set):
        writer.submit(_job(job))
    assert done.wait(60)
    [record] = [record for record in caplog.records if "no way to save" in record.getMessage()]
    assert record.levelname == "WARNING" and record.exc_info is not None


def test_the_exit_waits_for_a_limited_time(writer: Writer) -> None:
    gate = threading.Event()
    writer.submit(_job(gate.wait))
    start = time.monotonic()
    writer.close(0.05)
    assert time.monotonic() - start < 30
    assert not writer.submit(_job(lambda: None))
    gate.set()


@pytest.mark.long
def test_a_process_that_ends_after_its_first_sequence_saves_it(folder: Path) -> None:
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, check=True)
        assert "Error" not in done.stderr, "the kernels may be compiled, with a notice"
    assert list(folder.glob("*.cache")) and not list(folder.glob(".new-*"))


@pytest.mark.long
def test_processes_that_write_at_once_leave_whole_files(folder: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", PROCESS]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert compile(SCHEMA, V).index.saver.is_stored  # type: ignore[union-attr]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_the_job_and_the_child_can_save(folder: Path) -> None:
    writer = background.WRITER
    writing, written = threading.Event(), threading.Event()

    def slow() -> None:
        writing.set()
        time.sleep(0.05)
        written.set()

    assert writer.submit(_job(slow))
    assert writing.wait(60)
    child = os.fork()
    if child == 0:
        try:
            ok = written.is_set() and writer._thread is None and not writer._jobs
            _finish(compile(SCHEMA, V))
            writer.flush()
            os._exit(0 if ok and list(folder.glob("*.cache")) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    done = threading.Event()
    assert writer.submit(_job(done.set)) and done.wait(60)
