"""Arrays that threads read while one of them extends them."""

from __future__ import annotations

import pytest

from structkit.automaton.core import memory


def test_the_larger_array_is_read_from_the_moment_that_kernels_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kernel of another thread may put an item into it before `extend` goes on."""
    arrays = memory.Memory(1)
    arrays.allocate(0, [4])
    arrays[0][:] = [1, 2, 3, 4]
    extend, found = memory._extend, []

    def extend_and_read(*arguments: object) -> None:
        found.append(arrays[0].tolist())
        extend(*arguments)
        found.append(arrays[0].tolist())

    monkeypatch.setattr(memory, "_extend", extend_and_read)
    arrays.extend(0)
    smaller, larger = found
    assert smaller == [1, 2, 3, 4]
    assert larger[:4] == smaller and larger == arrays[0].tolist() and len(larger) == 8
