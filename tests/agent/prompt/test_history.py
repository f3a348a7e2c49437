"""The messages of earlier runs: functions that process them, and the context of the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.agent.prompt.history import order_outputs
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.testing import ScriptedModel

CALL = '{"name": "look", "arguments": {}}'


def look() -> str:
    return "seen"


def past(turns: int, words: int = 1) -> list[Message]:
    """A history of several turns, each with a call."""
    history: list[Message] = []
    for number in range(turns):
        part = CallPart(id=f"call_{number + 1}", name="look", arguments="{}")
        history += [
            User(content=f"Question {number}." + " Please." * words),
            Calls(calls=(part,)),
            Output(id=part.id, name="look", content="seen"),
            Answer(content=f"Reply {number}."),
        ]
    return history


def last_turn(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[-4:]


async def without_calls(messages: Sequence[Message]) -> list[Message]:
    await asyncio.sleep(0)
    return [message for message in messages if message.kind in ("user", "answer")]


def redact(context: sk.Context[str], messages: Sequence[Message]) -> list[Message]:
    return [
        User(content=message.content.replace(context.deps, "***")) if isinstance(message, User) else message
        for message in messages
    ]


RUNS: list[Callable[..., sk.AgentResult[str]]] = [
    lambda agent, **options: agent.run("And now?", **options),
    lambda agent, **options: asyncio.run(agent.arun("And now?", **options)),
    lambda agent, **options: agent.stream("And now?", **options).result,
    lambda agent, **options: asyncio.run(agent.astream("And now?", **options).result()),
]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("history", "read", "hidden"),
    [
        (None, ["Question 0.", "Reply 0.", "Question 1."], []),
        ([], ["Question 0.", "Reply 0.", "Question 1."], []),
        (last_turn, ["Question 1.", "Reply 1.", "look returned"], ["Question 0.", "Reply 0."]),
        (without_calls, ["Question 0.", "Reply 1."], ["returned: seen\nassistant: Reply"]),
        ([without_calls, redact], ["*** 0.", "*** 1.", "Reply 0."], ["Question"]),
        (lambda messages: (), [], ["Question", "Reply"]),
        ("cut", ["Question 0."], []),  # the scripted model has no context length
    ],
)
def test_the_model_reads_what_the_functions_return(
    run: Any, history: Any, read: list[str], hidden: list[str]
) -> None:
    model = ScriptedModel([CALL, "done"])
    agent = sk.Agent(model, tools=[look], history=history)
    result = run(agent, messages=past(2), deps="Question")
    for prompt in model.prompts:
        assert all(text in prompt for text in read)
        assert not [text for text in hidden if text in prompt]
        assert "user: And now?" in prompt
    assert "look returned: seen" in model.prompts[1]
    # The messages of the run stay complete, and its calls get new ids.
    assert list(result.messages[:8]) == past(2)
    assert [call.id for call in result.calls] == ["call_3"]


def test_functions_are_called_once_and_again_when_a_run_is_resumed() -> None:
    seen: list[int] = []

    def note(messages: Sequence[Message]) -> Sequence[Message]:
        seen.append(len(messages))
        return messages[-4:]

    pay = sk.tool(look, name="pay", requires_approval=True)
    model = ScriptedModel([CALL, '{"name": "pay", "arguments": {}}', "done"])
    agent = sk.Agent(model, tools=[look, pay], history=note)
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x", messages=past(3))
    assert seen == [12]
    result = agent.resume(sk.RunState.loads(caught.value.state.dumps()), approvals=True)
    assert seen == [12, 12]
    assert "Question 1." not in model.prompts[-1]
    assert len(result.messages) == 12 + 6


def test_a_step_reads_the_processed_history() -> None:
    model = ScriptedModel(["done"])
    step = sk.Agent(model, tools=[look], history=last_turn).step([*past(3), User(content="x")])
    assert step.value == "done"
    assert "Question 1." not in model.prompts[0]


def test_a_function_can_hand_over_the_history_of_another_agent() -> None:
    model = ScriptedModel(["done"])
    agent = sk.Agent(model, history=without_calls)
    assert agent.run("x", messages=past(1)).value == "done"
    with pytest.raises(sk.AgentError, match="those of another agent: they call look"):
        sk.Agent(ScriptedModel([]), history=lambda messages: messages).run("x", messages=past(1))


def _broken(messages: Sequence[Message]) -> Sequence[Message]:
    raise LookupError("no store")


async def _slow(messages: Sequence[Message]) -> Sequence[Message]:
    await asyncio.sleep(20)
    return messages


@pytest.mark.parametrize(
    ("history", "error", "said"),
    [
        (_broken, LookupError, "no store"),
        (_slow, sk.AgentError, r"(?s)at `history \(_slow\)`:\n  .*within the timeout of the run"),
        (
            lambda messages: None,
            TypeError,
            r"the messages that history \(<lambda>\) returns must be a sequence",
        ),
        (lambda messages: ["x"], TypeError, r"history \(<lambda>\) returns must be instances.*not 'x'"),
        ([last_turn, lambda messages: messages[1:]], sk.AgentError, None),
        (
            lambda messages: messages[2:],
            sk.AgentError,
            r"(?s)at `the messages that history.*:\n  .*does not follow its call",
        ),
        (lambda messages: messages[:2], sk.AgentError, "has no output"),
    ],
)
def test_wrong_histories_raise_before_the_first_step(
    history: Any, error: type[Exception], said: str | None
) -> None:
    model = ScriptedModel(["done"])
    agent = sk.Agent(model, tools=[look], history=history, timeout=0.3 if history is _slow else None)
    if said is None:  # a history may start with a call
        assert agent.run("x", messages=past(2)).value == "done"
        return
    with pytest.raises(error, match=said):
        agent.run("x", messages=past(2))
    assert not model.prompts


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (3, "history must be 'cut', 'shorten', or a function of messages, not 3"),
        ("drop", "history must be 'cut'"),
        (["cut", 3], r"history\[1\] must be 'cut'"),
        (lambda: [], r"history \(<lambda>\) takes no argument; write a function of \(context, messages\)"),
        (lambda one, two, three: [], r"history \(<lambda>\) takes one, two, three"),
    ],
)
def test_wrong_options_raise_when_the_agent_is_made(history: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        sk.Agent(ScriptedModel([]), history=history)


def test_dependencies_of_history_functions_are_checked() -> None:
    with pytest.raises(
        sk.AgentError, match=r"history \(redact\) takes a Context\[str\], and deps_type is int"
    ):
        sk.Agent(ScriptedModel([]), history=redact, deps_type=int)
    with pytest.raises(TypeError, match=r"history \(redact\) takes a Context\[str\].*pass deps="):
        sk.Agent(ScriptedModel([]), history=redact).run("x")


@pytest.mark.parametrize("on_limit", ["raise", "answer"])
def test_a_history_over_the_context_is_refused_before_the_step(on_limit: Any) -> None:
    model = ScriptedModel([], context_length=1024)
    agent = sk.Agent(model, tools=[look], on_limit=on_limit)
    with pytest.raises(
        sk.errors.GenerationError, match=r"(?s)at `messages`:\n  .*context of 1024.*history='cut'.*"
    ) as caught:
        agent.run("x", messages=past(40, words=20))
    assert not model.prompts
    record = sk.run_record(caught.value)
    assert record is not None
    assert (record.steps, len(record.messages)) == (0, 161)


@given(st.integers(0, 12), st.integers(1, 30), st.integers(400, 1500))
def test_a_history_is_cut_at_turns_to_half_of_the_context(turns: int, words: int, context: int) -> None:
    """The law: the model reads the longest end of the history that begins with a turn and fits; the result has all."""
    model = ScriptedModel(["done"], context_length=context)
    agent = sk.Agent(model, tools=[look], history="cut")
    history = past(turns, words)
    result = agent.run("And now?", messages=history)
    assert list(result.messages[:-2]) == history
    config = agent._config

    def length(kept: int) -> int:
        messages = [*history[len(history) - 4 * kept :], User(content="And now?")]
        return len(config.model.encode(config.turns(messages)))

    fitting = [kept for kept in range(turns + 1) if length(kept) <= context // 2]
    kept = max(fitting, default=0)
    assert [f"Question {number}." in model.prompts[0] for number in range(turns)] == [
        number >= turns - kept for number in range(turns)
    ]


def test_a_cut_applies_after_the_functions() -> None:
    model = ScriptedModel(["done"], context_length=1024)
    agent = sk.Agent(model, tools=[look], history=["cut", lambda messages: messages[-4:]])
    agent.run("And now?", messages=past(60, words=20))
    assert "Question 59." in model.prompts[0]
    assert "Question 58." not in model.prompts[0]


def read_page(number: int) -> str:
    """Read a page."""
    return f"Page {number}: " + " ".join(f"word{number}-{each}" for each in range(150))


@pytest.mark.parametrize("history", [None, "shorten"])
def test_the_oldest_outputs_of_a_run_are_shortened(history: Any, caplog: pytest.LogCaptureFixture) -> None:
    steps = [{"name": "read_page", "arguments": {"number": number}} for number in range(6)]
    model = ScriptedModel([*map(json.dumps, steps), "done"], context_length=6000)
    agent = sk.Agent(model, tools=[read_page], history=history, max_steps=8)
    with caplog.at_level("INFO", logger="structkit"):
        result = agent.run("Read all pages.")
    last = model.prompts[-1]
    complete = [f"word{number}-149" in last for number in range(6)]
    is_kept = [f"word{number}-149" in str(result.messages) for number in range(6)]
    if history is None:
        assert complete == is_kept and not all(is_kept)  # later outputs have less and less room
        assert "shortened" not in caplog.text
        assert "shortened" not in str(result.trace)
    else:
        assert all(is_kept), "the messages of the result are complete"
        assert complete == sorted(complete) and complete[-1] and not complete[0]
        assert last.count("more characters)") == complete.count(False)
        assert "the oldest outputs are shortened in the prompt: call_1" in caplog.text
        shortened = [id for ids in result.trace.shortened for id in ids]
        assert shortened == [f"call_{number}" for number in range(1, complete.count(False) + 1)]
        assert len(result.trace.shortened) == len(result.trace.steps)
        step = next(at for at, ids in enumerate(result.trace.shortened, 1) if ids)
        assert f"{step}  shortened  the output of call_1" in str(result.trace)
    assert result.value == "done"


def test_outputs_of_earlier_runs_are_shortened_before_the_first_step() -> None:
    model = ScriptedModel(["done"], context_length=1024)
    agent = sk.Agent(model, tools=[look], history="shorten")
    history = [
        Output(id=each.id, name=each.name, content="seen " * 60) if isinstance(each, Output) else each
        for each in past(4)
    ]
    result = agent.run("And now?", messages=history)
    assert list(result.messages[:-2]) == history
    assert len(model.encode(model.prompts[0])) <= 512
    assert "Question 0." in model.prompts[0] and "more characters)" in model.prompts[0]
    assert result.trace.shortened == (("call_1", "call_2", "call_3", "call_4"),)


def test_the_trace_says_how_much_of_the_history_is_cut() -> None:
    model = ScriptedModel(["done"], context_length=1024)
    result = sk.Agent(model, tools=[look], history="cut").run("And now?", messages=past(60, words=20))
    cut = 60 - model.prompts[0].count("Question ")
    assert result.trace.cut == 4 * cut > 0
    assert f"1  cut        {4 * cut} messages of earlier runs" in str(result.trace)


def last_two(messages: list[Message]) -> list[Message]:
    """Keep the prompt, and the last call with its output."""
    return messages[:1] + messages[1:][-2:]


@pytest.mark.parametrize("run", RUNS)
def test_processors_choose_what_the_model_reads_in_each_step(run: Any) -> None:
    model = ScriptedModel([CALL, CALL, "done"])
    seen: list[int] = []

    async def count(context: sk.Context[object], messages: list[Message]) -> list[Message]:
        seen.append(len(messages))
        assert context.step == len(seen)
        return messages

    agent = sk.Agent(model, tools=[look], history_processors=[count, last_two])
    result = run(agent)
    assert seen == [1, 3, 5]
    assert [prompt.count("look returned") for prompt in model.prompts] == [0, 1, 1]
    assert len(result.messages) == 6


def test_processors_see_the_same_messages_after_a_suspension() -> None:
    seen: list[list[str]] = []

    def keep(messages: list[Message]) -> list[Message]:
        seen.append([each.kind for each in messages])
        return last_two(messages)

    script = [CALL, CALL, "done"]
    plain = ScriptedModel(script)
    sk.Agent(plain, tools=[look], history_processors=keep).run("Go.")
    (first, second, third), seen[:] = seen[:], []
    model = ScriptedModel(script)
    agent = sk.Agent(model, tools=[sk.tool(look, requires_approval=True)], history_processors=keep)
    with pytest.raises(sk.RunSuspended) as begun:
        agent.run("Go.")
    with pytest.raises(sk.RunSuspended) as continued:
        agent.resume(sk.RunState.loads(begun.value.state.dumps()), approvals=True)
    agent.resume(sk.RunState.loads(continued.value.state.dumps()), approvals=True)
    assert seen == [first, first, second, second, third]
    assert model.prompts == plain.prompts


@pytest.mark.parametrize(
    ("processor", "error", "message"),
    [
        (lambda messages: [], sk.AgentError, "the messages are none"),
        (lambda messages: messages[:-1], sk.AgentError, "the call call_1 in the messages has no output"),
        (lambda messages: messages[:1] + messages[2:], sk.AgentError, "does not follow its call"),
        (lambda messages: None, TypeError, "return a list of messages"),
        (lambda messages: [*messages, Answer(content="x")], sk.AgentError, "keep the last message"),
    ],
)
def test_messages_to_which_no_model_can_reply_are_refused(
    processor: Any, error: type[Exception], message: str
) -> None:
    def process(messages: list[Message]) -> list[Message]:
        found: list[Message] = processor(messages) if len(messages) > 1 else messages
        return found

    agent = sk.Agent(ScriptedModel([CALL, "done"]), tools=[look], history_processors=[process])
    with pytest.raises(error, match=message) as caught:
        agent.run("Go.")
    assert "history_processors[0] (process)" in str(caught.value)


@pytest.mark.parametrize("given", ["cut", [look, 3], list, [lambda: []]])
def test_processors_are_functions_of_messages(given: Any) -> None:
    with pytest.raises(TypeError, match=r"history_processors\[\d\]"):
        sk.Agent(ScriptedModel([]), history_processors=given)


def test_processors_make_room_for_a_history_and_for_outputs() -> None:
    history = past(30, words=30)
    model = ScriptedModel([CALL, "done"], context_length=2000)
    with pytest.raises(sk.GenerationError, match="leaves no room"):
        sk.Agent(model, tools=[look]).run("Go.", messages=history)
    agent = sk.Agent(model, tools=[look], history_processors=[lambda messages: messages[120:]])
    assert agent.run("Go.", messages=history).value == "done"


def test_outputs_of_others_stand_in_the_order_of_their_calls() -> None:
    random = Random(1)
    for _ in range(50):
        ordered: list[Message] = []
        shuffled: list[Message] = []
        for step in range(random.randrange(4)):
            parts = tuple(CallPart(id=f"{step}-{at}", name="f", arguments="{}") for at in range(1, 5))
            outputs = [Output(id=part.id, name="f", content="") for part in parts]
            ordered += [User(content=f"{step}"), Calls(calls=parts), *outputs]
            shuffled += [User(content=f"{step}"), Calls(calls=parts), *random.sample(outputs, len(outputs))]
        assert [*order_outputs(shuffled)] == ordered
