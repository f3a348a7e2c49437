"""Messages with tools, and the tags of thinking."""

from __future__ import annotations

from typing import Any

import pytest

from structkit.models.hosted.parts import ReplyPart
from structkit.models.protocols import Conversation, Message
from structkit.models.text.function import from_function
from structkit.models.text.protocol import SupportsTokenIds
from structkit.models.thinking import find_thinking_tags
from structkit.testing import RandomModel, ScriptedModel


def test_a_conversation_is_a_sequence_of_its_messages() -> None:
    messages: tuple[Message, ...] = ({"role": "user", "content": "a"}, {"role": "user", "content": "b"})
    conversation = Conversation(messages)
    assert (conversation[0], conversation[1:], [*conversation]) == (messages[0], messages[1:], [*messages])


def test_the_tags_of_thinking_are_a_pair_of_strings() -> None:
    assert find_thinking_tags(("<a>", "</a>"), None, lambda text: False) == ("<a>", "</a>")
    for given in ("<a>", ("<a>",), ("<a>", "b", "</a>"), ("<a>", 3)):
        wrong: Any = given
        with pytest.raises(TypeError, match="thinking_tags must be two strings"):
            find_thinking_tags(wrong, None, lambda text: False)


def test_a_model_that_promises_token_ids_returns_them() -> None:
    for model in (RandomModel(), ScriptedModel(["a"]), from_function(lambda text: "a")):
        assert model.capabilities.token_ids == isinstance(model, SupportsTokenIds)


def test_a_part_of_a_reply_is_an_ordinary_one() -> None:
    part = ReplyPart()
    assert (part.text, part.refusal, part.fault, part.is_full, part.tokens) == ("", None, "", False, ())
