"""Whether an open distinct text can still end as one that was not seen."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.targets.targets import read_target

PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[abc]"]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})")
        | inner.map(lambda one: f"({one})?")
    ),
    max_leaves=6,
)
TEXTS = ["".join(each) for size in range(7) for each in product("abc", repeat=size)]


@given(PATTERNS, st.data())
def test_a_text_goes_on_as_long_as_a_text_with_its_beginning_was_not_seen(
    pattern: str, data: st.DataObject
) -> None:
    texts = [text for text in TEXTS if re.fullmatch(pattern, text)]
    items = {"type": "string", "pattern": f"^(?:{pattern})(?!\\n)$"}
    automaton = link(read_target({"type": "array", "uniqueItems": True, "items": items}).rules())
    seen = data.draw(st.lists(st.sampled_from(texts), unique=True, min_size=max(len(texts) - 2, 0)))
    begun = json.dumps(seen)[:-1] + ", " * bool(seen)
    assert _can_be_read(automaton, begun) == (len(seen) < len(texts))
    for text in data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=4)):
        for size in range(len(text) + 1):
            is_new = any(each.startswith(text[:size]) for each in set(texts) - set(seen))
            assert _can_be_read(automaton, f'{begun}"{text[:size]}') == is_new
        assert _can_be_read(automaton, f'{begun}"{text}"') == (text not in seen)


@pytest.mark.parametrize("more", [0, 1])
def test_bytes_that_no_text_seen_has_next_count(more: int) -> None:
    automaton = link(
        read_target(
            {
                "type": "array",
                "uniqueItems": True,
                "items": {"type": "integer", "minimum": 10, "maximum": 18 + more},
            }
        ).rules()
    )
    assert _can_be_read(automaton, json.dumps(list(range(10, 19)))[:-1] + ", 1") == bool(more)


def _can_be_read(automaton: Automaton, text: str) -> bool:
    return bool(Reader(automaton).read(automaton.start_frames(), b"", text.encode())[0])
