"""Parts of arguments that reach their token limit are closed, in every format of calls."""

from __future__ import annotations

from typing import Annotated, get_args

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.agent.formats.detect import FormatName, detect_format
from structkit.messages import CallPart
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

FORMATS = [name for name in get_args(FormatName) if name != "auto"]
BYTES = byte_vocabulary()


class Note(BaseModel):
    title: Annotated[str, sk.MaxTokens(6)] = Field(max_length=40)


def keep(
    free: str, word: Annotated[str, sk.MaxTokens(5)], many: Annotated[list[int], sk.MaxTokens(6)], note: Note
) -> str:
    return word


def _arguments(word: str = '"a"', many: str = "[1]", title: str = '"b"') -> str:
    note = f'{{"title": {title}}}'
    return f'{{"free": "abcdefghi", "word": {word}, "many": {many}, "note": {note}}}'


@pytest.mark.parametrize("text", [False, True], ids=["", "text"])
@pytest.mark.parametrize("name", FORMATS)
def test_arguments_are_closed_after_their_tokens(name: FormatName, text: bool) -> None:
    form, _ = detect_format(name, ScriptedModel([], BYTES, strict=False), None, tools=True, allow_text=text)
    said = f"Well.{form.text_separator}" if text else ""

    def called(**arguments: str) -> dict[str, object]:
        step = form.calls_text([CallPart(id="call_1", name="keep", arguments=_arguments(**arguments))])
        model = ScriptedModel([said + step, "true"], BYTES, strict=False)
        (call,) = sk.Agent(model, [keep], output_type=bool, format=name, allow_text=text).run("x").calls
        assert call.arguments["free"] == "abcdefghi"
        return call.arguments

    # The first quote, the two bytes of é, and the two of the escape.
    assert called(word='"é\\"cdefgh"')["word"] == 'é"'
    assert called(many="[1, 2, 3, 4]")["many"] == [1, 2, 3]
    assert called(title='"abcdefgh"')["note"] == Note(title="abcde")


def test_several_calls_and_a_result_are_closed_too() -> None:
    calls = [f'{{"name": "keep", "arguments": {each}}}' for each in (_arguments(), _arguments('"abcdefgh"'))]
    model = ScriptedModel([f"[{', '.join(calls)}]", '{"title": "abcdefgh"}'], BYTES, strict=False)
    result = sk.Agent(model, [keep], output_type=Note, max_parallel_calls=2).run("x")
    assert [call.arguments["word"] for call in result.calls] == ["a", "abcd"]
    assert result.value == Note(title="abcde")


def test_functions_as_targets_and_tools_with_a_schema() -> None:
    call = sk.extract(ScriptedModel([_arguments('"abcdefgh"')], BYTES, strict=False), "x", keep)
    assert call.arguments["word"] == "abcd"
    schema = {"properties": {"a": {"type": "string", "x-structkit-maxTokens": 4}}, "required": ["a"]}
    given = sk.Tool(function=lambda a: a, name="f", schema=schema)
    model = ScriptedModel(['{"name": "f", "arguments": {"a": "abcdefgh"}}', "ok"], BYTES, strict=False)
    assert sk.Agent(model, [given]).run("x").calls[0].tool_result == "abc"


@pytest.mark.long(every=4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", FORMATS)
def test_a_random_model_keeps_to_them_about(name: FormatName, seed: int) -> None:
    def note(word: Annotated[str, sk.MaxTokens(3)], count: Annotated[int, sk.MaxTokens(2)]) -> None:
        """Take a note."""

    model = RandomModel(seed, small_vocabulary())
    agent = sk.Agent(
        model,
        [note],
        format=name,
        max_parallel_calls=3,
        max_steps=3,
        temperature=1.0,
        seed=seed,
        max_tokens=400,
        on_limit="answer",
    )
    longest = max(map(len, small_vocabulary().tokens))
    for call in agent.run("x").calls:
        assert len(str(call.arguments["word"])) <= 4 * longest + 8
        assert len(str(call.arguments["count"])) <= 3 * longest
