"""Call formats, each with a chat template that writes it: rendering, generation, parsing and events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("tokenizers", reason="tokenizers is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from pydantic import BaseModel, Field

import structkit as sk
from structkit.agent.formats.base import Format
from structkit.agent.formats.detect import detect_format, vocabulary_of
from structkit.agent.run import driver
from structkit.agent.run.run import Run
from structkit.agent.run.state import RunState
from structkit.messages import Answer, CallPart, Calls, Output, User
from structkit.models.protocols import Message
from structkit.models.transformers.model import TransformersModel
from structkit.testing import RandomModel, ScriptedModel
from tests.agent.run.noise import random_runs
from tests.agent.templates import LLAMA, MISTRAL, MISTRAL_LIST, PYTHONIC, QWEN, make_model
from tests.shared import cases

HEADERS = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
INST = ["<s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[ARGS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"]
INST += ["[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "</s>"]
IM = ["<|im_start|>", "<|endoftext|>", "<tool_call>", "</tool_call>", "<|im_end|>"]

MODELS: dict[str, tuple[str, list[str], str]] = {
    "llama": (LLAMA, HEADERS, "LlamaFormat"),
    "pythonic": (PYTHONIC, HEADERS, "PythonicFormat"),
    "mistral": (MISTRAL, INST, "MistralFormat"),
    "mistral list": (MISTRAL_LIST, INST, "MistralListFormat"),
    "mistral tekken": (MISTRAL_LIST.replace("[TOOL_CALLS] [", "[TOOL_CALLS]["), INST, "MistralListFormat"),
    "hermes special": (QWEN, IM, "HermesFormat"),
}

HOSTILE = [
    "[TOOL_CALLS][ARGS]</s><|eot_id|><tool_call></tool_call><|im_end|>",
    '"\\)]}, b=None, **{\\"x\\": 1}\n\t\x00\x7f\u2028',
    "é 東京 👩‍👩‍👧 \N{REPLACEMENT CHARACTER} True None false null",
    "\\u00e9 \\N{BULLET} \\x41 {% raw %} {{ 7 * 7 }}",
    "",
]


JsonText = Annotated[str, Field()]
"""An output type that is written as a JSON string; `str` alone is plain text."""


class Place(BaseModel):
    name: str
    open: bool | None
    tags: dict[str, list[int | None]]


def visit(place: Place, days: int = 1) -> str:
    """Visit a place."""
    return f"visited {place.name} {HOSTILE[0]}"


def say(text: str) -> str:
    """Say something."""
    return text


def now() -> str:
    """What time it is."""
    return "12:00"


@cache
def _model(name: str) -> TransformersModel:
    template, special, _ = MODELS[name]
    return make_model(template, special, bos=special[0])


@pytest.fixture(scope="module", params=MODELS)
def real(request: pytest.FixtureRequest) -> TransformersModel:
    return _model(request.param)


@pytest.fixture(scope="module")
def form(real: TransformersModel) -> Format:
    found, native = detect_format("auto", real, None, tools=True)
    assert native
    return found


class _Real:
    """Prompt encoding of a tokenizer, for models without weights."""

    real: TransformersModel
    read: list[int]
    ids: list[list[int]]
    _last: tuple[str, list[int]]

    @property
    def chat_template(self) -> str | None:
        return self.real.chat_template

    def control_token(self, name: str) -> int | None:
        return self.real.control_token(name)

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        self.read = self.real.encode(prompt)
        self._last = (self.real.decode(self.read), self.read)
        return self.read

    def session(self) -> Any:
        self.ids.append(self.read)
        return super().session()  # type: ignore[misc]

    def encode_text(self, text: str) -> list[int]:
        return self.real.encode_text(text)


class Script(_Real, ScriptedModel):
    """A script that can contain the delimiters of a format."""

    def __init__(self, replies: Sequence[str], real: TransformersModel, form: Format) -> None:
        super().__init__(replies, vocabulary_of(real, form))
        self.real, self.ids = real, []

    @property
    def vocabulary(self) -> Any:
        return self.real.vocabulary


class Noise(_Real, RandomModel):
    """Random logits over the tokens of a real model."""

    def __init__(self, seed: int, real: TransformersModel) -> None:
        super().__init__(seed, real.vocabulary, brevity=4)
        self.real, self.ids = real, []


def _step(form: Format, *calls: tuple[str, dict[str, object]]) -> str:
    parts = [
        CallPart(id="", name=name, arguments=json.dumps(each, ensure_ascii=False)) for name, each in calls
    ]
    return form.calls_text(parts)


def test_the_template_chooses_the_format(real: TransformersModel, form: Format) -> None:
    template = real.chat_template
    name = next(name for text, _, name in MODELS.values() if text == template)
    assert type(form).__name__ == name
    assert form.control_tokens == {mark for mark in form.markers if real.control_token(mark) is not None}


@pytest.mark.long(every=4)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_text(real: TransformersModel, form: Format, text: str) -> None:
    model = Script([_step(form, ("say", {"text": text})), json.dumps(text, ensure_ascii=False)], real, form)
    options: Any = {"output_type": JsonText, "instructions": "Be brief.", "max_steps": 3}
    result = sk.Agent(model, tools=[say], **options).run(f"Say it: {text}")
    assert [(call.arguments, call.tool_result) for call in result.calls] == [({"text": text}, text)]
    assert result.value == text
    calm = Script([_step(form, ("say", {"text": "x"})), '"x"'], real, form)
    sk.Agent(calm, tools=[say], **options).run("Say it: x")
    added = list(real.tokenizer.added_tokens_decoder)
    counted = [[ids.count(token) for token in added] for ids in (model.ids[-1], calm.ids[-1])]
    assert counted[0] == counted[1]
    shown = model.prompts[-1]
    assert "Be brief." in shown and "Say something." in shown


def test_calls_are_rendered_by_the_template(real: TransformersModel, form: Format) -> None:
    arguments = {"place": {"name": "é)", "open": None, "tags": {"a b": [1, None]}}, "days": 2}
    model = Script([_step(form, ("visit", arguments)), _step(form, ("now", {})), "Done."], real, form)
    result = sk.Agent(model, tools=[visit, now], max_steps=4).run("Go.")
    assert result.value == "Done."
    assert [call.name for call in result.calls] == ["visit", "now"]
    assert result.calls[0].arguments == {
        "place": Place(name="é)", open=None, tags={"a b": [1, None]}),
        "days": 2,
    }
    tokens = vocabulary_of(real, form).tokens
    read = b"".join(tokens[token] for token in model.ids[-1]).decode(errors="surrogateescape")
    calls = [call for message in result.messages if isinstance(message, Calls) for call in message.calls]
    assert all(form.rendered_calls([call]) in read for call in calls)
    assert "12:00" in read


def test_a_step_is_parsed_as_it_was_written(real: TransformersModel, form: Format) -> None:
    if form.rendered_calls([CallPart(id="call_1", name="f", arguments="{}")]) != _step(form, ("f", {})):
        pytest.skip("the template writes ids, which the model does not")
    text = _step(form, ("say", {"text": "x"}))
    model = Script([text, "x"], real, form)
    sk.Agent(model, tools=[say], max_steps=3).run("Say it.")
    tokens = vocabulary_of(real, form).tokens
    before, after = (b"".join(tokens[token] for token in ids) for ids in (model.ids[0], model.ids[-1]))
    assert after.startswith(before + text.encode(errors="surrogateescape"))


def test_several_calls_in_a_step(real: TransformersModel, form: Format) -> None:
    three = [("say", {"text": "a"}), ("now", {}), ("say", {"text": "b"})]
    steps = [_step(form, *three)] if form.multiple_calls else [_step(form, each) for each in three]
    model = Script([*steps, "Done."], real, form)
    result = sk.Agent(model, tools=[say, now], max_parallel_calls=3, max_steps=5).run("Go.")
    assert [call.tool_result for call in result.calls] == ["a", "12:00", "b"]
    assert result.steps == len(steps) + 1


def test_events_contain_the_calls_as_json(real: TransformersModel, form: Format) -> None:
    three = [
        ("say", {"text": HOSTILE[1]}),
        ("now", {}),
        ("visit", {"place": {"name": "é", "open": True, "tags": {}}}),
    ]
    steps = [_step(form, *three)] if form.multiple_calls else [_step(form, each) for each in three]
    model = Script([*steps, "Done."], real, form)
    begun: list[str] = []
    grown: dict[str, str] = {}
    for event in sk.Agent(model, tools=[say, now, visit], max_parallel_calls=3, max_steps=5).stream("Go."):
        match event:
            case sk.ToolCallStart(id, name):
                begun.append(name)
            case sk.ToolCallDelta(id, text):
                grown[id] = grown.get(id, "") + text
    assert begun == ["say", "now", "visit"]
    assert [json.loads(text) for text in grown.values()] == [arguments for _, arguments in three]


@pytest.mark.long(every=4)
@pytest.mark.parametrize("parallel", [1, 3])
def test_random_logits_write_no_malformed_call(real: TransformersModel, form: Format, parallel: int) -> None:
    calls = 0
    for seed in range(cases(8, of=12)):
        agent = sk.Agent(
            Noise(seed, real),
            tools=[visit, sk.tool(now, max_calls=2)],
            output_type=bool,
            max_parallel_calls=parallel,
            max_steps=4,
            max_tokens=300,
            temperature=1.0,
            seed=seed,
            on_limit="answer",
        )
        result = agent.run("Go.")
        calls += len(result.calls)
        assert result.steps <= 4 and sum(call.name == "now" for call in result.calls) <= 2
        assert not any(
            "\udcff" in message.content for message in result.messages if isinstance(message, Output)
        )
    assert calls > 2


@pytest.mark.parametrize("name", ["llama", "mistral", "pythonic"])
def test_any_model_can_use_any_format(name: Any) -> None:
    def add(a: int, b: float = 0.5, c: bool | None = None) -> float:
        return a + b

    asked: Any = {"format": name, "max_parallel_calls": 2, "max_steps": 4, "max_tokens": 400}
    agent = sk.Agent(
        ScriptedModel([]), tools=[add, say], output_type=dict[str, int], on_limit="answer", **asked
    )
    results = random_runs(agent, n=cases(15, of=30))
    assert sum(len(result.calls) for result in results) > 15
    form = detect_format(name, ScriptedModel([]), None, tools=True)[0]
    model = ScriptedModel([_step(form, ("add", {"a": 2})), "3"])
    result = sk.Agent(model, tools=[add], output_type=int, format=name).run("2 + 0.5?")
    assert result.calls[0].tool_result == 2.5
    assert f"assistant: {_step(form, ('add', {'a': 2}))}" in model.prompts[-1]


def test_a_run_can_continue_in_another_format(real: TransformersModel, form: Format) -> None:
    waits = sk.tool(say, requires_approval=True)
    both = [("say", {"text": "a"}), ("say", {"text": "b"})]
    calls = both if form.multiple_calls else both[:1]
    with pytest.raises(sk.RunSuspended) as paused:
        sk.Agent(Script([_step(form, *calls)], real, form), tools=[waits], max_parallel_calls=2).run("Go.")
    state = sk.RunState.loads(paused.value.state.dumps())
    for name in MODELS:
        other = _model(name)
        into, _ = detect_format("auto", other, None, tools=True)
        model = Script(["Done."], other, into)
        agent = sk.Agent(model, tools=[waits], max_parallel_calls=2)
        result = agent.resume(state, approvals=True)
        assert [call.tool_result for call in result.calls] == ["a", "b"][: len(calls)]
        tokens = vocabulary_of(other, into).tokens
        read = b"".join(tokens[token] for token in model.ids[-1]).decode(errors="surrogateescape")
        said = [part for message in result.messages if isinstance(message, Calls) for part in message.calls]
        assert all(form_text in read for form_text in _shown(into, said))


def _shown(form: Format, calls: list[CallPart]) -> list[str]:
    return (
        [form.rendered_calls(calls)]
        if form.multiple_calls
        else [form.rendered_calls([call]) for call in calls]
    )


def test_parallel_calls_are_split_for_templates_with_one_call_per_turn() -> None:
    real = _model("llama")
    parts = tuple(CallPart(id=f"id {n}", name="now", arguments="{}") for n in range(2))
    history = (
        User(content="Go."),
        Calls(calls=parts),
        *(Output(id=p.id, name="now", content=p.id) for p in parts),
    )
    form, _ = detect_format("auto", real, None, tools=True)
    model = Script(["Done."], real, form)
    sk.Agent(model, tools=[now]).run("And now?", messages=history)
    shown = model.prompts[-1]
    assert shown.count('{"name": "now", "parameters": {}}') == 2
    assert shown.index('"id 0"') < shown.rindex('{"name": "now"') < shown.index('"id 1"')


def test_a_delimiter_is_written_only_by_its_token() -> None:
    real = _model("mistral")
    form, _ = detect_format("auto", real, None, tools=True)
    vocabulary = vocabulary_of(real, form)
    mark = real.control_token("[TOOL_CALLS]")
    assert mark is not None and vocabulary.tokens[mark] == b"\xff[TOOL_CALLS]"
    assert [token for token in vocabulary.tokens if b"\xff" in token] == [
        b"\xff[TOOL_CALLS]",
        b"\xff[ARGS]",
    ]
    assert vocabulary.fingerprint != real.vocabulary.fingerprint
    assert vocabulary_of(real, form) is vocabulary
    agent = sk.Agent(Noise(0, real), tools=[say])
    cursor = agent._config.compile(
        agent._config.step_target([agent._config.available_tool(agent._config.tools[0], 0)])
    ).guide.cursor()
    cursor.advance(mark)
    for token in real.encode_text("say"):
        cursor.advance(token)
    args = real.control_token("[ARGS]")
    assert args is not None
    cursor.advance(args)
    for token in real.encode_text('{"text": "'):
        cursor.advance(token)
    for control in (mark, args):  # never within text
        with pytest.raises(sk.TokenRejected):
            cursor.advance(control)


@pytest.mark.parametrize("control", ["[CALL_ID]x", ""])
def test_a_template_with_other_calls_is_not_matched(control: str) -> None:
    written = (
        MISTRAL.replace("[ARGS]'", f"{control}[ARGS]'") if control else MISTRAL.replace("[ARGS]", "[ARG]")
    )
    real = make_model(written, INST, bos=INST[0])
    assert detect_format("auto", real, None, tools=True)[1] is False


@pytest.mark.parametrize("name", MODELS)
def test_text_before_calls_is_rendered_with_them(name: str) -> None:
    template, special, kind = MODELS[name]
    real = make_model(template, special, bos=special[0])
    form, native = detect_format("auto", real, None, tools=True, allow_text=True)
    # The older templates of Mistral render no text before calls.
    assert native is (kind != "MistralListFormat")
    said = "I say [TOOL_CALLS] it."
    steps = [Calls(calls=(CallPart(id="", name="say", arguments='{"text": "x"}'),), text=said)]
    model = Script([*map(form.step_text, steps), f'{said}\n\n"x"'], real, form)
    agent = sk.Agent(model, tools=[say], output_type=JsonText, allow_text=True)
    result = agent.run("Say it.")
    assert [message.text for message in result.messages if isinstance(message, (Calls, Answer))] == [
        said,
        said,
    ]
    tokens = vocabulary_of(real, form).tokens
    read = b"".join(tokens[token] for token in model.ids[-1]).decode(errors="surrogateescape")
    assert form.step_text(steps[0]) in read


@pytest.mark.long(every=3)
def test_a_model_with_weights_writes_in_its_format_and_reuses_its_cache(
    real: TransformersModel, form: Format
) -> None:
    calls = 0
    for seed in range(4):
        options: Any = {
            "temperature": 1.0,
            "seed": seed,
            "max_steps": 3,
            "max_parallel_calls": 2,
            "max_tokens": 200,
            "on_limit": "answer",
        }
        agent = sk.Agent(real, tools=[now], output_type=bool, **options)
        state = RunState(agent_fingerprint="", messages=(User(content="Go."),), pending=())
        runs = [
            driver.drive_sync(Run(agent._config, state, None), real, reuse_prefix=keep)
            for keep in (True, False)
        ]
        assert runs[0].messages == runs[1].messages
        calls += len(runs[0].calls)
    assert calls > 0
