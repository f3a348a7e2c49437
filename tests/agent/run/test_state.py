"""Stored runs and histories: inconsistent parts raise an error before any call is executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

import structkit as sk
from structkit import messages
from structkit.testing import ScriptedModel
from tests.agent.answers import is_even
from tests.calls import call

MADE: list[tuple[str, object]] = []

Small = Annotated[int, Field(ge=0, le=9)]


def pay(euros: Small) -> str:
    """Pay an amount."""
    MADE.append(("pay", euros))
    return "paid"


def look(name: Annotated[str, Field(max_length=5)] = "x") -> str:
    MADE.append(("look", name))
    if name == "fail":
        raise sk.ToolError("no")
    return "seen"


def even(number: Annotated[Small, AfterValidator(is_even)]) -> int:
    MADE.append(("even", number))
    return number


def fetch(**arguments: object) -> str:
    MADE.append(("fetch", arguments.get("url")))
    return "text"


URL = {"type": "object", "properties": {"url": {"enum": ["a", "b"]}}, "required": ["url"]}

LIMITS: dict[str, Any] = {"max_steps": 6, "max_parallel_calls": 3, "max_tokens": 900}


def agent(model: Any, **changes: Any) -> sk.Agent[str]:
    tools: list[Any] = [
        sk.tool(pay, requires_approval=True, max_calls=2),
        sk.tool(look, tool_retries=1),
        even,
        sk.Tool(function=fetch, name="fetch", schema=URL, requires_approval=True),
    ]
    return sk.Agent(model, tools, output_type=str, retries=0, **{**LIMITS, **changes})


SCRIPTS = [
    [call("pay", euros=2)],
    [call("look", name="fail"), call("even", number=3), f"[{call('look')}, {call('pay', euros=1)}]"],
    [call("even", number=4), f"[{call('pay', euros=1)}, {call('pay', euros=2)}, {call('fetch', url='a')}]"],
]


@cache
def stored() -> list[str]:
    """States of real runs, with and without earlier turns, some with calls that were already executed."""
    history = agent(ScriptedModel([call("look"), "Hi."])).run("Hello.").messages
    found = []
    for script in SCRIPTS:
        for before in ((), history):
            with pytest.raises(sk.RunSuspended) as caught:
                agent(ScriptedModel(script)).run("Pay.", messages=before)
            found.append(caught.value.state.dumps())
    return found


def test_a_state_that_nobody_changed_goes_on() -> None:
    for text in stored():
        state = sk.RunState.loads(text)
        MADE.clear()
        result = agent(ScriptedModel(["done"])).resume(state, approvals=True)
        assert len(MADE) == len(state.pending)
        assert (result.value, result.steps) == ("done", state.steps + 1)


def state_of(number: int) -> sk.RunState:
    return sk.RunState.loads(stored()[number])


def objects(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Each object of a JSON value, with its path."""
    if isinstance(value, dict):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from objects(each, (*path, key))


def test_a_key_that_this_version_does_not_write_is_refused_with_its_place() -> None:
    """A state of a later version can say more than this one would do."""
    seen = set()
    for text in stored():
        for path in [path for path, _ in objects(json.loads(text)) if path[:1] != ("metadata",)]:
            changed = json.loads(text)
            dict(objects(changed))[path]["approved"] = True
            with pytest.raises(sk.AgentError, match=r"approved`\n") as caught:
                sk.RunState.loads(json.dumps(changed))
            assert all(str(step) in str(caught.value) for step in path)
            seen.add(path[:1])
    assert seen == {(), ("messages",), ("pending",), ("tool_results",), ("usage",), ("step_usage",)}


def test_a_message_without_a_kind_is_not_guessed() -> None:
    changed = stored()[0].replace(',"kind":"user"', "", 1)
    with pytest.raises(sk.AgentError, match=r"(?s)'kind'.*`messages\.0`"):
        sk.RunState.loads(changed)


CHANGES: list[tuple[Callable[[sk.RunState], sk.RunState], str]] = [
    (
        lambda s: replace(s, elapsed_seconds=float("nan")),
        "invalid state of a run.*`elapsed_seconds`",
    ),
    (lambda s: replace(s, agent_fingerprint=3), "invalid state of a run"),  # type: ignore[arg-type]
    (lambda s: replace(s, tool_results=s.tool_results * 2), "pending calls"),
    (lambda s: replace(s, pending=s.pending * 2), "pending calls"),
    (lambda s: replace(s, metadata={"call_9": 1}), "metadata of the state is of call_9"),
    *(
        (
            lambda s, n=name: replace(s, tool_results=(replace(s.tool_results[0], name=n),)),
            f"is of {name}, and",
        )
        for name in ("pay", "unknown")
    ),
    (
        lambda s: replace(s, messages=(*s.messages[:2], *s.messages[3:])),
        "call_1 in the messages has no output",
    ),
    (lambda s: replace(s, messages=(*s.messages[:1], *s.messages[2:])), "does not follow its call"),
    (
        lambda s: replace(s, messages=s.messages[:2] + s.messages[1:]),
        "call_1 in the messages has no output",
    ),
    (lambda s: replace(s, messages=s.messages[:3] + s.messages[1:]), "two calls have the id call_1"),
    (lambda s: text(s, '{\\"name\\": \\"fail\\"}', "{"), "arguments of call_1 are not JSON"),
    (lambda s: text(s, '{\\"name\\": \\"fail\\"}', "[" * 100_000), "arguments of call_1 are not JSON"),
    (lambda s: text(s, '{\\"name\\": \\"fail\\"}', "3"), "arguments of call_1 are not a JSON object"),
]


def text(state: sk.RunState, old: str, new: str) -> sk.RunState:
    changed = state.dumps().replace(old, new)
    assert changed != state.dumps()
    return sk.RunState.loads(changed)


@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_what_is_wrong_with_a_state_is_said(change: Callable[[sk.RunState], sk.RunState], said: str) -> None:
    state = change(state_of(2))
    MADE.clear()
    with pytest.raises(sk.AgentError, match=said) as caught:
        agent(ScriptedModel([])).resume(state, approvals=True)
    assert caught.value.place in ("state", "messages")
    assert not MADE


@pytest.mark.parametrize(
    ("limits", "kind", "said"),
    [
        ({"max_steps": 3}, sk.AgentError, "has used 3 steps, and max_steps=3 leaves none"),
        ({"max_tokens": 20}, sk.BudgetTooSmall, "max_tokens of the run"),
    ],
)
def test_an_agent_of_tighter_limits(limits: dict[str, Any], kind: type[Exception], said: str) -> None:
    state = state_of(2)
    MADE.clear()
    with pytest.raises(kind, match=said):
        agent(ScriptedModel([]), **limits).resume(state, approvals=True)
    assert not MADE


def test_steps_are_counted_before_the_messages_are_read() -> None:
    """Reading a hundred thousand messages takes seconds."""
    unread = (messages.User(content=3),)  # type: ignore[arg-type]
    steps = tuple(messages.Calls(calls=()) for _ in range(50))
    with pytest.raises(sk.AgentError, match="has used 50 steps"):
        agent(ScriptedModel([])).resume(replace(state_of(2), messages=unread + steps), approvals=True)


HISTORIES: list[tuple[list[messages.Message], str]] = [
    ([messages.Output(id="call_1", name="look", content="x")], "does not follow its call"),
    ([messages.Calls(calls=())], "has no calls"),
    ([messages.Calls(calls=(messages.CallPart(id="a", name="look", arguments="nothing"),))], "not JSON"),
    ([messages.Calls(calls=(messages.CallPart(id="a", name="look", arguments="{}"),))], "has no output"),
    ([messages.User(content=5)], "has the wrong type"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("history", "said"), HISTORIES)
def test_a_history_that_no_run_has_left(history: list[messages.Message], said: str) -> None:
    with pytest.raises(sk.AgentError, match=said) as caught:
        agent(ScriptedModel(["Hi."])).run("Hi.", messages=history)
    assert caught.value.place == "messages"


def test_a_history_of_another_agent_is_an_error() -> None:
    part = messages.CallPart(id="call_1", name="other", arguments="{}")
    output = messages.Output(id="call_1", name="other", content="x")
    history = [
        messages.User(content="x"),
        messages.Calls(calls=(part,)),
        output,
        messages.Answer(content="y"),
    ]
    model = ScriptedModel(["Hi."])
    with pytest.raises(
        sk.AgentError,
        match=r"(?s)at `messages\[1\]`:\n  .*they call other, and the tools of this agent are pay, ",
    ):
        agent(model).run("And?", messages=history)
    assert not model.prompts
    # What the user and the model said can be handed over.
    handed = [message for message in history if message.kind in ("user", "answer")]
    assert agent(model).run("And?", messages=handed).value == "Hi."


@pytest.mark.parametrize("last", [2, 999_999_999, int("9" * 190)])
def test_ids_go_on_after_those_of_a_history(last: int) -> None:
    part = messages.CallPart(id=f"call_{last}", name="look", arguments="{}")
    history = [messages.Calls(calls=(part,)), messages.Output(id=part.id, name="look", content="x")]
    result = agent(ScriptedModel([call("look")] * 2 + ["Hi."])).run("Hi.", messages=history)
    assert [each.id for each in result.calls] == [f"call_{last + 1}", f"call_{last + 2}"]
    agent(ScriptedModel(["Hi."])).run("And?", messages=result.messages)
