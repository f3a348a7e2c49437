"""Spans and log messages of generations, runs and calls."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest
from pydantic import BaseModel, field_validator

import structkit as sk
from structkit.models.protocols import LogitsModel
from structkit.testing import RandomModel, ScriptedModel
from structkit.tracing import Span

pytest.importorskip("opentelemetry.sdk", reason="pip install opentelemetry-sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from tests.calls import call
from tests.shared import cases

SECRET = "Zanzibar"
"""A word of prompts, answers, arguments and results."""


class Spans:
    """The spans that have ended."""

    def __init__(self, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(**options)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def ended(self) -> list[ReadableSpan]:
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.ended]

    def named(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.ended if span.name == name)
        return span

    def parent_name(self, span: ReadableSpan) -> str | None:
        if span.parent is None:
            return None
        return next(each.name for each in self.ended if each.context.span_id == span.parent.span_id)

    def tree(self) -> list[tuple[str, str | None]]:
        return [(span.name, self.parent_name(span)) for span in self.ended]

    def everything(self) -> str:
        return "".join(span.to_json() for span in self.ended)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    found = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.provider)
    yield found
    assert all(span.end_time for span in found.ended)


def visit(city: str) -> str:
    """Visit a city."""
    return f"{city} is far"


class Age(BaseModel):
    age: int

    @field_validator("age")
    @classmethod
    def adult(cls, age: int) -> int:
        if age < 18:
            raise ValueError(f"{SECRET} is too young")
        return age


def test_a_generation_is_a_chat_span(spans: Spans) -> None:
    sk.generate(ScriptedModel(["true"]), SECRET, bool, max_tokens=9, temperature=0.5, top_p=0.9, seed=7)
    span = spans.named("chat scripted")
    attributes = dict(span.attributes or {})
    assert attributes.pop("gen_ai.usage.input_tokens", 0) > 3
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "structkit",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.seed": 7,
        "gen_ai.output.type": "json",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.output_tokens": 1,
        "structkit.attempts": 1,
        "structkit.discarded_tokens": 0,
        "structkit.forced_tokens": 0,
    }
    assert (span.status.status_code, span.parent) == (StatusCode.UNSET, None)
    assert span.instrumentation_scope is not None and span.instrumentation_scope.name == "structkit"


def test_every_function_makes_a_span_for_each_prompt(spans: Spans) -> None:
    with spans.provider.get_tracer("test").start_as_current_span("outer"):
        sk.extract(ScriptedModel(["true"]), "x", bool)
        sk.extract_many(ScriptedModel(["true"] * 3), ["x", "y", "z"], bool)
        list(sk.stream(ScriptedModel(["true"]), "x", bool))
        asyncio.run(sk.aextract(ScriptedModel(["true"]), "x", bool))

        async def streamed() -> None:
            async for _ in sk.astream(ScriptedModel(["true"]), "x", bool):
                pass

        asyncio.run(streamed())
        sk.classify(ScriptedModel(["yes"]), "x", sk.Choice(["yes", "no"]))
    assert spans.tree() == [("outer", None), *[("chat scripted", "outer")] * 8]


@pytest.mark.parametrize("asked", [False, True])
def test_each_reply_of_a_text_model_is_an_event(spans: Spans, asked: bool) -> None:
    replies = iter([f'{SECRET}", "years": 3}}', "34}"])
    model = sk.from_function(lambda text: next(replies), name="a function")
    target = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    options: Any = {"trace_content": True} if asked else {}
    sk.extract(model, SECRET, target, **options)
    span = spans.named("chat a function")
    first, second = [dict(event.attributes or {}) for event in span.events]
    assert {event.name for event in span.events} == {"structkit.reply"}
    seconds = [attributes.pop("structkit.reply.seconds") for attributes in (first, second)]
    assert all(isinstance(each, float) and each > 0 for each in seconds)
    expected = {
        "structkit.reply.number": 1,
        "structkit.reply.end": "refused",
        "structkit.reply.is_correction": True,
        "structkit.reply.accepted_characters": len(SECRET) + 3,
        "structkit.reply.refused_characters": 11,
        "structkit.reply.chosen_characters": 0,
        "structkit.reply.forced_characters": 7,
        "structkit.reply.choices": 0,
    }
    contents = {
        "structkit.reply.accepted": f'{SECRET}", ',
        "structkit.reply.refused": '"years": 3}',
        "structkit.reply.chosen": "",
        "structkit.reply.forced": '"age": ',
        "structkit.reply.offered": (),
    }
    assert first == (expected | contents if asked else expected)
    assert (second["structkit.reply.number"], second["structkit.reply.end"]) == (2, "complete")
    assert dict(span.attributes or {})["structkit.corrections"] == 1
    assert (SECRET in spans.everything()) == asked


def test_a_stream_that_is_closed_ends_its_span(spans: Spans) -> None:
    with sk.stream(ScriptedModel(['"A long text."']), "x", str) as stream:
        next(stream)
    span = spans.named("chat scripted")
    assert span.status.status_code == StatusCode.UNSET
    assert "gen_ai.response.finish_reasons" not in dict(span.attributes or {})


def test_an_error_is_recorded_by_its_type(spans: Spans) -> None:
    with pytest.raises(sk.BudgetTooSmall):
        sk.extract(RandomModel(), "x", sk.Regex("[a-z]{99}"), max_tokens=1)
    with pytest.raises(sk.OutputValidationError):
        sk.extract(ScriptedModel(['{"age": 3}'] * 4), "x", Age, retries=0)
    types = [dict(span.attributes or {})["error.type"] for span in spans.ended]
    assert types == ["structkit.errors.BudgetTooSmall", "pydantic_core._pydantic_core.ValidationError"]
    assert all(span.status.status_code == StatusCode.ERROR for span in spans.ended)
    assert SECRET not in spans.everything()


def test_the_choices_that_a_reply_was_offered_are_content(spans: Spans) -> None:
    class Ticket(BaseModel):
        level: Literal["low", "high"]
        title: str

    replies = iter(['{"level": "urgent", "title": "x"}', "High.", 'x"}'])
    model = sk.from_function(lambda messages: next(replies), chat=True, continues=False)
    sk.extract(model, "It burns!", Ticket, trace_content=True)
    (span,) = spans.ended
    offered = [dict(event.attributes or {})["structkit.reply.offered"] for event in span.events]
    assert ('high"', 'low"') in offered


def test_a_budget_is_a_finish_reason(spans: Spans) -> None:
    sk.extract(ScriptedModel(['"' + "long " * 30 + '"'], strict=False), "x", str, max_tokens=9)
    assert dict(spans.ended[0].attributes or {})["gen_ai.response.finish_reasons"] == ("length",)


def test_a_run_is_a_tree_of_spans(spans: Spans) -> None:
    inner = sk.Agent(
        ScriptedModel([call("visit", city="Faro"), "true"]), [visit], output_type=bool, name="inner"
    )

    def note(text: str) -> str:
        with spans.provider.get_tracer("test").start_as_current_span("own"):
            return text

    tools = [visit, note, inner.as_tool("ask", "Ask.")]
    script = [call("visit", city=SECRET), call("note", text="x"), call("ask", prompt="x"), "true"]
    agent = sk.Agent(ScriptedModel(script), tools, output_type=bool, name="outer", instructions=SECRET)
    result = agent.run(SECRET)
    expected = [
        ("invoke_agent outer", None),
        ("chat scripted", "invoke_agent outer"),
        ("execute_tool visit", "invoke_agent outer"),
        ("chat scripted", "invoke_agent outer"),
        ("execute_tool note", "invoke_agent outer"),
        ("own", "execute_tool note"),
        ("chat scripted", "invoke_agent outer"),
        ("execute_tool ask", "invoke_agent outer"),
        ("invoke_agent inner", "execute_tool ask"),
        ("chat scripted", "invoke_agent inner"),
        ("execute_tool visit", "invoke_agent inner"),
        ("chat scripted", "invoke_agent inner"),
        ("chat scripted", "invoke_agent outer"),
    ]
    assert spans.tree() == expected
    attributes = dict(spans.named("invoke_agent outer").attributes or {})
    assert attributes["gen_ai.agent.name"] == "outer"
    assert attributes["structkit.steps"] == 4
    assert attributes["gen_ai.usage.output_tokens"] == result.usage.written_tokens
    tool = dict(spans.named("execute_tool note").attributes or {})
    assert (tool["gen_ai.tool.call.id"], tool["gen_ai.tool.type"]) == ("call_2", "function")
    assert SECRET not in spans.everything()


@pytest.mark.parametrize("drive", ["run", "arun", "stream", "astream"])
def test_every_driver_makes_the_same_spans(spans: Spans, drive: str) -> None:
    async def wait(key: str) -> str:
        with spans.provider.get_tracer("test").start_as_current_span(f"own {key}"):
            await asyncio.sleep(0)
        return key

    script = [f"[{call('wait', key='a')}, {call('visit', city='Faro')}, {call('wait', key='b')}]", "true"]
    agent = sk.Agent(ScriptedModel(script), [visit, wait], output_type=bool, max_parallel_calls=3)

    async def consume() -> None:
        async for _ in agent.astream("x"):
            assert trace.get_current_span() is trace.INVALID_SPAN

    if drive == "run":
        agent.run("x")
    elif drive == "arun":
        asyncio.run(agent.arun("x"))
    elif drive == "stream":
        for _ in agent.stream("x"):
            assert trace.get_current_span() is trace.INVALID_SPAN
    else:
        asyncio.run(consume())
    assert sorted(spans.tree(), key=str) == [
        ("chat scripted", "invoke_agent"),
        ("chat scripted", "invoke_agent"),
        ("execute_tool visit", "invoke_agent"),
        ("execute_tool wait", "invoke_agent"),
        ("execute_tool wait", "invoke_agent"),
        ("invoke_agent", None),
        ("own a", "execute_tool wait"),
        ("own b", "execute_tool wait"),
    ]


def test_a_failed_call_has_an_error_and_its_run_has_one_if_it_ends(spans: Spans) -> None:
    def fail(text: str) -> str:
        raise KeyError(text)

    def refuse(text: str) -> str:
        raise sk.ToolError(text)

    model = ScriptedModel([call("refuse", text=SECRET), call("fail", text=SECRET), "true"])
    with pytest.raises(KeyError):
        sk.Agent(model, [refuse, sk.tool(fail, reraise=KeyError)], output_type=bool).run("x")
    types = {span.name: dict(span.attributes or {}).get("error.type") for span in spans.ended}
    assert types == {
        "invoke_agent": "KeyError",
        "chat scripted": None,
        "execute_tool refuse": "structkit.errors.ToolError",
        "execute_tool fail": "KeyError",
    }
    assert "gen_ai.response.finish_reasons" not in dict(spans.named("invoke_agent").attributes or {})
    assert SECRET not in spans.everything()


def test_a_suspended_run_has_no_error(spans: Spans) -> None:
    model = ScriptedModel([call("visit", city="Faro"), "true"])
    agent = sk.Agent(model, [sk.tool(visit, requires_approval=True)], output_type=bool)
    with pytest.raises(sk.RunSuspended) as suspended:
        agent.run("x")
    agent.resume(suspended.value.state, approvals=True)
    assert all(span.status.status_code == StatusCode.UNSET for span in spans.ended)
    assert spans.names == [
        "invoke_agent",
        "chat scripted",
        "invoke_agent",
        "execute_tool visit",
        "chat scripted",
    ]


@pytest.mark.parametrize("by", ["option", "variable"])
def test_contents_are_recorded_on_request(spans: Spans, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    options: Any = {"trace_content": True} if by == "option" else {}
    if by == "variable":
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    model = ScriptedModel([call("visit", city="Faro"), "true"])
    sk.Agent(model, [visit], output_type=bool, **options).run("Is it far?")
    asked, answered = "gen_ai.input.messages", "gen_ai.output.messages"
    attributes = dict(spans.named("invoke_agent").attributes or {})
    arguments = {"city": "Faro"}
    assert json.loads(f"{attributes[asked]}") == [
        {"role": "user", "parts": [{"type": "text", "content": "Is it far?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call_1", "name": "visit", "arguments": arguments}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "call_1", "response": "Faro is far"}],
        },
    ]
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "true"}], "finish_reason": "stop"}
    assert json.loads(f"{attributes[answered]}") == [answer]
    chat = [dict(span.attributes or {}) for span in spans.ended if span.name == "chat scripted"]
    assert "Is it far?" in json.loads(f"{chat[0][asked]}")[0]["parts"][0]["content"]
    assert json.loads(f"{chat[0][answered]}")[0]["parts"][0]["content"] == call("visit", city="Faro")
    tool = dict(spans.named("execute_tool visit").attributes or {})
    assert json.loads(f"{tool['gen_ai.tool.call.arguments']}") == arguments
    assert json.loads(f"{tool['gen_ai.tool.call.result']}") == "Faro is far"
    if by == "variable":
        sk.extract(ScriptedModel(["true"]), SECRET, bool, trace_content=False)
        assert SECRET not in spans.everything()


@pytest.mark.parametrize("seed", range(cases(6, of=20)))
def test_random_runs_have_a_span_for_each_step_and_call(spans: Spans, seed: int) -> None:
    def divide(a: int, b: int) -> float:
        if not b % 2:
            raise sk.ToolError("b is even")
        return a / b

    agent = sk.Agent(
        RandomModel(seed),
        [sk.tool(divide, tool_retries=9), visit],
        output_type=bool,
        max_parallel_calls=3,
        max_tokens=600,
        on_limit="answer",
        temperature=1.0,
        seed=seed,
    )
    result = agent.run("x")
    names = [span.name.split()[0] for span in spans.ended]
    assert names.count("invoke_agent") == 1
    assert names.count("chat") == result.steps
    assert names.count("execute_tool") == len(result.calls)
    failed = [span for span in spans.ended if span.status.status_code == StatusCode.ERROR]
    assert len(failed) == sum(each.error is not None for each in result.calls)


def test_a_sampler_can_drop_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Spans(sampler=ALWAYS_OFF)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.provider)
    model = ScriptedModel([call("visit", city="Faro"), "true"])
    assert sk.Agent(model, [visit], output_type=bool).run("x").value
    assert not found.ended


@pytest.mark.long
def test_opentelemetry_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import structkit as sk; from structkit.testing import ScriptedModel\n"
        "print(sk.Agent(ScriptedModel(['true']), output_type=bool).run('x').value)\n"
        "assert 'opentelemetry.trace' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_without_a_provider_there_are_no_spans() -> None:
    from structkit.tracing import start_span

    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    assert start_span("chat", "x", {}) is None


def test_the_log_says_what_happened_without_contents(caplog: pytest.LogCaptureFixture) -> None:
    model: LogitsModel = ScriptedModel([call("visit", city=SECRET), f'"{SECRET}"'])
    with caplog.at_level(logging.DEBUG, logger="structkit"):
        sk.Agent(model, [visit], output_type=sk.Choice([f'"{SECRET}"']), name="guide").run(SECRET)
    found = [(record.levelname, record.getMessage().split(" in 0")[0]) for record in caplog.records]
    kinds = [(level, text.split()[0]) for level, text in found if "kernels" not in text]
    assert kinds == [("DEBUG", "scripted"), ("DEBUG", "visit"), ("DEBUG", "scripted"), ("INFO", "agent")]
    assert found[-1][1].startswith("agent guide: 2 steps, ")
    assert SECRET not in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="structkit"):
        sk.extract(ScriptedModel(["true"]), SECRET, bool)
    assert not [record for record in caplog.records if "kernels" not in record.getMessage()]


def test_json_of_a_span_is_written_as_it_is_read() -> None:
    found: list[object] = []
    span = SimpleNamespace(_span=SimpleNamespace(set_attribute=lambda *given: found.extend(given)))
    Span.set_json(cast("Span", span), "name", {"é": Decimal("0.5")})
    assert found == ["name", '{"é": "0.5"}']
