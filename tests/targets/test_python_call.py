"""Calls in Python notation: Python parses each text, and the value has the written arguments."""

from __future__ import annotations

import ast
import json
import pickle
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

import structkit as sk
from structkit.agent.formats.pythonic import PythonicFormat
from structkit.functions.signature import read_signature
from structkit.targets import python_call
from structkit.targets.python_quotes import single_quoted
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.shared import cases


@dataclass
class Place:
    city: str
    tags: list[str]
    inside: Place | None = None


def get_user_info(user_id: int, special: str = "none") -> str:
    """Look up a user."""
    return f"{user_id} {special}"


def book(place: Place, seats: float, kind: Literal["plain", "a'b"] = "plain") -> str:
    return place.city


def stop(now: bool | None) -> None: ...


def text(words: dict[str, str]) -> int:
    return len(words)


FUNCTIONS = {each.__name__: each for each in (get_user_info, book, stop, text)}


def written(call: ast.expr) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call as Python reads them."""
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    assert not call.args
    return call.func.id, {f"{each.arg}": ast.literal_eval(each.value) for each in call.keywords}


def check(call: sk.Call[object], node: ast.expr) -> None:
    name, arguments = written(node)
    assert (call.name, call.function) == (name, FUNCTIONS[name])
    assert set(arguments) <= set(call.arguments)
    for key, value in arguments.items():
        found = call.arguments[key]
        assert (asdict(found) if isinstance(found, Place) else found) == (
            _with_defaults(value) if isinstance(found, Place) else value
        )


def _with_defaults(place: dict[str, Any]) -> dict[str, Any]:
    inside = place.get("inside")
    return place | {"inside": None if inside is None else _with_defaults(inside)}


def test_python_reads_random_lists_of_calls() -> None:
    target = sk.grammars.python_calls(*FUNCTIONS.values())
    for seed in range(cases(30, of=300)):
        result = sk.generate(RandomModel(seed=seed), "Go", target, max_tokens=40 + seed % 60)
        tree = ast.parse(result.text, mode="eval").body
        assert isinstance(tree, ast.List)
        assert len(tree.elts) == len(result.value)
        for call, node in zip(result.value, tree.elts, strict=True):
            check(call, node)


HOSTILE = [
    "",
    '"',
    "\\",
    "\\\\",
    '\\"',
    "'",
    "\n\r\t\b\f\0\x1f\x7f",
    ")]",
    "f(x=1)",
    '", special="',
    "\u2028é😀\ufeff",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_hostile_strings_are_arguments(value: str, words: dict[str, str]) -> None:
    arguments: dict[str, dict[str, object]] = {
        "get_user_info": {"user_id": 1, "special": value},
        "text": {"words": words},
    }
    given = [
        f"{name}({PythonicFormat().format_arguments(json.dumps(each, ensure_ascii=False))})"
        for name, each in arguments.items()
    ]
    calls = sk.extract(
        ScriptedModel([f"[{', '.join(given)}]"]), "Go", sk.grammars.python_calls(get_user_info, text)
    )
    assert [(call.name, call.arguments) for call in calls] == list(arguments.items())


def test_one_call_is_a_target() -> None:
    target = sk.PythonCall(get_user_info, stop)
    call = sk.extract(ScriptedModel(['get_user_info(user_id=7890, special="black")']), "User 7890", target)
    assert call.call() == "7890 black"
    assert sk.extract(ScriptedModel(["stop(now=None)"]), "Stop", target).arguments == {"now": None}
    assert pickle.loads(pickle.dumps(target)) == target
    assert "get_user_info(" in sk.to_regex(sk.PythonCall(get_user_info)).replace("\\", "")


def test_a_call_stands_inside_other_text() -> None:
    grammar = sk.Grammar(
        'start: "do " call (" then " call)* " until " number',
        holes={"call": sk.PythonCall(stop, get_user_info), "number": int},
        value="tree",
    )
    tree = sk.extract(
        ScriptedModel(["do stop(now=True) then get_user_info(user_id=-1) until 3"]), "Go", grammar
    )
    assert [f"{part.data}: {part.children[0]}" for part in tree.children] == [
        "call: Call(stop(now=True))",
        "call: Call(get_user_info(user_id=-1, special='none'))",
        "number: 3",
    ]


def advance(cursor: sk.Cursor, text: str) -> None:
    for byte in text.encode():
        cursor.advance(byte)


def test_the_language_has_names_in_order_and_no_other_functions() -> None:
    guide = sk.compile(sk.PythonCall(get_user_info, stop), byte_vocabulary())
    for wrong in (
        "get_user_info(7890)",
        'get_user_info(special="a", user_id=1)',
        "get_user_info(user_id='1')",
        "get_user_info(user_id=1, user_id=1)",
        "stop(now=true)",
        "open(path=1)",
        "stop()",
    ):
        with pytest.raises(sk.TokenRejected):
            advance(guide.cursor(), wrong)


def odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("even")
    return value


def add(number: Annotated[int, AfterValidator(odd)]) -> int:
    return number


def find(word: Annotated[str, sk.Quote()]) -> str:
    return word


def test_validators_and_quotes() -> None:
    calls = sk.generate(
        ScriptedModel(["[add(number=2)]", "[add(number=3)]"]), "Go", sk.grammars.python_calls(add)
    )
    assert [dict(call.arguments) for call in calls.value] == [{"number": 3}]
    assert calls.attempts == ("[add(number=2)]", "[add(number=3)]")
    for seed in range(10):
        (call, *_) = sk.extract(RandomModel(seed=seed), "one two", sk.grammars.python_calls(find))
        assert f"{call.arguments['word']}" in "one two"


def test_the_prompt_has_the_functions() -> None:
    prompt = sk.render_prompt(ScriptedModel([""]), "Go", sk.grammars.python_calls(get_user_info, stop))
    assert 'get_user_info({"user_id": integer, "special"?: string} /* Look up a user. */)' in prompt
    assert 'stop({"now": boolean | null})' in prompt


def test_what_is_rejected() -> None:
    def no_type(value) -> int:  # type: ignore[no-untyped-def]
        return 1

    def renamed() -> None: ...

    renamed.__name__ = "a b"
    for functions, message in (
        ((), "at least one"),
        ((stop, stop), "two functions are named stop"),
        ((int,), r"takes functions, not .*\n  write PythonCall\(f\)"),
        (([stop],), r"takes functions, not .*\n  write PythonCall\(\*functions\)"),
        ((lambda: 1,), "lambda"),
        ((no_type,), "no annotation"),
        ((renamed,), "not a name in Python"),
    ):
        with pytest.raises(sk.SchemaError, match=message):
            sk.PythonCall(*functions)
    with pytest.raises(ValueError, match="the hole x is a Grammar"):
        sk.Grammar("start: x", holes={"x": sk.Grammar('start: "a"')})


def test_compile_reads_each_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list[str]()

    def counted(function: Any) -> object:
        names.append(function.__name__)
        return read_signature(function)

    monkeypatch.setattr(python_call, "read_signature", counted)
    target = sk.PythonCall(stop)  # this reads the names
    names.clear()
    guide = sk.compile(target, byte_vocabulary(), cache=False)
    assert names == ["stop"] and not guide.is_json


def test_a_call_of_llama_has_single_quotes() -> None:
    """The example in Meta's documentation of its models."""
    text = "[get_user_info(user_id=7890, special='black')]"
    target = sk.grammars.python_calls(get_user_info)
    (call,) = sk.extract(ScriptedModel([text]), "Go", target)
    assert call.arguments == {"user_id": 7890, "special": "black"}


@given(TEXTS, st.dictionaries(st.sampled_from(["a", "b'", '"c']), TEXTS))
def test_hostile_strings_in_single_quotes_are_arguments(value: str, words: dict[str, str]) -> None:
    quoted = single_quoted(json.dumps(value, ensure_ascii=False))
    pairs = [
        f"{json.dumps(key)}: {single_quoted(json.dumps(each, ensure_ascii=False))}"
        for key, each in words.items()
    ]
    written = f"[get_user_info(user_id=1, special={quoted}), text(words={{{', '.join(pairs)}}})]"
    assert ast.literal_eval(quoted) == value
    calls = sk.extract(ScriptedModel([written]), "Go", sk.grammars.python_calls(get_user_info, text))
    assert [call.arguments for call in calls] == [{"user_id": 1, "special": value}, {"words": words}]


def order(
    place: Place,
    kind: Literal["plain", "a'b"],
    tags: set[str],
    code: Annotated[str, Field(pattern="^[a-z]+$")],
    names: dict[str, str],
    note: Annotated[str | None, Field(max_length=3)] = None,
) -> None: ...


ORDER = (
    "order(place={'city': 'x\"', \"tags\": ['a', \"b\"], 'inside': None}, kind='a\\'b', tags=[\"a\"], code=\"ab\", "
    "names={\"k\": 'v'}, note='a\\'b')"
)


def test_keys_constants_and_free_text_have_both_kinds_of_quotes() -> None:
    guide = sk.compile(sk.PythonCall(order), byte_vocabulary())
    cursor = guide.cursor()
    advance(cursor, ORDER)
    assert cursor.is_accepting
    call = sk.extract(ScriptedModel([ORDER]), "Go", sk.PythonCall(order))
    _, arguments = written(ast.parse(ORDER, mode="eval").body)
    assert call.arguments["place"] == Place(**arguments.pop("place"))
    assert {key: call.arguments[key] for key in arguments} == arguments | {"tags": {"a"}}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("kind='a\\'b'", "kind='a'b'"),
        ("kind='a\\'b'", 'kind="a\\\'b"'),
        ("'city': 'x\"'", "'city': 'x\""),
        ("'city': 'x\"'", "'city': 'x\\\"'"),
        ("'city'", "'city\""),
        ('tags=["a"]', "tags=['a']"),
        ('code="ab"', "code='ab'"),
        ('{"k"', "{'k'"),
        ("note='a\\'b'", "note='abcd'"),
    ],
)
def test_what_must_be_distinct_or_has_a_pattern_is_in_double_quotes(right: str, wrong: str) -> None:
    assert ORDER.count(right) == 1
    cursor = sk.compile(sk.PythonCall(order), byte_vocabulary()).cursor()
    with pytest.raises(sk.TokenRejected):
        advance(cursor, ORDER.replace(right, wrong))


def test_values_that_must_be_distinct_have_one_text() -> None:
    def unique(pairs: set[tuple[str, str]], again: tuple[str, str]) -> None: ...

    guide = sk.compile(sk.PythonCall(unique), byte_vocabulary())
    advance(guide.cursor(), 'unique(pairs=[["a", "b"]], again=[\'a\', "b"])')
    with pytest.raises(sk.TokenRejected):
        advance(guide.cursor(), "unique(pairs=[['a'")
