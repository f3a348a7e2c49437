"""Values that are very deep are brought to their end while pydantic still reads them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.testing import ScriptedModel


class Node(BaseModel):
    child: Node | None = None


class Tree(BaseModel):
    name: str
    items: list[Tree] = []


@pytest.mark.parametrize(
    ("target", "opening", "inner", "closing"),
    [
        (Node, '{"child": ', "null", "}"),
        (Tree, '{"name": "[[", "items": [', "", "]}"),
        (Any, "[", "", "]"),
        (dict[str, Any], '{"]": ', "1", "}"),
    ],
)
def test_a_model_that_opens_for_ever(target: Any, opening: str, inner: str, closing: str) -> None:
    text = opening * 210 + inner + closing * 210
    result = sk.generate(ScriptedModel([text]), "Go on.", target, max_tokens=20_000)
    assert result.finish_reason == "budget"
    assert 80 < result.text.count(closing[-1]) <= 200


def test_what_is_wide_is_not_deep() -> None:
    text = "[" + ", ".join(["[[]]"] * 150) + ', "' + "[" * 300 + '"]'
    result = sk.generate(ScriptedModel([text]), "Go on.", list[Any], max_tokens=20_000)
    assert result.text == text and result.finish_reason == "stop"
