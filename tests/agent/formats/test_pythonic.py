"""Calls in Python notation: Python parses the written calls, and the reader converts them to equal JSON."""

from __future__ import annotations

import ast
import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import structkit as sk
from structkit.agent.formats.pythonic import PythonicFormat
from structkit.agent.formats.step import ParsedCall, StepTarget
from structkit.functions.python_arguments import PythonArgumentsReader
from structkit.generate.output.json_reader import read_values
from structkit.lowering.containers.notation import PYTHON
from structkit.testing import ScriptedModel
from tests.agent.run.noise import random_runs
from tests.shared import cases

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def _read(call: ast.expr) -> dict[str, object]:
    """Parse the arguments of a call with Python."""
    assert isinstance(call, ast.Call) and not call.args
    found: dict[str, object] = {}
    for each in call.keywords:
        value = ast.literal_eval(each.value)
        found.update(value if each.arg is None else {each.arg: value})
    return found


@given(st.dictionaries(TEXTS | st.sampled_from(["a", "b", "class", "None", "é", "ﬁ"]), VALUES, max_size=4))
@settings(max_examples=cases(10, of=300), deadline=None)
def test_python_parses_the_written_calls(arguments: dict[str, object]) -> None:
    written = PythonicFormat().format_arguments(json.dumps(arguments, ensure_ascii=False))
    tree = ast.parse(f"f({written})", mode="eval")
    assert _read(tree.body) == arguments
    for step in (1, 3, 1000):
        reader, text, at = PythonArgumentsReader(), "", 0
        data = f"{written})]".encode()
        while not reader.is_complete:
            end, more = reader.read(data[at : at + step])
            at, text = at + end, text + more
        assert json.loads(text) == arguments
        assert data[at:] == b")]"


@given(VALUES)
@settings(deadline=None)
def test_only_literal_names_are_converted(value: object) -> None:
    assert repr(ast.literal_eval(PYTHON.render(json.dumps(value, ensure_ascii=False)))) == repr(value)


class Place(BaseModel):
    street: str | None
    tags: dict[str, bool | None]
    inside: Place | None = None


def move(to: Place, by: Literal[True, None, "true"] = None, at: float | None = None) -> str:
    return "moved"


def take(things: list[bool | str | None], count: int = 1) -> str:
    return "taken"


def keep(anything: object) -> str:
    return "kept"


def rest() -> str:
    return "rested"


ODD = {
    "type": "object",
    "properties": {"a b": {"type": "boolean"}, "class": {"type": ["null", "integer"]}},
    "required": ["a b"],
}
OPEN = {
    "type": "object",
    "properties": {"a": {"const": [None, {"b": False}]}},
    "additionalProperties": {"type": "null"},
}
ANY = sk.JsonSchema(OPEN)


@pytest.mark.long(every=4)
@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("whitespace", ["spaced", "compact"])
def test_random_logits_write_valid_python(
    monkeypatch: pytest.MonkeyPatch, order: Any, whitespace: Any
) -> None:
    """Every step of random agents is a Python expression with the values of the calls."""
    read = StepTarget.parse
    calls: list[str] = []

    def checked(self: StepTarget, text: str, context: object = None) -> object:
        value = read(self, text, context)
        if isinstance(value, tuple) and value and isinstance(value[0], ParsedCall):
            tree = ast.parse(text, mode="eval").body
            assert isinstance(tree, ast.List) and len(tree.elts) == len(value)
            for call, written in zip(tree.elts, value, strict=True):
                assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                assert call.func.id == written.tool.name
                assert repr(_read(call)) == repr(json.loads(written.arguments))
                calls.append(call.func.id)
        return value

    monkeypatch.setattr(StepTarget, "parse", checked)
    tools = [move, take, keep, rest]
    odd = [
        sk.Tool(function=lambda **given: 1, name=f"odd_{n}", schema=schema)
        for n, schema in enumerate([ODD, ANY])
    ]
    agent = sk.Agent(
        ScriptedModel([]),
        tools=[*tools, *odd],
        output_type=dict[str, int],
        format="pythonic",
        max_parallel_calls=2,
        max_steps=4,
        max_tokens=600,
        on_limit="answer",
        order=order,
        whitespace=whitespace,
    )
    random_runs(agent, n=cases(16, of=40))
    assert set(calls) == {"move", "take", "keep", "rest", "odd_0", "odd_1"}


def test_arguments_that_are_not_identifiers_are_a_dict() -> None:
    odd = sk.Tool(function=lambda **given: given, name="odd", schema=ODD)
    model = ScriptedModel(['[odd(**{"a b": True, "class": None})]', "Done."])
    result = sk.Agent(model, tools=[odd], format="pythonic").run("Go.")
    assert result.calls[0].tool_result == {"a b": True, "class": None}


def test_nothing_but_literals_can_be_written() -> None:
    model = ScriptedModel(["[take(things=[__import__('os')])]", "Done."], strict=False)
    agent = sk.Agent(model, tools=[take], format="pythonic", max_steps=2, max_tokens=200, on_limit="answer")
    for call in agent.run("Go.").calls:
        assert all(item is None or isinstance(item, (bool, str)) for item in call.arguments["things"])  # type: ignore[attr-defined]


def test_numbers_are_written_as_they_were() -> None:
    written = PythonicFormat().format_arguments(
        '{"a": 1E+05, "b": [0.10, -0, 1e999], "c": 0.999999999999999999}'
    )
    assert written == "a=1E+05, b=[0.10, -0, 1e999], c=0.999999999999999999"


def test_a_history_that_is_not_json_is_unchanged() -> None:
    assert PythonicFormat().format_arguments('{"a": NaN}') == '**{"a": NaN}'
    assert PythonicFormat().format_arguments("[1, 2") == "**[1, 2"
    assert PythonicFormat().format_arguments("[" * 100_000)[:4] == "**[["


def test_lone_surrogates_stay_escapes() -> None:
    """Tokenizers cannot encode lone surrogates, and one of them marks a control token."""
    arguments = r'{"text": "\udcff[TOOL_CALLS] \ud800 \ud83d\ude00"}'
    written = PythonicFormat().format_arguments(arguments)
    assert written == r'text="\udcff[TOOL_CALLS] \ud800 😀"'
    assert _read(ast.parse(f"f({written})", mode="eval").body) == json.loads(arguments)


def test_a_stored_call_that_is_not_unicode_is_rejected() -> None:
    def say(text: str) -> str:
        return text

    def agent(*script: str) -> sk.Agent[str]:
        tools = [sk.tool(say, requires_approval=True)]
        return sk.Agent(ScriptedModel(script), tools, format="pythonic")

    with pytest.raises(sk.RunSuspended) as paused:
        agent('[say(text="x")]').run("Go.")
    changed = paused.value.state.dumps().replace(r"\"x\"", r"\"\\ud800\"")
    with pytest.raises(sk.AgentError, match=r"(?s)invalid arguments of call_1 in the state: .*Invalid JSON"):
        agent().resume(sk.RunState.loads(changed), approvals=True)


@pytest.mark.long(every=5)
@pytest.mark.parametrize("whitespace", ["spaced", "compact"])
@pytest.mark.parametrize("name", ["json", "hermes", "llama", "mistral", "pythonic"])
def test_a_suspended_run_continues_in_every_style(name: Any, whitespace: Any) -> None:
    tools = [sk.tool(each, requires_approval=True) for each in (move, take)]
    numbers = {"type": "object", "properties": {"x": {"type": "number"}, "y": {}}, "required": ["x", "y"]}
    tools.append(
        sk.Tool(function=lambda **given: 1, name="odd", schema=sk.JsonSchema(numbers), requires_approval=True)
    )
    agent = sk.Agent(
        ScriptedModel([]),
        tools,
        output_type=bool,
        format=name,
        whitespace=whitespace,
        max_steps=3,
        max_tokens=400,
        on_limit="answer",
    )
    assert sum(len(result.calls) for result in random_runs(agent, n=cases(6, of=9))) > 3


def test_a_dict_of_arguments_is_read_like_json() -> None:
    text = b'**{"a b": [True, "x"], "class": None}'
    (part,) = PythonicFormat().json_parts('{"a b": [true, "x"], "class": null}', text)
    values = {each.path: text[2:][each.start : each.end] for each in read_values(text[part.start : part.end])}
    assert values[("a b", 0)] == b"True" and values[("class",)] == b"None"
