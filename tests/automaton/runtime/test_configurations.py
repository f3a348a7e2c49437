"""The arrays of configurations, as they grow."""

from __future__ import annotations

import numpy as np

import structkit as sk
from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime import frame_kernels as kernels
from structkit.automaton.runtime import parse_kernels
from structkit.automaton.runtime.configurations import Configurations
from structkit.index.mask_builder import vocabulary_memory
from structkit.index.rows.row_kernels import SLOTS

VOCABULARY = sk.Vocabulary(tokens=[*(bytes([byte]) for byte in range(128)), b"<end>"], eos_token_ids={128})
NESTED = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}


def test_hash_tables_grow_with_their_entries() -> None:
    index = sk.compile(NESTED, VOCABULARY, cache=False).index
    memory = Memory(SLOTS, vocabulary_memory(VOCABULARY, index.automaton.limits.parse_states))
    configurations = Configurations(index.reader, lambda: index.token_distances, memory, 2**26)
    first = len(memory[kernels.FRAME_BUCKETS]), len(memory[kernels.LIST_BUCKETS])
    depths = np.random.default_rng(0).integers(1_000, 4_000, 3).tolist()
    read = [advance_through(configurations, b"[" * depth + b"]" * depth) for depth in depths]
    frames, lists = memory[kernels.COUNTERS][[kernels.FRAME_COUNT, kernels.LIST_COUNT]].tolist()
    assert first[0] < len(memory[kernels.FRAME_BUCKETS]) >= frames // 2
    assert first[1] < len(memory[kernels.LIST_BUCKETS]) >= lists // 2
    # Whatever was read before is found again under its number.
    assert [advance_through(configurations, b"[" * depth + b"]" * depth) for depth in depths] == read
    assert memory[kernels.COUNTERS][[kernels.FRAME_COUNT, kernels.LIST_COUNT]].tolist() == [frames, lists]


def advance_through(configurations: Configurations, text: bytes) -> list[int]:
    """Return the configuration after each byte."""
    found = [configurations.start]
    for byte in text:
        found.append(configurations.advance(found[-1], byte))
    assert found[-1] > 0
    assert found[-1] & 1
    return found


def test_frames_have_the_number_of_their_configuration() -> None:
    index = sk.compile(NESTED, VOCABULARY, cache=False).index
    memory = Memory(SLOTS, vocabulary_memory(VOCABULARY, index.automaton.limits.parse_states))
    configurations = Configurations(index.reader, lambda: index.token_distances, memory, 2**26)
    for number in advance_through(configurations, b"[[], [[]]]"):
        assert configurations.number(*configurations.frames(number)) == number


def test_kernels_that_change_shared_arrays_hold_the_interpreter_lock() -> None:
    assert not parse_kernels.advance.targetoptions["nogil"]  # type: ignore[attr-defined]  # a dispatcher
    assert parse_kernels.forced_bytes.targetoptions.keys() >= {"nogil"}  # type: ignore[attr-defined]
