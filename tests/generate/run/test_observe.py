"""What a span and the log have of a generation, without OpenTelemetry."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.output.trace import Draft
from structkit.generate.run import observe
from structkit.testing import ScriptedModel


class GivenSpan:
    """A span that keeps what it receives."""

    def __init__(self) -> None:
        self.started: tuple[object, ...] = ()
        self.attributes: dict[str, Any] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.errors: list[BaseException | None] = []

    def set(self, attributes: dict[str, Any]) -> None:
        self.attributes |= {name: value for name, value in attributes.items() if value is not None}

    def add_event(self, name: str, attributes: dict[str, Any]) -> None:
        self.events.append((name, attributes))

    def set_json(self, name: str, value: object) -> None:
        self.attributes[name] = value

    def end(self, error: BaseException | None = None) -> None:
        self.errors.append(error)


@pytest.fixture
def span(monkeypatch: pytest.MonkeyPatch) -> GivenSpan:
    given = GivenSpan()

    def start_span(operation: str, subject: str, attributes: dict[str, Any], *, parent: object) -> GivenSpan:
        given.started = operation, subject, parent
        given.set(attributes)
        return given

    monkeypatch.setattr(observe, "start_span", start_span)
    return given


def _not_two(value: int) -> int:
    if value == 2:
        raise ValueError("not two")
    return value


NotTwo = Annotated[int, AfterValidator(_not_two)]


def test_the_attributes_of_a_generation(span: GivenSpan) -> None:
    result = sk.generate(
        ScriptedModel(["2", "3"]), "Pick", NotTwo, seed=7, temperature=0.5, top_k=4, top_p=1.0
    )
    assert span.started == ("chat", "scripted", None) and span.errors == [None]
    usage = result.usage
    assert usage.discarded_tokens > 0
    assert span.attributes == {
        "gen_ai.request.model": "scripted",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_k": 4,
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.seed": 7,
        "gen_ai.output.type": "json",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.written_tokens,
        "structkit.attempts": 2,
        "structkit.discarded_tokens": usage.discarded_tokens,
        "structkit.forced_tokens": usage.forced_tokens,
    }


def test_thinking_and_a_limit_are_attributes(span: GivenSpan) -> None:
    model = ScriptedModel(["I think.</think>aaaaaa"], strict=False)
    result = sk.generate(model, "Go", sk.Regex("a+"), thinking=True, max_tokens=2)
    assert result.finish_reason == "budget"
    found = span.attributes
    assert found["gen_ai.response.finish_reasons"] == ["length"] and found["gen_ai.output.type"] == "text"
    assert found["gen_ai.usage.reasoning.output_tokens"] == result.usage.thinking_tokens > 0
    assert found["gen_ai.usage.output_tokens"] == result.usage.written_tokens
    assert found["gen_ai.request.max_tokens"] == 2


@pytest.mark.parametrize("system", [None, "Be brief."])
@pytest.mark.parametrize("shown", [True, False])
def test_messages_are_attributes_if_content_is_captured(
    system: str | None, shown: bool, span: GivenSpan
) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    for prompt in ("Hi", turns):
        span.attributes.clear()
        sk.generate(ScriptedModel(["3"]), prompt, int, system=system, trace_content=shown)
        content = {
            name: value for name, value in span.attributes.items() if "messages" in name or "system" in name
        }
        messages = turns if prompt is turns else turns[:1]
        expected: dict[str, Any] = {
            "gen_ai.input.messages": [
                {"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]}
                for each in messages
            ],
            "gen_ai.output.messages": [
                {"role": "assistant", "parts": [{"type": "text", "content": "3"}], "finish_reason": "stop"}
            ],
        }
        if system is not None:
            expected["gen_ai.system_instructions"] = [{"type": "text", "content": system}]
        assert content == (expected if shown else {})


@pytest.mark.parametrize("shown", [True, False])
def test_each_reply_of_a_text_model_is_an_event_and_a_message(
    shown: bool, span: GivenSpan, caplog: pytest.LogCaptureFixture
) -> None:
    replies = iter(["maybe", "true"])
    model = sk.from_function(lambda text: next(replies), name="a function")
    with caplog.at_level(logging.DEBUG, "structkit"):
        trace = sk.generate(model, "Go", bool, trace_content=shown).trace
    assert len(trace.drafts) == 2 and len(span.events) == 2
    for number, (draft, (name, attributes)) in enumerate(zip(trace.drafts, span.events, strict=True)):
        assert name == "structkit.reply"
        sizes = {
            f"structkit.reply.{part}_characters": len(getattr(draft, part))
            for part in ("accepted", "refused", "chosen", "forced")
        }
        content = {
            f"structkit.reply.{part}": getattr(draft, part)
            for part in ("accepted", "refused", "chosen", "forced")
        }
        content["structkit.reply.offered"] = draft.choices or ((draft.hint,) if draft.hint else ())
        assert attributes == {
            "structkit.reply.number": attributes["structkit.reply.number"],
            "structkit.reply.end": draft.end,
            "structkit.reply.is_correction": draft.is_correction,
            "structkit.reply.seconds": draft.seconds,
            "structkit.reply.constraint": None,
            "structkit.reply.choices": len(draft.choices),
            **sizes,
            **(content if shown else {}),
        }
        said = f": accepted {draft.accepted!r}, refused {draft.refused!r}" if shown else ""
        assert (
            f"a function, reply {attributes['structkit.reply.number']}: {draft.end}, {len(draft.accepted)} characters "
            f"accepted, {len(draft.refused)} refused, {len(draft.forced)} forced, in {draft.seconds:.3f} s{said}"
        ) in caplog.messages
        assert attributes["structkit.reply.number"] - span.events[0][1]["structkit.reply.number"] == number
    assert (span.attributes["structkit.calls"], span.attributes["structkit.corrections"]) == (
        2,
        trace.corrections,
    )


def test_the_log_has_the_end_of_a_generation(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "structkit"):
        sk.generate(ScriptedModel(["7"]), "Pick", int)
        sk.generate(ScriptedModel(["77"]), "Pick", sk.Regex("[78]{2}"))
        with pytest.raises(sk.OutputValidationError):
            sk.generate(ScriptedModel(["2"]), "Pick", NotTwo, retries=0)
    ends = [each.partition(" in ") for each in caplog.messages if " wrote " in each]
    assert [start for start, _, _ in ends] == [
        "scripted wrote 1 token for int",
        "scripted wrote 2 tokens for Regex('[78]{2}')",
        "scripted wrote 1 token for int",
    ]
    assert [end.partition(" s: ")[2] for _, _, end in ends] == [
        "stop",
        "stop",
        "rejected with ValidationError",
    ]
    assert all(0 <= float(end.partition(" s")[0]) < 60 for _, _, end in ends)


def test_a_span_ends_with_the_error_of_its_generation(span: GivenSpan) -> None:
    with pytest.raises(sk.OutputValidationError):
        sk.generate(ScriptedModel(["2"]), "Pick", NotTwo, retries=0)
    assert [type(error).__name__ for error in span.errors] == ["ValidationError"]
    assert span.attributes["structkit.attempts"] == 1

    span.errors.clear()
    with pytest.raises(sk.ModelError) as raised:
        sk.generate(sk.from_function(lambda text: 1 // 0), "Pick", int)
    assert span.errors == [raised.value] and raised.value.trace is not None

    span.errors.clear()
    stream = sk.stream(ScriptedModel(["[1, 2]"]), "Pick", list[int])
    next(iter(stream))
    stream.close()
    assert span.errors == [None]


@pytest.mark.parametrize(
    ("choices", "hint", "offered"),
    [((), "", ()), ((), "a number", ("a number",)), (("a", "b"), "a number", ("a", "b"))],
)
def test_a_reply_has_what_its_request_offered(
    choices: tuple[str, ...], hint: str, offered: tuple[str, ...], span: GivenSpan
) -> None:
    texts = dict.fromkeys(
        ("prefix", "reply", "healed", "skipped", "accepted", "refused", "rest", "forced"), ""
    )
    draft = Draft(attempt=0, **texts, choices=choices, hint=hint, end="empty", seconds=0.5)  # type: ignore[arg-type]
    settings = Settings(trace_content=True)
    request = Request(model=ScriptedModel([]), prompt="a", target=int, settings=settings)
    observe.GenerationObserver(request).reply(3, draft)
    ((_, attributes),) = span.events
    assert attributes["structkit.reply.offered"] == offered
    assert (attributes["structkit.reply.number"], attributes["structkit.reply.choices"]) == (3, len(choices))
