"""Stored runs that somebody has changed: they are refused, or go on within all limits of the agent."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

import structkit as sk
from structkit import messages
from structkit.testing import RandomModel, ScriptedModel

MADE: list[tuple[str, object]] = []

Small = Annotated[int, Field(ge=0, le=9)]


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("it is odd")
    return number


def pay(euros: Small) -> str:
    """Pay an amount."""
    MADE.append(("pay", euros))
    return "paid"


def look(name: Annotated[str, Field(max_length=5)] = "x") -> str:
    MADE.append(("look", name))
    if name == "fail":
        raise sk.ToolError("no")
    return "seen"


def even(number: Annotated[Small, AfterValidator(_even)]) -> int:
    MADE.append(("even", number))
    return number


def fetch(**arguments: object) -> str:
    MADE.append(("fetch", arguments.get("url")))
    return "text"


URL = {"type": "object", "properties": {"url": {"enum": ["a", "b"]}}, "required": ["url"]}

LIMITS: dict[str, Any] = {"max_steps": 6, "parallel": 3, "max_tokens": 900}


def agent(model: Any, **changes: Any) -> sk.Agent[str]:
    tools: list[Any] = [
        sk.tool(pay, requires_approval=True, max_calls=2),
        sk.tool(look, retries=1),
        even,
        sk.Tool(function=fetch, name="fetch", schema=URL, requires_approval=True),
    ]
    return sk.Agent(model, tools, result=str, retries=0, **{**LIMITS, **changes})


def call(name: str, /, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


SCRIPTS = [
    [call("pay", euros=2)],
    [call("look", name="fail"), call("even", number=3), f"[{call('look')}, {call('pay', euros=1)}]"],
    [call("even", number=4), f"[{call('pay', euros=1)}, {call('pay', euros=2)}, {call('fetch', url='a')}]"],
]


@cache
def stored() -> list[str]:
    """States of real runs, with and without earlier turns, some of whose calls were made already."""
    history = agent(ScriptedModel([call("look"), '"Hi."'])).run("Hello.").messages
    found = []
    for script in SCRIPTS:
        for before in ((), history):
            with pytest.raises(sk.RunPaused) as caught:
                agent(ScriptedModel(script)).run("Pay.", messages=before)
            found.append(caught.value.state.dumps())
    return found


def places(tree: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


ODD: list[object] = [
    None, True, -1, 0, 1, 7, 10**30, -0.5, 1e400, float("nan"), "", "x", "{}", "[]", "{", "[" * 5000, "null",
    '{"euros": 3}', '{"euros": 3e0}', '{"euros": NaN}', '{"url": "c"}', '{"url": "b"}', "pay", "look", "fetch",
    "nothing", "call_1", "call_2", "call_99", "user", "calls", "output", "answer", [], {},
]  # fmt: skip


def changed(tree: Any, chance: random.Random) -> Any:
    """A tree with something replaced, removed, repeated or put elsewhere."""
    tree = copy.deepcopy(tree)
    places_ = places(tree)[1:]
    path = chance.choice(places_)
    parent, key = at(tree, path[:-1]), path[-1]
    match chance.randrange(5):
        case 0:
            parent[key] = chance.choice(ODD)
        case 1:
            del parent[key]
        case 2 if isinstance(parent, list):
            parent.insert(chance.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
        case 3 if isinstance(parent[key], str) and parent[key]:
            where = chance.randrange(len(parent[key]))
            parent[key] = parent[key][:where] + chance.choice('{}"09,: ') + parent[key][where + 1 :]
        case 4 if isinstance(parent, list):
            chance.shuffle(parent)
        case _:
            parent[key] = copy.deepcopy(at(tree, chance.choice(places_)))
    return tree


def check(run: sk.Agent[str], state: sk.RunState, approvals: Any) -> sk.AgentResult[str] | None:
    """Go on with a state: it is refused before anything is called, or the run keeps to the limits."""
    MADE.clear()
    try:
        result = run.resume(state, approvals=approvals)
    except sk.RunPaused:
        return None
    except sk.StructkitError:
        assert not MADE
        return None
    assert result.steps <= LIMITS["max_steps"]
    usage = result.usage
    assert usage.generated_tokens + usage.discarded_tokens <= LIMITS["max_tokens"]
    names = [each.name for each in result.calls]
    assert names.count("pay") <= 2
    for name, value in MADE:
        assert value in ("a", "b") if name == "fetch" else isinstance(value, str if name == "look" else int)
    for message in result.messages:
        assert not isinstance(message, messages.Calls) or len(message.calls) <= LIMITS["parallel"]
    return result


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_a_state_that_was_changed_is_refused_or_goes_on_within_its_limits(seed: int, times: int) -> None:
    chance = random.Random(seed)
    tree = json.loads(chance.choice(stored()))
    for _ in range(times):
        tree = changed(tree, chance)
    try:
        state = sk.RunState.loads(json.dumps(tree))
    except sk.AgentError:
        return
    check(agent(RandomModel(seed % 7, brevity=3.0)), state, chance.choice([True, False]))


def test_a_state_that_nobody_changed_goes_on() -> None:
    for text in stored():
        result = check(agent(RandomModel(1, brevity=3.0)), sk.RunState.loads(text), approvals=True)
        assert result is not None


def state_of(number: int) -> sk.RunState:
    return sk.RunState.loads(stored()[number])


CHANGES: list[tuple[Callable[[sk.RunState], sk.RunState], str]] = [
    (lambda s: replace(s, usage=replace(s.usage, generated_tokens=-900)), "negative"),
    (
        lambda s: replace(s, usage=replace(s.usage, generated_tokens=0, forced_tokens=0, discarded_tokens=0)),
        "fewer than the calls in it took",
    ),
    (lambda s: replace(s, usage=replace(s.usage, forced_tokens=10**6)), "fewer"),
    (lambda s: replace(s, seconds=-1.0), "negative"),
    (lambda s: replace(s, seconds=float("nan")), "no state of a run.*`seconds`"),
    (lambda s: replace(s, agent=3), "no state of a run"),  # type: ignore[arg-type]
    (lambda s: replace(s, done=s.done * 2), "calls that wait"),
    (lambda s: replace(s, pending=s.pending * 2), "calls that wait"),
    (lambda s: replace(s, messages=s.messages[1:]), "belong to no question"),
    (
        lambda s: replace(s, messages=(*s.messages[:2], *s.messages[3:])),
        "call_1 among the messages has no output",
    ),
    (lambda s: replace(s, messages=(*s.messages[:1], *s.messages[2:])), "not that of the call before it"),
    (
        lambda s: replace(s, messages=s.messages[:2] + s.messages[1:]),
        "call_1 among the messages has no output",
    ),
    (lambda s: replace(s, messages=s.messages[:3] + s.messages[1:]), "two calls are named call_1"),
    (lambda s: text(s, '{\\"name\\": \\"fail\\"}', "{"), "arguments of call_1 are not JSON"),
    (lambda s: text(s, '{\\"name\\": \\"fail\\"}', "[" * 100_000), "arguments of call_1 are not JSON"),
    (lambda s: text(s, '{\\"name\\": \\"fail\\"}', "3"), "arguments of call_1 are no object"),
    (lambda s: text(s, '{\\"euros\\": 1}', '{\\"euros\\": 10}'), "not such as this agent writes for pay"),
    (
        lambda s: text(s, '{\\"euros\\": 1}', '{\\"euros\\": \\"1\\"}'),
        "not such as this agent writes for pay",
    ),
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


def test_the_arguments_of_a_tool_of_a_schema_are_those_that_somebody_approves_of() -> None:
    with pytest.raises(sk.AgentError, match="not such as this agent writes for fetch"):
        agent(ScriptedModel([])).resume(text(state_of(4), '\\"a\\"', '\\"http://evil\\"'), approvals=True)


@pytest.mark.parametrize(
    ("limits", "kind", "said"),
    [
        ({"max_steps": 3}, sk.AgentError, "has made 3 steps, and max_steps=3 leaves none"),
        ({"parallel": 1}, sk.AgentError, "has 2 calls, and the agent's parallel=1"),
        ({"max_tokens": 20}, sk.BudgetTooSmall, "max_tokens of the run"),
    ],
)
def test_an_agent_of_tighter_limits(limits: dict[str, Any], kind: type[Exception], said: str) -> None:
    state = state_of(2)
    MADE.clear()
    with pytest.raises(kind, match=said):
        agent(ScriptedModel([]), **limits).resume(state, approvals=True)
    assert not MADE


def test_a_tool_that_may_be_called_less_often() -> None:
    def stopped(**limits: Any) -> sk.Agent[str]:
        script = [call("look", name="fail"), call("look", name="fail"), call("pay", euros=1)]
        tools = [sk.tool(look, **limits), sk.tool(pay, requires_approval=True)]
        return sk.Agent(ScriptedModel(script), tools)

    with pytest.raises(sk.RunPaused) as caught:
        stopped().run("Pay.")
    with pytest.raises(sk.AgentError, match="more often in the state than max_calls=1"):
        stopped(max_calls=1).resume(caught.value.state, approvals=True)
    with pytest.raises(sk.AgentError, match="after more errors than retries=0"):
        stopped(retries=0).resume(caught.value.state, approvals=True)


HISTORIES: list[tuple[list[messages.Message], str]] = [
    ([messages.Output(id="call_1", name="look", content="x")], "not that of the call before it"),
    ([messages.Calls(calls=())], "has none"),
    ([messages.Calls(calls=(messages.CallPart(id="a", name="look", arguments="nothing"),))], "not JSON"),
    ([messages.Calls(calls=(messages.CallPart(id="a", name="look", arguments="{}"),))], "has no output"),
    ([messages.User(content=5)], "not of their types"),  # type: ignore[arg-type]
    ([messages.Calls(calls=(messages.CallPart(id="9" * 5000, name="look", arguments="{}"),))], "longer than"),
]


@pytest.mark.parametrize(("history", "said"), HISTORIES)
def test_a_history_that_no_run_has_left(history: list[messages.Message], said: str) -> None:
    with pytest.raises(sk.AgentError, match=said) as caught:
        agent(ScriptedModel(['"Hi."'])).run("Hi.", messages=history)
    assert caught.value.place == "messages"


@pytest.mark.parametrize("last", [2, 999_999_999, int("9" * 190)])
def test_ids_go_on_after_those_of_a_history(last: int) -> None:
    part = messages.CallPart(id=f"call_{last}", name="other", arguments="{}")
    history = [messages.Calls(calls=(part,)), messages.Output(id=part.id, name="other", content="x")]
    result = agent(ScriptedModel([call("look")] * 2 + ['"Hi."'])).run("Hi.", messages=history)
    assert [each.id for each in result.calls] == [f"call_{last + 1}", f"call_{last + 2}"]
    agent(ScriptedModel(['"Hi."'])).run("And?", messages=result.messages)
