"""The traces of generations and runs that end with an error: they have everything that was received."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import structkit as sk
from structkit.messages import User
from structkit.testing import RandomModel, ScriptedModel
from structkit.trace.picture import text_of
from tests.trace.test_traces import SECRET, Adult, Person


def replying(*replies: str | Exception, **options: Any) -> Any:
    """Return a model that gives replies; an error is raised in the middle of a reply."""
    each = iter(replies)

    def function(request: object) -> Iterator[str]:
        reply = next(each, "")
        if isinstance(reply, Exception):
            yield 'Ana", '
            raise reply
        yield reply

    return sk.from_function(function, name="a function", **options)


def failed(model: Any, target: Any = Person, **options: Any) -> sk.Trace:
    """Return the trace of the error of a generation."""
    with pytest.raises(sk.GenerationError) as raised:
        sk.generate(model, SECRET, target, **options)
    trace = raised.value.trace
    assert isinstance(trace, sk.Trace)
    assert trace.error == type(raised.value).__name__
    assert SECRET not in str(trace)
    return trace


def test_corrections_are_exhausted() -> None:
    trace = failed(replying('Ana", "years": 1}', "old", "young"), max_corrections=2)
    assert [draft.reply for draft in trace.drafts] == ['Ana", "years": 1}', "old", "young"]
    assert trace.text == '{"name": "Ana", "age": '
    assert text_of(trace.spans) == trace.text
    title = "a function, Person: failed with CorrectionsExhausted, 3 replies, 3 corrections\n"
    assert str(trace).startswith(title)
    assert "     refused    |young|\n" in str(trace)


def test_a_model_fails_at_once() -> None:
    trace = failed(sk.from_function(lambda text: 1 / 0))  # type: ignore[arg-type]
    (draft,) = trace.drafts
    assert (draft.end, draft.reply, trace.text) == ("failed", "", '{"name": "')
    assert "  1  ended      because the model failed\n" in str(trace)


def test_what_a_failed_reply_had_said_is_kept() -> None:
    trace = failed(replying('Bo", ', OSError("down")))
    assert [(draft.end, draft.reply, draft.rest) for draft in trace.drafts] == [
        ("ended", 'Bo", ', ""),
        ("failed", 'Ana", ', 'Ana", '),
    ]


def test_a_reply_takes_too_long() -> None:
    def slow(text: str) -> Iterator[str]:
        import time

        time.sleep(20)
        yield ""

    trace = failed(sk.from_function(slow, timeout=0.05))
    assert [draft.end for draft in trace.drafts] == ["timeout"]


def test_validators_reject_every_answer() -> None:
    trace = failed(replying('{"age": 3}', '{"age": 4}', continues=False, chat=True), Adult, retries=1)
    assert [rejected.text for rejected in trace.rejected] == ['{"age": 3}', '{"age": 4}']
    assert (trace.text, len(trace.drafts)) == ("", 2)
    assert str(trace).split("\n")[0].endswith("failed with OutputValidationError, 2 replies, 3 attempts")


def test_an_attempt_after_a_rejection_fails() -> None:
    model = replying('{"age": 3}', '{"age": old}', continues=False, chat=True)
    trace = failed(model, Adult, max_corrections=0)
    assert [rejected.text for rejected in trace.rejected] == ['{"age": 3}']
    assert trace.text == '{"age": '


def test_a_budget_is_too_small() -> None:
    for model in (replying(), RandomModel(1)):
        trace = failed(model, max_tokens=3)
        assert (trace.text, trace.drafts, trace.tokens) == ("", (), ())


class Broken(RandomModel):
    """A model that fails at the fifth step."""

    steps = 0

    def session(self) -> Any:
        session: Any = super().session()
        logits = session.logits

        def failing(token_ids: Sequence[int]) -> Any:
            self.steps += 1
            if self.steps > 4:
                raise OSError("the device is lost")
            return logits(token_ids)

        session.logits = failing
        return session


def test_a_model_with_logits_fails() -> None:
    trace = failed(Broken(3), list[str])
    assert trace.tokens
    assert trace.text == text_of(trace.spans)
    assert str(trace).split("\n")[0].startswith("random, list[str]: failed with ModelError, ")


def test_each_row_of_a_batch_has_a_trace_of_its_own() -> None:
    errors = sk.generate_many(
        Broken(3), ["one", "two"], list[str], batch_size=2, return_exceptions=True, trace_content=True
    )
    traces = [error.trace for error in errors if isinstance(error, sk.ModelError)]
    assert [trace.prompt for trace in traces if isinstance(trace, sk.Trace)] == ["one", "two"]
    assert all(isinstance(error, sk.ModelError) and error.__cause__ is not None for error in errors)


def test_validators_reject_every_answer_of_a_model_with_logits() -> None:
    trace = failed(ScriptedModel(['{"age": 3}', '{"age": 4}']), Adult, retries=1)
    assert [rejected.text for rejected in trace.rejected] == ['{"age": 3}', '{"age": 4}']
    assert (trace.text, trace.tokens) == ("", ())


def test_a_stream_fails() -> None:
    stream = sk.stream(replying("", max_calls=1), SECRET, Person)
    with pytest.raises(sk.CorrectionsExhausted) as raised:
        list(stream)
    assert isinstance(raised.value.trace, sk.Trace)
    assert len(raised.value.trace.drafts) == 1


def test_an_error_with_a_trace_can_be_pickled() -> None:
    with pytest.raises(sk.CorrectionsExhausted) as raised:
        sk.extract(replying(max_calls=1), SECRET, Person)
    assert pickle.loads(pickle.dumps(raised.value)).trace == raised.value.trace


def double(number: int) -> int:
    """Return twice a number."""
    return 2 * number


CALL = '{"name": "double", "arguments": {"number": 4}}'


def test_a_run_of_an_agent_is_one_picture(tmp_path: Path) -> None:
    model = replying(CALL, "It is 8.", chat=True, continues=False)
    result = sk.Agent(model, tools=[double], name="counter").run(SECRET)
    assert [len(step.drafts) for step in result.trace.steps] == [1, 1]
    title, _, first, second, _, answer, *_ = str(result.trace).split("\n")
    assert title == "counter: 2 steps"
    assert first == f"1.1  accepted   |{CALL}|"
    assert (second, answer) == ("2.1  accepted   |It is 8.|", "It is 8.")
    result.trace.save(tmp_path / "run.html")
    assert "It is 8." in (tmp_path / "run.html").read_text()
    assert SECRET not in str(result.trace)


def test_a_run_with_logits_is_one_picture() -> None:
    result = sk.Agent(ScriptedModel([CALL, "8"]), tools=[double], output_type=int).run("2 * 4?")
    lines = str(result.trace).split("\n")
    assert lines[0] == "agent: 2 steps"
    assert lines[2].startswith("  1  ")
    assert [text_of(step.spans) for step in result.trace.picture().steps] == [CALL, "8"]


def test_a_run_that_fails_has_the_traces_of_all_steps() -> None:
    model = replying(CALL, "", chat=True, continues=False, max_calls=1)
    with pytest.raises(sk.CorrectionsExhausted) as raised:
        sk.Agent(model, tools=[double], output_type=int).run(SECRET)
    record = sk.run_record(raised.value)
    assert record is not None
    assert [step.error for step in record.trace.steps] == ["", "CorrectionsExhausted"]
    assert raised.value.trace == record.trace.steps[1]
    assert str(record.trace).startswith("agent: 2 steps, failed with CorrectionsExhausted\n")


def test_a_limit_of_a_run_has_its_trace() -> None:
    model = replying(CALL, CALL, chat=True, continues=False)
    with pytest.raises(sk.UsageLimitExceeded) as raised:
        sk.Agent(model, tools=[double], max_steps=1).run(SECRET)
    assert isinstance(raised.value.trace, sk.RunTrace)
    assert len(raised.value.trace.steps) == 1


def test_a_single_step_has_its_trace() -> None:
    model = replying(CALL, chat=True, continues=False)
    step = sk.Agent(model, tools=[double]).step([User(content=SECRET)])
    assert step.trace.drafts[0].accepted == CALL


def test_a_run_without_steps_can_be_drawn() -> None:
    assert str(sk.RunTrace()) == "agent: 0 steps"
