"""A model that is loaded before a process forks generates in the child, too."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import structkit as sk

torch = pytest.importorskip("torch", reason="needs torch")

TEXT = "Ana Souza, 34, works as a nurse in Porto."


@pytest.fixture
def two_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_generates_though_the_threads_of_the_parent_are_missing(two_threads: None) -> None:
    model = sk.load()
    expected = sk.extract(model, TEXT, dict[str, int], max_tokens=8)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # a deadlock; the machine may be slow
        try:
            same = sk.extract(model, TEXT, dict[str, int], max_tokens=8) == expected
            os._exit(0 if same and torch.get_num_threads() == 1 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert torch.get_num_threads() == 2
