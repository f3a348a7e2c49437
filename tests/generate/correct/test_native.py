"""What a model that enforces grammars is asked to enforce after a correction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import structkit as sk
from structkit.models.capabilities import Constraint
from structkit.models.text.function import FunctionModel
from structkit.models.text.protocol import TextRequest

COLORS = set[Literal["red", "green", "blue"]]


class Enforcing(FunctionModel):
    """A function that is said to enforce a notation.

    Attributes:
        requests: The requests so far.
    """

    requests: list[TextRequest]

    def request(self, request: TextRequest) -> Any:
        self.requests.append(request)
        return super().request(request)


def enforcing(kind: Constraint, *replies: str) -> Enforcing:
    each: Iterator[str] = iter(replies)
    model = sk.from_function(lambda text: next(each, ""))
    model.__class__ = Enforcing
    model.capabilities = replace(model.capabilities, constraints=frozenset({kind}))
    model.requests = []  # type: ignore[attr-defined]
    return model  # type: ignore[return-value]


def constraints(model: Enforcing) -> list[str]:
    return [request.constraint.text if request.constraint else "" for request in model.requests]


def test_a_few_choices_are_the_constraint_at_a_refused_place() -> None:
    """The grammar of the rest allows an item of a set again."""
    model = enforcing("grammar", '["red", "red"]', 'blue"', "]")
    result = sk.generate(model, "?", COLORS)
    assert result.value == {"red", "blue"}
    _, second, third = constraints(model)
    assert second == 'root ::= "blue\\"" | "green\\""\n'
    assert "green" in third
    assert (result.guarantee, result.trace.corrections) == ("corrected", 1)


def test_the_choices_begin_where_the_request_ends() -> None:
    model = enforcing("regex", "[1, 1", " 3, 2]")
    result = sk.generate(model, "?", sk.Regex(r"\[1, (2|3), 2\]"))
    assert result.text == "[1, 3, 2]"
    assert (model.requests[1].prefix, constraints(model)[1]) == ("[1,", r" 2, 2\]| 3, 2\]")


def test_without_a_notation_the_choices_are_a_text_only() -> None:
    model = enforcing("json_schema", '["red", "red"]', 'blue"]')
    assert sk.extract(model, "?", COLORS) == {"red", "blue"}
    assert (model.requests[1].choices, model.requests[1].constraint) == (('blue"', 'green"'), None)
