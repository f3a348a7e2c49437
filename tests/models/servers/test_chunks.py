"""The contents of the objects of a reply, also of those that are not as the API says."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from structkit.models.servers.chunks import api_of, end_of, joined_text, refusal_of, text_of
from structkit.models.servers.dialects import recognize

NO_TEXTS: list[Any] = [None, 3, True, {}, [], ["a"], {"text": "a"}, [{"type": "text", "text": 3}]]


@pytest.mark.parametrize("place", ["delta", "message", None])
def test_what_is_no_text_is_empty(place: str | None) -> None:
    for content in NO_TEXTS:
        part = {"content": content, "refusal": content, "finish_reason": content}
        choice = part if place is None else {place: part, "finish_reason": content}
        for choices in (choice, [choice], ["a", choice], [{"index": 1, "text": "b"}, choice]):
            chunk = {"choices": choices}
            assert (text_of(chunk), refusal_of(chunk), end_of(chunk)) == ("", "", ""), chunk


def test_the_texts_of_the_first_answer() -> None:
    """The part of a message comes before the choice, and the other answers are skipped."""
    other = {"index": 1, "text": "b", "finish_reason": "length"}
    for name, index in product(("delta", "message"), ({}, {"index": 0}, {"index": None})):
        choice = {name: {"content": "a", "refusal": "r"}, "text": "c", "finish_reason": "stop", **index}
        chunk = {"choices": [other, choice, {**choice, "text": "d"}]}
        assert (text_of(chunk), refusal_of(chunk), end_of(chunk)) == ("a", "r", "stop")
    assert text_of({"choices": [other]}) == end_of({"choices": [other]}) == ""
    assert text_of({"choices": [{"delta": None, "text": "c"}]}) == "c"
    parts = [
        {"type": "text", "text": "a"},
        "b",
        {"type": "thinking", "text": "c"},
        {"type": "text", "text": "d"},
    ]
    assert joined_text(parts) == "ad"


def test_the_api_of_an_object() -> None:
    for kind in ("message", "message_start", "content_block_delta"):
        assert api_of({"type": kind}).startswith("Anthropic")
        assert api_of({"type": kind, "choices": 3}) == ""
    assert api_of({"candidates": []}).startswith("Gemini")
    assert [api_of({"type": kind}) for kind in (None, "error", "a message")] == ["another API"] * 3


@pytest.mark.parametrize("host", ["api.openai.com", "api.deepseek.com/beta", "api.mistral.ai", "other.com"])
def test_the_lists_of_hosted_servers_need_not_be_complete(host: str) -> None:
    """So a model that is not listed is no error there."""
    assert not recognize(f"https://{host}", {}.get, set()).is_local
    assert recognize(f"https://{host}", {"/version": {"version": "1"}}.get, set()).is_local == (
        "other" in host
    )
