"""What a model that enforces grammars is asked to enforce after a correction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

import structkit as sk
from structkit.generate.correct import runner
from structkit.generate.correct.native import answer_constraint, choice_constraint, rest_constraint
from structkit.generate.correct.runner import run_text_flows
from structkit.generate.input.request import Request
from structkit.generate.run.request import compile_request
from structkit.generate.run.text import write_text
from structkit.generate.threads.flows import Cancelled
from structkit.models.capabilities import Capabilities, Constraint
from structkit.models.native.profiles import OPENAI_STRICT
from structkit.models.text.function import FunctionModel
from structkit.models.text.protocol import TextRequest
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary

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


def _able(*kinds: Constraint, profile: Any = None) -> Capabilities:
    return Capabilities(constraints=frozenset(kinds), schema_profile=profile)


def test_the_schema_of_an_answer_is_what_the_server_enforces_of_it() -> None:
    keys: Any = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    town: Any = {"type": "object", **keys, "additionalProperties": False}
    found = answer_constraint(_able("json_schema", profile=OPENAI_STRICT), read_target(town))
    assert found is not None and found.kind == "json_schema" and found.schema is not None
    assert found.schema["properties"] == {"a": {"type": "integer"}}  # type: ignore[index]
    for capabilities, target in [
        (_able("json_schema"), town),
        (_able("regex", profile=OPENAI_STRICT), town),
        (_able("json_schema", profile=OPENAI_STRICT), sk.Regex("a")),
        (_able("json_schema", profile=OPENAI_STRICT), {"type": "array"}),  # OpenAI takes only objects
    ]:
        assert answer_constraint(capabilities, read_target(target)) is None


def test_the_rest_of_an_answer_is_a_grammar_or_a_regex() -> None:
    cursor = sk.compile(sk.Regex("a[bc]d"), byte_vocabulary(), cache=False).cursor()
    cursor.advance(ord("a"))
    both = rest_constraint(_able("regex", "grammar"), cursor)
    assert both is not None and both.kind == "grammar" and both.text.startswith("root ::=")
    regex = rest_constraint(_able("regex"), cursor)
    assert regex is not None and (regex.kind, regex.text) == ("regex", "[bc]d")
    assert rest_constraint(_able("json_schema"), cursor) is None
    recursive: Any = {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}
    tree = sk.compile(recursive, byte_vocabulary(), cache=False).cursor()
    assert (
        rest_constraint(_able("regex"), tree) is None and rest_constraint(_able("grammar"), tree) is not None
    )
    assert choice_constraint(_able("json_schema"), ["a", "b"]) is None


def test_a_cancelled_call_does_not_wait_for_its_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CLOSE_SECONDS", 0.05)
    cancelled, begun, release, ended = (threading.Event() for _ in range(4))

    def reply(text: str) -> str:
        begun.set()
        release.wait(20)
        ended.set()
        return "1"

    def cancel() -> None:
        begun.wait(20)
        cancelled.set()

    threading.Thread(target=cancel, daemon=True).start()
    model = sk.from_function(reply)
    flows = (
        write_text(compile_request(Request(model=model, prompt="a", target=int, number=n))) for n in range(2)
    )
    try:
        with pytest.raises(Cancelled):
            list(run_text_flows(model, flows, 2, cancelled))
        assert not ended.is_set()
    finally:
        release.set()
