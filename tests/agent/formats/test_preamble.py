"""Free text before a call or the output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit import messages as stored
from structkit.agent.formats.json import (
    HermesFormat,
    JsonFormat,
    LlamaFormat,
    MistralFormat,
    MistralListFormat,
)
from structkit.agent.formats.preamble import PreambleReader, preamble_ends, preamble_language, split_preamble
from structkit.agent.formats.pythonic import PythonicFormat
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import AgentError
from structkit.messages import Answer, Calls, User
from structkit.regex.merge import RuleMerger
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.reading import reads

FORMATS = {
    "json": JsonFormat(),
    "hermes": HermesFormat(),
    "llama": LlamaFormat(),
    "mistral": MistralFormat(),
    "pythonic": PythonicFormat(),
}
SAID = ["I will look it up.", 'Well, é 東京:\n  - 1 < 2, "quoted"\n1. {braces} and [brackets] inside', "X"]


class Reply(BaseModel):
    title: str
    copies: int


def count(title: str) -> int:
    """The number of copies."""
    return 3


def _step(form: Any, said: str, name: str, **arguments: object) -> str:
    part = stored.CallPart(id="", name=name, arguments=json.dumps(arguments))
    return form.step_text(Calls(calls=(part,), text=said))


@pytest.mark.long(every=2)
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("name", FORMATS)
def test_text_precedes_a_call_and_the_output(name: Any, said: str) -> None:
    form = FORMATS[name]
    reply = '{"title": "Salt\\n\\n", "copies": 3}'
    model = ScriptedModel([_step(form, said, "count", title="Salt"), f"{said}\n\n{reply}"])
    result = sk.Agent(model, tools=[count], output_type=Reply, format=name, allow_text=True).run("How many?")
    assert result.value == Reply(title="Salt\n\n", copies=3)
    assert [call.tool_result for call in result.calls] == [3]
    _, called, _, answer = result.messages
    assert isinstance(called, Calls) and called.text == said
    assert isinstance(answer, Answer) and (answer.text, answer.content) == (said, reply)
    assert f"assistant: {_step(form, said, 'count', title='Salt')}" in model.prompts[-1]
    assert stored.loads(stored.dumps(result.messages)) == result.messages
    again = ScriptedModel(['{"title": "Salt", "copies": 3}'])
    sk.Agent(again, tools=[count], output_type=Reply).run("And now?", messages=result.messages)
    assert f"assistant: {said}\n\n{reply}" in again.prompts[0]


@pytest.mark.parametrize("name", FORMATS)
def test_text_is_optional(name: Any) -> None:
    model = ScriptedModel([_step(FORMATS[name], "", "count", title="Salt"), "3"])
    result = sk.Agent(model, tools=[count], output_type=int, format=name, allow_text=True).run("How many?")
    assert result.value == 3
    assert [message.text for message in result.messages if isinstance(message, (Calls, Answer))] == ["", ""]


def test_messages_that_were_stored_without_text_are_read() -> None:
    said = '[{"content":"Hi","kind":"user"},{"content":"1","kind":"answer"}]'
    assert stored.loads(said) == (User(content="Hi"), Answer(content="1"))


class Brief(RandomModel):
    """Random logits that favour line ends, and call delimiters after them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, brevity=3)
        self._bias[self.vocabulary.tokenize(b"\n<")] = 7


@pytest.mark.long(every=3)
@pytest.mark.parametrize("name", FORMATS)
def test_random_logits_write_text_and_end_in_a_value(name: Any) -> None:
    said = calls = 0
    for seed in range(25):
        options: Any = {
            "max_parallel_calls": 2,
            "max_steps": 4,
            "max_tokens": 300,
            "on_limit": "answer",
            "temperature": 1.0,
            "seed": seed,
        }
        agent = sk.Agent(
            Brief(seed), tools=[count], output_type=bool, format=name, allow_text=True, **options
        )
        result = agent.run("How many?")
        assert isinstance(result.value, bool)
        assert result.steps <= 4 and result.usage.generated_tokens <= 300
        for message in result.messages:
            if isinstance(message, (Calls, Answer)):
                said += bool(message.text)
                assert "\n\n" not in message.text and "<tool_call>" not in message.text
                assert not message.text.startswith(("{", "[", '"', "<"))
        calls += len(result.calls)
    assert said > 10
    assert calls > 3


def _accepts(agent: sk.Agent[Any], text: str) -> bool:
    setup = agent._config
    offers = [offer for tool in setup.tools if (offer := setup.available_tool(tool, 0))]
    cursor = sk.compile(setup.step_target(offers), byte_vocabulary(), cache=False).cursor()
    return reads(cursor, text.encode())


def test_an_incomplete_call_is_not_text() -> None:
    call = '{"name": "count", "arguments": {"title": "a"}}'
    agent = sk.Agent(RandomModel(), tools=[count], output_type=Reply, format="json", allow_text=True)
    assert _accepts(agent, f"Yes.\n\n{call}")
    assert _accepts(agent, f"Yes: {{}} [\n- a\n\n{call}")
    other = '{"name": "other"'
    for wrong in (other, 'Yes.\n{"', "Yes.\n\n\n", "Yes.\n \n", f"Yes.\n\n{other}", "\nYes", "3 o"):
        assert not _accepts(agent, wrong), wrong
    hermes = sk.Agent(RandomModel(), tools=[count], output_type=Reply, format="hermes", allow_text=True)
    assert _accepts(hermes, "Is 1 < 2?\n<tool_call>\n{")
    assert _accepts(hermes, "Yes.\n\n<tool_call>\n{")
    for wrong in (
        "Is it <tool_call>",
        "Is it <t",
        'Yes.\n<tool_call>\n{"name": "other"',
    ):
        assert not _accepts(hermes, wrong), wrong


def test_text_is_bounded() -> None:
    agent = sk.Agent(RandomModel(), tools=[count], output_type=Reply, format="json", allow_text=True)
    assert _accepts(agent, "A" * 401) and not _accepts(agent, "A" * 402)
    assert _accepts(agent, "\n".join("A" * 16)) and not _accepts(agent, "\n".join("A" * 17))


def test_the_last_step_has_no_text() -> None:
    call = _step(FORMATS["json"], "Hm.", "count", title="Salt")
    model = ScriptedModel([call, 'Well.\n\n{"title": "a", "copies": 1}'], strict=False)
    agent = sk.Agent(model, tools=[count], output_type=Reply, allow_text=True, max_steps=2, on_limit="answer")
    result = agent.run("How many?")
    assert isinstance(result.messages[-1], Answer) and result.messages[-1].text == ""


def test_an_output_that_is_not_json_conflicts_with_text() -> None:
    with pytest.raises(AgentError, match="allow_text=True"):
        sk.Agent(RandomModel(), tools=[count], output_type=sk.Regex("[a-z]+"), allow_text=True)


@pytest.mark.parametrize("name", FORMATS)
def test_the_stream_yields_text_deltas(name: Any) -> None:
    form = FORMATS[name]
    model = ScriptedModel(
        [_step(form, SAID[1], "count", title="Salt"), f'{SAID[1]}\n\n{{"title": "é", "copies": 3}}'],
        byte_vocabulary(),
    )
    agent = sk.Agent(model, tools=[count], output_type=Reply, format=name, allow_text=True)
    told: list[str] = []
    said = [""]
    partial: object = None
    for event in agent.stream("How many?"):
        kind = type(event).__name__
        if not told or told[-1] != kind:
            told.append(kind)
        match event:
            case sk.PreambleDelta(text):
                said[-1] += text
            case sk.ToolResult():
                said.append("")
            case sk.PartialOutput(found):
                partial = found
    assert said == [SAID[1], SAID[1]]
    assert told == [
        "PreambleDelta",
        "ToolCallStart",
        "ToolCallDelta",
        "ToolResult",
        "PreambleDelta",
        "PartialOutput",
        "RunEnd",
    ]
    assert partial == Reply(title="é", copies=3)


def test_rejected_steps_write_their_text_again() -> None:
    class Odd(BaseModel):
        n: int

        def model_post_init(self, context: object) -> None:
            if self.n % 2 == 0:
                raise ValueError("it is even")

    model = ScriptedModel(['Two.\n\n{"n": 2}', 'Three.\n\n{"n": 3}'])
    events = list(sk.Agent(model, tools=[count], output_type=Odd, allow_text=True, retries=1).stream("Odd?"))
    kinds = [type(event).__name__ for event in events]
    assert "StepRetracted" in kinds
    finished = events[-1]
    assert isinstance(finished, sk.RunEnd)
    assert finished.result.value == Odd(n=3)
    last = kinds.index("StepRetracted")
    assert "".join(event.text for event in events[last:] if isinstance(event, sk.PreambleDelta)).endswith(
        "Three."
    )


@pytest.mark.parametrize("controls", [True, False])
@pytest.mark.parametrize("kind", [HermesFormat, MistralFormat, MistralListFormat])
def test_text_is_split_at_any_chunk_boundary(kind: Any, controls: bool) -> None:
    form = kind(control_tokens=frozenset(kind.markers) if controls else frozenset())
    step = _step(form, SAID[1], "count", title="<tool_call>[TOOL_CALLS]")
    said, rest = split_preamble(step, form)
    assert (said, rest) == (SAID[1], _step(form, "", "count", title="<tool_call>[TOOL_CALLS]"))
    data = step.encode(errors="surrogateescape")
    for width in (1, 2, 5):
        reader, text, at, seen = PreambleReader(preamble_ends(form)), "", 0, 0
        while not reader.is_complete:
            seen = min(len(data), seen + width)
            end, more = reader.read(data[at:seen])
            at, text = at + end, text + more
        assert text == SAID[1]
        assert data[at:] == rest.encode(errors="surrogateescape")


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_line_before_calls_is_allowed_in_every_format(name: Any) -> None:
    call = _step(FORMATS[name], "", "count", title="Salt")
    model = ScriptedModel([f"I will look it up.\n\n{call}", "3"])
    agent = sk.Agent(model, tools=[count], output_type=int, format=name, allow_text=True)
    events = list(agent.stream("How many?"))
    assert (
        "".join(event.text for event in events if isinstance(event, sk.PreambleDelta)) == "I will look it up."
    )
    finished = events[-1]
    assert isinstance(finished, sk.RunEnd)
    assert [call.tool_result for call in finished.result.calls] == [3]
    assert "leave a line empty" in model.prompts[0]


def test_a_call_is_described_as_it_is_written() -> None:
    model = ScriptedModel(["Three."])
    sk.Agent(model, tools=[count], format="pythonic").run("How many?")
    assert '\n[count({"title": string} /* The number of copies. */)]\n' in model.prompts[0]


def test_a_text_has_bounded_lines() -> None:
    """At most 16 lines, each of a character, at most 400 others and, but for the first, an indent of 8 spaces."""
    merger = RuleMerger()
    reader = Reader(link(merger.rules(preamble_language(JsonFormat(), merger))))
    full, later, short = "x" * 401, "\n" + " " * 8 + "x" * 401, "\nx"
    for text in (full, full + later, "x" + later + short * 14):
        assert reader.accepts(text.encode())
    for text in (full + "x", "x" + later + "x", "x\n " + later[1:], "x" + short * 16):
        assert not reader.accepts(text.encode())
