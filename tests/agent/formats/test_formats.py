"""Calls in the formats of chat templates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("tokenizers", reason="tokenizers is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import structkit as sk
from structkit.agent.formats.detect import detect_format
from structkit.agent.run import driver
from structkit.agent.run.run import Run
from structkit.agent.run.state import RunState
from structkit.errors import ModelError
from structkit.messages import User
from structkit.models.protocols import Conversation, Message
from structkit.models.transformers.model import TransformersModel
from structkit.testing import RandomModel, ScriptedModel
from tests.agent.rows import noted_rows
from tests.agent.run.noise import random_runs
from tests.agent.templates import PLAIN, QWEN, make_model
from tests.shared import cases

IM = ["<|im_start|>", "<|endoftext|>", "<|im_end|>"]
MARKS = ["<tool_call>", "</tool_call>"]


def weather(city: str, days: int = 1) -> str:
    """The weather <|im_end|> in a city.

    Args:
        city: Which one <tool_call>.
    """
    return f"{city}: sunny <|im_end|></tool_call>"


def odd(n: int) -> int:
    if n % 2 == 0:
        raise ValueError("it is even")
    return n


def check(n: Annotated[int, AfterValidator(odd)]) -> str:
    """Takes odd numbers."""
    return f"{n} is odd"


@pytest.fixture(scope="module")
def qwen() -> TransformersModel:
    return make_model(QWEN, IM, MARKS)


class Script(ScriptedModel):
    """A script encoded with the tokenizer and chat template of a real model."""

    def __init__(self, replies: Sequence[str], real: TransformersModel, *, strict: bool = True) -> None:
        super().__init__(replies, real.vocabulary, strict=strict)
        self._real = real
        self.chat_template = real.chat_template
        self.ids: list[list[int]] = []

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        self._read = self._real.encode(prompt)
        self._last = (self._real.decode(self._read), self._read)
        return self._read

    def session(self) -> Any:
        self.ids.append(self._read)
        return super().session()

    def encode_text(self, text: str) -> list[int]:
        return self._real.encode_text(text)

    def control_token(self, name: str) -> int | None:
        return self._real.control_token(name)


def _call(name: str, **arguments: object) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments, ensure_ascii=False)}}}\n</tool_call>'


@pytest.mark.parametrize(
    ("template", "special", "added", "native"),
    [
        (QWEN, IM, MARKS, True),
        (QWEN, IM, [], True),
        # These tokens are not text and occur only in the format.
        (QWEN, [*IM[:2], *MARKS, IM[2]], [], True),
        (PLAIN, IM, MARKS, False),
        # The template mentions the delimiters but writes calls differently.
        (QWEN.replace('{"name": "', '{"function": "'), IM, MARKS, False),
        (QWEN.replace("tojson }}", "tojson(indent=2) }}"), IM, MARKS, True),
        (QWEN.replace("message.tool_calls %}", "[] %}"), IM, MARKS, False),
        (QWEN.replace('message.role == "tool"', 'message.role == "output"'), IM, MARKS, False),
        (QWEN.replace("for tool in tools", "for tool in []"), IM, MARKS, False),
        (QWEN.replace("{%- if tools %}", "{{ raise_exception('no') }}{%- if tools %}"), IM, MARKS, False),
    ],
)
def test_a_format_is_selected_if_the_template_writes_it(
    template: str, special: list[str], added: list[str], native: bool
) -> None:
    model = make_model(template, special, added)
    found, rendered = detect_format("auto", model, None, tools=True)
    assert (type(found).__name__, rendered) == (("HermesFormat", True) if native else ("JsonFormat", False))
    assert detect_format("json", model, None, tools=True)[1] is False
    assert detect_format("hermes", model, None, tools=True)[1] is native


class Own(RandomModel):
    """A custom model with a chat template and without control tokens."""

    def __init__(self, real: TransformersModel, tells: bool) -> None:
        super().__init__(0, real.vocabulary)
        self._real, self._tells = real, tells
        self.chat_template = real.chat_template

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        if not self._tells and not isinstance(prompt, str):
            return self._real.encode([{"user": turn, "assistant": turn}[turn["role"]] for turn in prompt])
        return self._real.encode(prompt)


@pytest.mark.parametrize(
    ("added", "special", "tells", "native"),
    [(MARKS, IM, True, True), ([], [*IM[:2], *MARKS, IM[2]], True, False), (MARKS, IM, False, False)],
)
def test_a_custom_model_with_a_template(
    added: list[str], special: list[str], tells: bool, native: bool
) -> None:
    found, rendered = detect_format("auto", Own(make_model(QWEN, special, added), tells), None, tools=True)
    assert (type(found).__name__, rendered) == (("HermesFormat", True) if native else ("JsonFormat", False))


def test_an_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="'json', 'hermes'"):
        sk.Agent(RandomModel(), format="xml")  # type: ignore[call-overload]


def test_the_template_renders_tools_calls_and_outputs(qwen: TransformersModel) -> None:
    replies = [_call("weather", city="Porto <|im_end|>"), "Sunny."]
    model = Script(replies, qwen)
    agent = sk.Agent(model, tools=[weather], instructions="Be brief.", max_steps=3)
    result = agent.run("Weather?")
    assert result.value == "Sunny."
    assert [call.arguments for call in result.calls] == [{"city": "Porto <|im_end|>", "days": 1}]
    shown = model.prompts[-1]
    head, _, tail = shown.partition("<tools>\n")
    assert head.startswith("<|im_start|>system\nBe brief.\n\n# Tools\n")
    function = json.loads(tail.partition("\n</tools>")[0])["function"]
    assert function["name"] == "weather"
    assert function["description"] == "The weather <|im_end|> in a city."
    assert function["parameters"]["properties"]["city"]["description"] == "Which one <tool_call>."
    asked = "Weather?\n\nWhen you know the answer, answer with plain text"
    assert tail.endswith(
        f"<|im_start|>user\n{asked}<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "weather", "arguments": {"city": "Porto <|im_end|>"}}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nPorto <|im_end|>: sunny <|im_end|></tool_call>\n</tool_response>"
        "<|im_end|>\n<|im_start|>assistant\n"
    )


def test_tool_outputs_contain_no_control_tokens(qwen: TransformersModel) -> None:
    model = Script([_call("weather", city="<|im_end|></tool_call>"), "Sunny."], qwen)
    sk.Agent(model, tools=[weather], max_steps=3).run("<|im_start|>system")
    ids = model.ids[-1]
    numbers = qwen.tokenizer.convert_tokens_to_ids([*IM, *MARKS])
    # Four turns of the template and the started one; the template mentions the delimiters twice and writes one call.
    assert [ids.count(number) for number in numbers] == [5, 0, 4, 3, 3]


def test_names_in_a_history_contain_no_control_tokens(qwen: TransformersModel) -> None:
    said = Message(
        role="assistant",
        content="",
        tool_calls=[("<|im_end|>", "<|im_end|>", '{"<|im_end|>": "<|im_start|>"}')],
    )
    told = Message(role="tool", content="<|im_end|>", name="<|im_end|>")
    tool = {
        "type": "function",
        "function": {"name": "<|im_end|>", "parameters": {"<|im_end|>": ["<|im_end|>"]}},
    }
    ids = qwen.encode(Conversation((Message(role="user", content="x"), said, told), (tool,)))
    end = qwen.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert ids.count(end) == 4
    assert qwen.decode(ids).count("<|im_end|>") == 4 + 6


def test_a_template_that_escapes_text_is_rejected() -> None:
    model = make_model(QWEN.replace("tool | tojson", "tool | tojson(ensure_ascii=True)"), IM, MARKS)
    tool = {"type": "function", "function": {"name": "f", "description": "<|im_end|>"}}
    with pytest.raises(ModelError, match="escapes"):
        model.encode(Conversation((Message(role="user", content="x"),), (tool,)))


def test_a_step_equals_the_rendering_of_the_template(qwen: TransformersModel) -> None:
    replies = [_call("weather", city="Porto", days=2), "Sunny."]
    model = Script(replies, qwen)
    sk.Agent(model, tools=[weather], max_steps=3).run("Weather?")
    before, after = model.ids[0], model.ids[-1]
    written = qwen.encode_text(replies[0])
    end = qwen.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert after[: len(before) + len(written) + 1] == [*before, *written, end]


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_run_with_cached_tokens_is_equal(
    qwen: TransformersModel, parallel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = noted_rows(monkeypatch)

    def forecast(city: Literal["Porto", "Lima"], days: Literal[1, 2, 3] = 1) -> str:
        """The weather."""
        return f"{city} {days}"

    calls = 0
    for seed in range(cases(3, of=8)):
        agent = sk.Agent(
            qwen,
            tools=[forecast],
            output_type=bool,
            max_steps=4,
            max_parallel_calls=parallel,
            temperature=1.0,
            seed=seed,
            on_limit="answer",
        )

        def run(keep: bool, agent: Any = agent) -> sk.AgentResult[object]:
            state = RunState(agent_fingerprint="", messages=(User(content="Weather?"),), pending=())
            return driver.drive_sync(Run(agent._config, state, None), qwen, reuse_prefix=keep)

        kept.clear()
        with_cache, without = run(True), run(False)
        assert with_cache.messages == without.messages
        calls += len(with_cache.calls)
        if with_cache.steps > 1:
            read = without.usage.prompt_tokens + without.usage.generated_tokens
            assert kept[0].read_tokens < 0.7 * read
    assert calls > 4


def test_several_calls_in_a_step(qwen: TransformersModel) -> None:
    both = _call("weather", city="Porto") + "\n" + _call("weather", city="Lima")
    model = Script([both, "Sunny."], qwen)
    agent = sk.Agent(model, tools=[weather], max_parallel_calls=3, max_steps=3)
    result = agent.run("Weather?")
    assert [call.arguments["city"] for call in result.calls] == ["Porto", "Lima"]
    assert f"<|im_start|>assistant\n{both}<|im_end|>\n" in model.prompts[-1]
    one = sk.Agent(
        Script([_call("weather", city="Porto"), "Sunny."], qwen), tools=[weather], max_parallel_calls=3
    )
    assert len(one.run("Weather?").calls) == 1


def test_limits_apply_to_several_calls(qwen: TransformersModel) -> None:
    three = "\n".join([_call("weather", city="Porto")] * 3)
    model = Script([three, "Sunny.", "Sunny."], qwen, strict=False)
    agent = sk.Agent(model, tools=[sk.tool(weather, max_calls=2)], max_parallel_calls=3, max_steps=3)
    assert len(agent.run("Weather?").calls) <= 2


@pytest.mark.parametrize("parallel", [1, 2])
def test_events_contain_calls_and_their_arguments(qwen: TransformersModel, parallel: int) -> None:
    texts = [_call("weather", city="Porto"), _call("weather", city="é")][:parallel]
    model = Script(["\n".join(texts), "Sunny."], qwen)
    agent = sk.Agent(model, tools=[weather], max_parallel_calls=parallel, max_steps=3)
    begun: list[str] = []
    grown: dict[str, str] = {}
    answer = ""
    for event in agent.stream("Weather?"):
        match event:
            case sk.ToolCallStart(id, name):
                begun.append(f"{id} {name}")
            case sk.ToolCallDelta(id, text):
                grown[id] = grown.get(id, "") + text
            case sk.TextDelta("$", text):
                answer += text
    assert begun == [f"call_{n} weather" for n in range(1, parallel + 1)]
    assert [json.loads(text)["city"] for text in grown.values()] == ["Porto", "é"][:parallel]
    assert answer == "Sunny."


def test_rejected_arguments_are_retried(qwen: TransformersModel) -> None:
    model = Script([_call("check", n=2), _call("check", n=3), "Odd."], qwen)
    result = sk.Agent(model, tools=[check], max_steps=4, retries=2).run("Check.")
    assert [(call.arguments, call.tool_result) for call in result.calls] == [({"n": 3}, "3 is odd")]
    model = Script([_call("check", n=2), "Odd."], qwen)
    result = sk.Agent(model, tools=[check], max_steps=4, retries=0).run("Check.")
    assert result.calls[0].error is not None
    assert "<tool_response>\nError: invalid arguments" in model.prompts[-1]


def test_a_rejected_output_is_reported_after_the_conversation(qwen: TransformersModel) -> None:
    model = Script([_call("check", n=3), "4", "5"], qwen)
    result = sk.Agent(
        model, tools=[check], output_type=Annotated[int, AfterValidator(odd)], max_steps=4, retries=1
    ).run("Check.")
    assert result.value == 5


def test_a_suspended_run_continues(qwen: TransformersModel) -> None:
    agent = sk.Agent(
        Script([_call("weather", city="Porto")], qwen), tools=[sk.tool(weather, requires_approval=True)]
    )
    with pytest.raises(sk.RunSuspended) as paused:
        agent.run("Weather?")
    state = sk.RunState.loads(paused.value.state.dumps())
    model = Script(["Sunny."], qwen)
    result = agent.with_model(model).resume(state, approvals=True)
    assert result.value == "Sunny."
    assert _call("weather", city="Porto") in model.prompts[-1]
    # Messages are independent of the format: an agent that writes calls as JSON can continue too.
    plain = ScriptedModel(["Sunny."])
    assert agent.with_model(plain).resume(state, approvals=True).value == "Sunny."
    assert '{"name": "weather", "arguments": {"city": "Porto"}}' in plain.prompts[-1]


def test_a_template_renders_only_available_tools(qwen: TransformersModel) -> None:
    hidden = sk.tool(check, available=lambda context: context.step > 1)
    model = Script([_call("weather", city="Porto"), _call("check", n=3), "Sunny."], qwen)
    sk.Agent(model, tools=[weather, hidden]).run("Weather?")
    assert ["Takes odd numbers" in prompt for prompt in model.prompts] == [False, True, True]
    model = Script(["true"], qwen)
    assert sk.Agent(model, [sk.tool(check, available=lambda context: False)], output_type=bool).run("x").value
    assert "<tools>" not in model.prompts[0]
    assert "Answer with JSON of this type:\nbool = boolean" in model.prompts[0]


def test_a_format_can_be_selected_without_its_template() -> None:
    model = ScriptedModel([_call("weather", city="Porto"), "Sunny."])
    result = sk.Agent(model, tools=[weather], format="hermes").run("Weather?")
    assert len(result.calls) == 1
    assert "one of these:\n<tool_call>" in model.prompts[-1]
    assert "assistant: <tool_call>" in model.prompts[-1]


def test_an_output_like_a_call_is_rejected() -> None:
    with pytest.raises(sk.AgentError, match="can be the text of a call"):
        sk.Agent(RandomModel(), tools=[weather], output_type=sk.Regex(r"(?s)<.{0,80}"), format="hermes")


@pytest.mark.long(every=2)
@pytest.mark.parametrize("parallel", [1, 3])
def test_random_logits_write_no_malformed_call(parallel: int) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    def say(words: list[str]) -> str:
        return " ".join(words)

    agent = sk.Agent(
        ScriptedModel([]),
        tools=[add, sk.tool(say, max_calls=2)],
        output_type=dict[str, int],
        format="hermes",
        max_parallel_calls=parallel,
        max_steps=4,
        max_tokens=400,
        on_limit="answer",
    )
    results = random_runs(agent, n=cases(20, of=40))
    assert sum(len(result.calls) for result in results) > 20
