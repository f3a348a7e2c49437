"""The arithmetic of the limits of a run, beside plain definitions."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from structkit.agent.run.budget import RunBudget, UsageLimits, max_steps_of, min_limit
from structkit.agent.run.config import MIN_RESULT_TOKENS
from structkit.agent.run.record import RunRecord
from structkit.errors import BudgetTooSmall, GenerationError
from structkit.generate.decode.budget import DEFAULT_MAX_TOKENS
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Usage
from structkit.messages import Answer, Message, Output, User

SHORTEST = 3
"""Tokens of the shortest result of the agent below, of which it estimates `RESERVED`."""

RESERVED = 5


class _Config(SimpleNamespace):
    """An agent whose prompt has one token for each character of its messages."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            max_steps=4,
            settings=Settings(),
            min_output_tokens=RESERVED,
            step_overhead=2,
            context_length=None,
            final_target="final",
            name="helper",
            label="helper",
            model=SimpleNamespace(name="m"),
            max_token_length=2,
            history=SimpleNamespace(cut=False, shorten=False, processors=()),
            logits_model=SimpleNamespace(encode=list, encode_text=list),
        )
        self.__dict__.update(given)

    def compile(self, target: str) -> Any:
        assert target == "final"
        cursor = SimpleNamespace(fits=lambda left: left >= SHORTEST)
        return SimpleNamespace(guide=SimpleNamespace(cursor=lambda: cursor))

    def turns(self, messages: Any, header: Any) -> str:
        return "".join(str(message.content) for message in messages)


def _budget(*, elapsed: float = 0.0, usage: Usage = Usage(), **given: Any) -> RunBudget:  # noqa: B008
    limits = {name: given.pop(name) for name in ("max_tokens", "max_tool_calls", "timeout") if name in given}
    state: Any = SimpleNamespace(usage=usage, step_usage=(), elapsed_seconds=elapsed)
    config: Any = _Config(**given)
    return RunBudget(config, state, UsageLimits(**limits))


def _used(tokens: int) -> Usage:
    return Usage(prompt_tokens=7, generated_tokens=tokens)


def test_limits_of_a_run_replace_those_of_the_agent() -> None:
    config: Any = _Config(settings=Settings(max_tokens=9, timeout=8.0))
    for tokens, steps, timeout in product((None, 0, 3), (None, 1, 7), (None, 0.0, 2.0)):
        limits = UsageLimits(max_tokens=tokens, max_steps=steps, timeout=timeout)
        state: Any = SimpleNamespace(usage=Usage(), step_usage=(), elapsed_seconds=0.0)
        budget = RunBudget(config, state, limits)
        assert budget.max_tokens == (9 if tokens is None else tokens)
        assert budget.max_steps == max_steps_of(config, limits) == (4 if steps is None else steps)
        assert budget.timeout == (8.0 if timeout is None else timeout)


def test_the_time_of_a_run_goes_on_after_a_pause() -> None:
    for elapsed, timeout, is_overdue in ((5, 10, False), (10, 10, True), (11, 10, True), (0, None, False)):
        budget = _budget(elapsed=elapsed, timeout=timeout)
        assert budget.is_overdue == is_overdue and elapsed <= budget.elapsed_seconds < elapsed + 5
        left = budget.remaining_seconds
        assert left is None if timeout is None else timeout - elapsed - 5 < left <= max(0, timeout - elapsed)
        assert (
            budget.limit_before(0, 0)
            == budget.limit_of_calls(1, 1, Usage())
            == ("timeout" if is_overdue else None)
        )


@pytest.mark.parametrize("most", [None, *range(12)])
def test_the_tokens_that_are_left(most: int | None) -> None:
    for used in range(13):
        budget = _budget(max_tokens=most)
        budget.add_step(_used(used))
        left = None if most is None else most - used
        assert budget.remaining_tokens == left and budget.step_usage == [_used(used)]
        is_spent = left is not None and left < SHORTEST
        assert budget.is_spent == is_spent
        for calls in (1, 2, 3):
            assert budget.share(calls) == (None if left is None else max(0, left - RESERVED) // calls)
        assert budget.limit_of_calls(1, 1, Usage()) == ("max_tokens" if is_spent else None)
        if is_spent:
            with pytest.raises(BudgetTooSmall) as error:
                budget.check()
            assert error.value.place == "max_tokens of the run"
            assert str(RESERVED) in error.value.message and str(max(0, left or 0)) in error.value.message
        else:
            budget.check()
    budget.add_usage(_used(1))
    assert budget.usage.generated_tokens == 13 and len(budget.step_usage) == 1


def test_limits_of_steps_and_calls_are_inclusive() -> None:
    for steps, calls, most in product(range(6), range(4), (None, 0, 1, 2)):
        budget = _budget(max_tool_calls=most)
        last, many = steps + 1 >= 4, most is not None
        assert budget.limit_before(steps, calls) == (
            "max_steps" if last else "max_tool_calls" if many and calls >= (most or 0) else None
        )
        assert budget.limit_of_calls(steps, calls, Usage()) == (
            "max_steps" if steps >= 4 else "max_tool_calls" if many and calls > (most or 0) else None
        )


def test_the_context_must_have_room_for_another_step() -> None:
    usage = Usage(prompt_tokens=20, generated_tokens=10, thinking_tokens=3)
    for context in range(30, 45):
        budget = _budget(context_length=context)
        assert budget.limit_of_calls(1, 1, usage) == ("context" if context < 20 + 10 + RESERVED + 2 else None)
    for context, most in product((None, 30, 43, 44, 1000, 1047, 1048), (None, 20, 21)):
        plan: Any = SimpleNamespace(settings=Settings(max_tokens=most))
        budget = _budget(context_length=context)
        limit = DEFAULT_MAX_TOKENS if most is None else most
        is_context = context is not None and context - 23 < limit
        assert budget.limit_of_tokens(plan, usage) == ("context" if is_context else "max_tokens")
        assert _budget(context_length=context, timeout=0).limit_of_tokens(plan, usage) == "timeout"


def test_the_error_of_a_limit_names_it_and_what_the_run_did() -> None:
    record = RunRecord(calls=(), messages=(), usage=Usage(), steps=2)
    budget = _budget(max_tokens=6, max_tool_calls=1, timeout=2.5, context_length=77)
    shown: dict[Any, str] = {
        "max_steps": "max_steps=4",
        "max_tool_calls": "max_tool_calls=1",
        "timeout": "timeout=2.5 seconds",
        "context": "context=77 tokens of the model",
        "max_tokens": "max_tokens=6",
    }
    for limit, text in shown.items():
        assert budget.describe(limit) == text
        error = budget.exceeded(limit, record)
        remedy = (
            "let the tools return less, make the agent with" if limit == "context" else "increase the limit"
        )
        start = f"the run reached {text} before a result (steps: 2, calls: 0); {remedy}"
        assert error.message.startswith(start) and error.limit == limit and error.place == "helper"
        assert error.message.endswith(", or make the agent with on_limit='answer' for a result within it")
    default = f"max_tokens={DEFAULT_MAX_TOKENS} for one step, the default"
    assert _budget().describe("max_tokens") == default


def _history(cut: bool = False, shorten: bool = False, processors: tuple[object, ...] = ()) -> Any:
    return SimpleNamespace(cut=cut, shorten=shorten, processors=processors)


EARLIER: list[Message] = [
    message for number in range(4) for message in (User(content=f"q{number}"), Answer(content=f"a{number}"))
]
NOW: list[Message] = [User(content="xyz")]


def test_history_is_cut_to_half_of_the_context_at_a_question() -> None:
    header: Any = None
    for context in (None, *range(6, 50)):
        budget = _budget(context_length=context, history=_history(cut=True))
        fits = [
            start
            for start in range(0, len(EARLIER), 2)
            if context is None or 3 + 2 * (len(EARLIER) - start) <= context // 2
        ]
        expected = EARLIER[min(fits, default=len(EARLIER)) :]
        assert [*budget.fit_history(EARLIER, NOW, header)] == expected
        assert [*budget.fit_history([], NOW, header)] == []


def test_history_without_room_for_a_result_is_refused() -> None:
    header: Any = None
    needed = 3 + 2 * len(EARLIER)
    for context in range(needed + RESERVED - 3, needed + RESERVED + 2):
        budget = _budget(context_length=context, history=_history())
        if context < needed + RESERVED:
            with pytest.raises(GenerationError) as error:
                budget.fit_history(EARLIER, NOW, header)
            assert error.value.place == "messages"
            assert f"has {needed} tokens" in error.value.message and f"of {context}," in error.value.message
        else:
            assert budget.fit_history(EARLIER, NOW, header) is EARLIER
        budget = _budget(context_length=context, history=_history(processors=(len,)))
        assert budget.fit_history(EARLIER, NOW, header) is EARLIER


def test_the_oldest_outputs_are_shortened_until_the_prompt_fits() -> None:
    long = "o" * (2 * MIN_RESULT_TOKENS)
    messages: list[Message] = [
        NOW[0],
        *(Output(id=f"c{number}", name="f", content=long) for number in range(3)),
    ]
    cut = _budget()._truncate(long, MIN_RESULT_TOKENS)
    assert len(cut) <= MIN_RESULT_TOKENS
    lengths = [3 + count * len(cut) + (3 - count) * len(long) for count in range(4)]
    for context in [length * 2 + more for length in lengths for more in (-1, 0, 1, 2)]:
        budget = _budget(context_length=context, history=_history(shorten=True))
        found = budget.shorten_outputs(messages, None)
        count = next((count for count in range(3) if lengths[count] <= context // 2), 3)
        assert [getattr(each, "content", "") for each in found] == [
            "xyz",
            *[cut] * count,
            *[long] * (3 - count),
        ]
        assert [getattr(each, "id", "") for each in found] == ["", "c0", "c1", "c2"]
    for budget in (_budget(history=_history(shorten=True)), _budget(context_length=9, history=_history())):
        assert budget.shorten_outputs(messages, None) is messages


@pytest.mark.parametrize("most", [1, 5, 30, 40])
def test_a_text_is_truncated_to_tokens(most: int) -> None:
    budget = _budget()
    for length in (0, 1, most, most + 1, 2 * most, 100, 500):
        text = "".join(chr(0x61 + number % 26) for number in range(length))
        found = budget._truncate(text, most)
        if length <= most:
            assert found == text
        else:
            kept, _, rest = found.partition(" ... (")
            assert text.startswith(kept) or found == "..."
            assert found == "..." or (len(found) <= most and rest == f"{length - len(kept)} more characters)")
            assert most < 30 or len(kept) >= 1


def test_outputs_share_half_of_what_the_context_leaves() -> None:
    long = "o" * 2_000
    for count, context in product((1, 2), (None, 100, 1_000, 3_000)):
        outputs = [Output(id="c", name="f", content=long) for _ in range(count)]
        budget = _budget(context_length=context)
        found = budget.truncate_results(NOW, outputs)
        if context is None:
            assert found == outputs
            continue
        turns = budget._config.turns([*NOW, *outputs], None)
        note = 200  # at least what a note about the limit takes
        room = context - (len(turns) - count * len(long)) - RESERVED - 2
        most = max(MIN_RESULT_TOKENS, room // (2 * count))
        assert all(
            max(MIN_RESULT_TOKENS, (room - note) // (2 * count)) // 2 - 30 <= len(each.content) <= most
            for each in found
        )


@pytest.mark.parametrize(("one", "other"), [*product((None, 0, 1, 2), repeat=2)])
def test_the_smaller_limit(one: int | None, other: int | None) -> None:
    given = [each for each in (one, other) if each is not None]
    assert min_limit(one, other) == min(given, default=None)
