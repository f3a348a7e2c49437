"""The bytes of events."""

from __future__ import annotations

import json

import pytest

from structkit.serve.write.events import dumped, event


@pytest.mark.parametrize("text", ["a", "\u00e9\u4e2d\U0001f600", "\n\r\u2028", '"\\'])
def test_an_event_is_one_line_of_utf_8_without_escapes_that_json_does_not_need(text: str) -> None:
    for name in (None, "delta"):
        (*head, line) = event({"t": [text, 1]}, name=name).decode().removesuffix("\n\n").split("\n")
        assert head == ([] if name is None else ["event: delta"])
        assert json.loads(line.removeprefix("data: ")) == {"t": [text, 1]}
        assert line == "data: " + json.dumps({"t": [text, 1]}, ensure_ascii=False).replace(" ", "")


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert dumped("a\ud800") == b'"a?"'
