"""What type checkers infer: checked by mypy and pyright in `scripts/check`, never run.

An ignored error must be one: both checkers report comments that ignore nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, Field
from typing_extensions import TypedDict, assert_type

import structkit as sk
from structkit.models.protocols import Message
from structkit.models.transformers.model import TransformersModel
from structkit.testing.pytest_plugin import MakeModel

T = TypeVar("T")
Priority = Literal["low", "high"]


class Person(BaseModel):
    name: str
    age: int


class Page(BaseModel, Generic[T]):
    items: list[T]


@dataclass
class Point:
    x: int


class Row(TypedDict):
    id: int


class Color(Enum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: str


class Box(BaseModel, Generic[T]):
    value: T


UserId = NewType("UserId", int)


def classes(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", Person), Person)
    assert_type(sk.extract(model, "x", Point), Point)
    assert_type(sk.extract(model, "x", Row), Row)
    assert_type(sk.extract(model, "x", Color), Color)
    assert_type(sk.extract(model, "x", int), int)
    assert_type(sk.extract(model, "x", None), None)


def any_function(text: str) -> str:
    return text


async def any_chat(messages: list[Message]) -> AsyncIterator[str]:
    yield messages[0]["content"]


def text_models() -> None:
    assert_type(sk.extract(sk.from_function(any_function), "x", Person), Person)
    result = sk.generate(sk.from_function(any_chat, chat=True), "x", list[int], finish="shortest")
    assert_type(result, sk.Result[list[int]])
    assert_type(result.trace, sk.Trace)
    sk.classify(sk.from_function(any_function), "x", bool)  # type: ignore[call-overload]


def models_by_name() -> None:
    assert_type(sk.load(), TransformersModel)
    assert_type(sk.load(Path("model.gguf"), device="cpu"), Union[TransformersModel, Any])
    # A name can be that of a text model, so checkers infer the attributes of one, and accept both everywhere.
    by_name = sk.load("openai:gpt-5-mini")
    assert_type(by_name, Union[TransformersModel, Any])
    assert_type(sk.extract(by_name, "x", Person), Person)
    sk.classify(by_name, "x", bool)
    sk.Agent(by_name)
    sk.load(3)  # type: ignore[call-overload]


def special_forms(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", list[Person]), list[Person])
    assert_type(sk.extract(model, "x", dict[str, int]), dict[str, int])
    assert_type(sk.extract(model, "x", tuple[int, str]), tuple[int, str])
    assert_type(sk.extract(model, "x", Page[Person]), Page[Person])
    assert_type(sk.extract(model, "x", Person | None), Person | None)
    assert_type(sk.extract(model, "x", int | str), int | str)
    assert_type(sk.extract(model, "x", Literal["low", "high"]), Literal["low", "high"])
    assert_type(sk.extract(model, "x", Priority), Priority)
    assert_type(sk.extract(model, "x", Annotated[int, Field(ge=0)]), int)
    assert_type(sk.extract(model, "x", list[Annotated[int, Field(ge=0)]]), list[int])


def generics_and_aliases(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", Box[int]), Box[int])
    assert_type(sk.extract(model, "x", Box[list[Person]]), Box[list[Person]])
    assert_type(sk.extract(model, "x", UserId), UserId)
    assert_type(sk.extract(model, "x", Pair), Pair)
    assert_type(sk.extract(model, "x", list[UserId]), list[UserId])
    assert_type(sk.extract(model, "x", Annotated[Person | None, Field()]), Person | None)
    assert_type(sk.extract(model, "x", set[Color]), set[Color])
    assert_type(sk.extract(model, "x", dict[str, Box[int] | None]), dict[str, Box[int] | None])
    assert_type(sk.extract(model, "x", Optional[int]), int | None)
    assert_type(sk.extract(model, "x", Union[Person, Point]), Person | Point)
    assert_type(sk.extract(model, "x", Literal["a", 1, True]), Literal["a", 1, True])


def targets_that_are_no_types(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", sk.Regex(r"\d+")), str)
    assert_type(sk.extract(model, "x", sk.Choice(["yes", "no"])), str)
    assert_type(sk.extract(model, "x", sk.Choice([1, 2, 3])), int)
    assert_type(sk.extract(model, "x", {"type": "integer"}), object)


def weather(city: str, days: int = 1) -> list[str]:
    return [city] * days


async def lookup(name: str) -> Person:
    return Person(name=name, age=0)


class Shop:
    def price(self, item: str) -> float:
        return float(len(item))


async def samples(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.generate(model, "x", Person, n=2, temperature=1.0), list[sk.Result[Person]])
    assert_type(sk.generate(model, "x", Person, n=2)[0].value, Person)
    assert_type(sk.generate(model, "x", Person | None, n=2), list[sk.Result[Person | None]])
    assert_type(sk.generate(model, "x", sk.Choice([1, 2]), n=2), list[sk.Result[int]])
    assert_type(sk.generate(model, "x", {"type": "null"}, n=2), list[sk.Result[object]])
    assert_type(sk.generate(model, "x", weather, n=2), list[sk.Result[sk.Call[list[str]]]])
    assert_type(await sk.agenerate(model, "x", Person, n=2), list[sk.Result[Person]])
    assert_type(await sk.agenerate(model, "x", lookup, n=2), list[sk.Result[sk.Call[Person]]])
    sk.extract(model, "x", Person, n=2)  # type: ignore[call-overload]


async def functions(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", weather), sk.Call[list[str]])
    assert_type(sk.extract(model, "x", lookup), sk.Call[Person])
    assert_type(sk.extract(model, "x", Shop().price), sk.Call[float])
    assert_type(sk.extract(model, "x", sk.PythonCall(weather)), sk.Call[list[str]])
    assert_type(sk.extract(model, "x", sk.PythonCall(lookup)), sk.Call[Person])
    assert_type(sk.extract(model, "x", sk.grammars.python_calls(Shop().price)), list[sk.Call[float]])
    assert_type(sk.extract(model, "x", sk.grammars.python_calls(lookup)), list[sk.Call[Person]])
    assert_type(sk.generate(model, "x", weather), sk.Result[sk.Call[list[str]]])
    assert_type(await sk.aextract(model, "x", lookup), sk.Call[Person])
    assert_type(sk.extract(model, "x", weather).call(), list[str])
    assert_type(await sk.extract(model, "x", lookup).acall(), Person)


def agents(model: sk.testing.ScriptedModel) -> None:
    agent = sk.Agent(model, tools=[weather, lookup, Shop().price], output_type=Person, max_steps=8)
    assert_type(agent, sk.Agent[Person])
    assert_type(agent.run("x"), sk.AgentResult[Person])
    assert_type(agent.run("x").value, Person)
    assert_type(sk.Agent(model).run("x").value, str)
    assert_type(sk.Agent(model, [weather], output_type=int | None).run("x").value, int | None)
    assert_type(sk.Agent(model, output_type=sk.Choice([1, 2])).run("x").value, int)
    assert_type(sk.Agent(model, output_type={"type": "null"}).run("x").value, object)
    assert_type(sk.Agent(model, output_type=weather).run("x").value, list[str])
    assert_type(sk.Agent(model, [weather], output_type=lookup).run("x").value, Person)
    assert_type(sk.Agent(model, output_type=Shop().price, deps_type=int), sk.Agent[float, int])


class Db:
    rows: dict[str, int]


def of_db(context: sk.Context[Db], key: str) -> int:
    assert_type(context.deps, Db)
    return context.deps.rows[key]


async def dependencies(model: sk.testing.ScriptedModel, state: sk.RunState) -> None:
    agent = sk.Agent(model, [of_db], output_type=Person, deps_type=Db, max_steps=3, temperature=0.5)
    assert_type(agent, sk.Agent[Person, Db])
    assert_type(agent.run("x", deps=Db()), sk.AgentResult[Person])
    agent.run("x", deps=Db(), usage_limits=sk.UsageLimits(max_steps=2))
    agent.run("x", deps=Db(), usage_limits={"max_steps": 2})  # type: ignore[arg-type]
    assert_type(sk.Agent(model, deps_type=Db).run("x", deps=Db()).value, str)
    assert_type(sk.Agent(model, output_type=sk.Choice([1, 2]), deps_type=Db).run("x", deps=Db()).value, int)
    assert_type(
        sk.Agent(model, output_type=int | None, deps_type=dict[str, int]).run("x", deps={}).value, int | None
    )
    assert_type(sk.Agent(model), sk.Agent[str, object])
    assert_type(agent.with_model(model), sk.Agent[Person, Db])
    assert_type((await agent.aresume(state, approvals=True, deps=Db())).value, Person)
    approved: sk.Approve | sk.Deny = sk.Approve(arguments={"key": "x"})
    stream = agent.stream_resume(state, approvals={"a": approved, "b": sk.Return(3), "c": True}, deps=Db())
    assert_type(stream, sk.AgentStream[Person])
    agent.resume(state, approvals={"call_1": "yes"}, deps=Db())  # type: ignore[dict-item]
    agent.run("x", deps=3)  # type: ignore[arg-type]
    await agent.arun("x", deps="x")  # type: ignore[arg-type]
    agent.stream("x", deps=3)  # type: ignore[arg-type]
    agent.resume(state, approvals=True, deps=3)  # type: ignore[arg-type]
    anywhere: sk.Agent[Person, Db] = sk.Agent(model, output_type=Person)
    nowhere: sk.Agent[Person] = agent  # type: ignore[assignment]
    print(anywhere, nowhere)


@sk.tool(max_calls=3)
def stocked(context: sk.Context[dict[str, int]], item: str) -> int:
    assert_type(context.deps, dict[str, int])
    return context.deps[item]


def has_tea(context: sk.Context[dict[str, int]]) -> bool:
    return "tea" in context.deps


def about_tea(context: sk.Context[dict[str, int]]) -> str:
    return f"{context.deps}"


async def about_tea_async() -> str | None:
    return None


async def two_turns(
    context: sk.Context[object], messages: Sequence[sk.messages.Message]
) -> Sequence[sk.messages.Message]:
    return messages[-4:]


async def always(context: sk.Context[object]) -> bool:
    return True


async def tools(model: sk.testing.ScriptedModel, context: sk.Context[dict[str, int]]) -> None:
    assert_type(stocked(context, "tea"), int)
    assert_type(sk.tool(weather, tool_retries=1)("Porto"), list[str])
    assert_type(sk.tool(weather, available=has_tea)("Porto"), list[str])
    assert_type(sk.tool(weather, available=lambda context: context.step > 1)("Porto"), list[str])
    assert_type(sk.Toolset([stocked]).available(has_tea).available(always), sk.Toolset)
    assert_type(sk.Toolset([stocked]).available(lambda context: context.deps is not None), sk.Toolset)
    sk.Agent(model, instructions=["Be brief.", lambda: "Be kind.", about_tea, about_tea_async])
    sk.Agent(model, instructions=about_tea)
    sk.Agent(model, history=["cut", lambda messages: messages[-4:], two_turns])
    sk.Agent(model, history="drop")  # type: ignore[arg-type]
    sk.Agent(model, instructions=3)  # type: ignore[call-overload]
    sk.tool(weather, available=weather)  # type: ignore[arg-type]
    agent = sk.Agent(model, [stocked, sk.tool(weather)], output_type=Person)
    assert_type((await agent.arun("x", deps={"tea": 1})).value, Person)
    stocked(context, 3)  # type: ignore[arg-type]
    sk.Agent(model, tools=weather)  # type: ignore[call-overload]
    sk.Agent(model, max_step=3)  # type: ignore[call-overload]


def results(model: sk.testing.RandomModel) -> None:
    result = sk.generate(model, [{"role": "user", "content": "x"}], list[Person], max_tokens=20, seed=1)
    assert_type(result, sk.Result[list[Person]])
    assert_type(result.value, list[Person])
    assert_type(result.finish_reason, Literal["stop", "budget"])
    assert_type(result.usage, sk.Usage)
    assert_type(sk.generate(model, "x", sk.Regex("a+")), sk.Result[str])
    assert_type(sk.generate(model, "x", {"type": "null"}), sk.Result[object])


def without_a_model() -> None:
    assert_type(sk.sample(Person), Person)
    assert_type(sk.sample(Person, seed=3), Person)
    assert_type(sk.sample(Person, seed=3, n=2), list[Person])
    assert_type(sk.sample(Person | None), Person | None)
    assert_type(sk.sample(list[Person], n=1), list[list[Person]])
    assert_type(sk.sample(Box[int], defaults="may_omit"), Box[int])
    assert_type(sk.sample(Literal["a", "b"]), Literal["a", "b"])
    assert_type(sk.sample(Annotated[int, Field(ge=0)]), int)
    assert_type(sk.sample(UserId), UserId)
    assert_type(sk.sample(Row), Row)
    assert_type(sk.sample(Color), Color)
    assert_type(sk.sample(sk.Regex("a+")), str)
    assert_type(sk.sample(sk.Choice([1, 2]), n=2), list[int])
    assert_type(sk.sample({"type": "null"}), object)
    assert_type(sk.sample({"type": "null"}, n=2), list[object])
    report = sk.check(Person | None, n=10, seed=1, order="any")
    assert_type(report, sk.CheckReport)
    assert_type(report.ok, bool)
    assert_type(report.counterexamples, tuple[sk.Counterexample, ...])
    assert_type(report.rejections, tuple[sk.Rejection, ...])
    assert_type(report.rejection_rate, float)
    sk.check({"type": "null"})
    sk.check(sk.Regex("a+"))
    sk.check(sk.Choice(["a"]))
    assert_type(sk.testing.strategy(Person), SearchStrategy[Person])
    assert_type(sk.testing.strategy(Person | None), SearchStrategy[Person | None])
    assert_type(sk.testing.strategy(sk.Choice([1])), SearchStrategy[int])
    assert_type(sk.testing.strategy({}), SearchStrategy[object])


def in_pytest(structkit_model: MakeModel) -> None:
    assert_type(structkit_model(["a"]), sk.testing.ScriptedModel)
    assert_type(structkit_model(seed=3), sk.testing.RandomModel)
    assert_type(structkit_model(), sk.testing.RandomModel)
    assert_type(sk.extract(structkit_model(["a"]), "x", Person), Person)


def many(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract_many(model, ["x"], Person), list[Person])
    assert_type(sk.extract_many(model, ["x"], Person | None), list[Person | None])
    assert_type(sk.extract_many(model, ["x"], list[Person]), list[list[Person]])
    assert_type(sk.extract_many(model, ["x"], Box[int]), list[Box[int]])
    assert_type(sk.extract_many(model, ["x"], Annotated[int, Field(ge=0)]), list[int])
    assert_type(sk.extract_many(model, ["x"], Literal["a", "b"]), list[Literal["a", "b"]])
    assert_type(sk.extract_many(model, ["x"], sk.Choice([1, 2])), list[int])
    assert_type(sk.extract_many(model, ["x"], sk.Regex("a")), list[str])
    assert_type(sk.extract_many(model, ["x"], {"type": "null"}), list[object])
    assert_type(sk.generate_many(model, ["x"], Person), list[sk.Result[Person]])
    assert_type(sk.generate_many(model, ["x"], UserId), list[sk.Result[UserId]])


def streams(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.stream(model, "x", Person), sk.Stream[Person])
    assert_type(sk.stream(model, "x", Person | None), sk.Stream[Person | None])
    assert_type(sk.stream(model, "x", Box[int]), sk.Stream[Box[int]])
    assert_type(sk.stream(model, "x", list[Person]), sk.Stream[list[Person]])
    assert_type(sk.stream(model, "x", sk.Choice(["a"])), sk.Stream[str])
    assert_type(sk.stream(model, "x", {"type": "null"}), sk.Stream[object])


def streams_of_many(model: sk.testing.ScriptedModel) -> None:
    for index, result in sk.stream_many(model, (str(n) for n in range(3)), Person, results_file="x.jsonl"):
        assert_type((index, result), tuple[int, sk.Result[Person]])
    for _, outcome in sk.stream_many(model, ["x"], sk.Choice([1, 2]), return_exceptions=True):
        assert_type(outcome, sk.Result[int] | Exception)
    for _, each in sk.stream_many(model, ["x"], [Person, int]):
        assert_type(each, sk.Result[object])


def classified(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.classify(model, "x", Literal["a", "b"]), dict[Literal["a", "b"], float])
    assert_type(sk.classify(model, "x", Color), dict[Color, float])
    assert_type(sk.classify(model, "x", bool), dict[bool, float])
    assert_type(sk.classify(model, "x", sk.Choice(["a", "b"])), dict[str, float])


async def in_async_programs(model: sk.testing.ScriptedModel) -> None:
    assert_type(await sk.aextract(model, "x", Person), Person)
    assert_type(await sk.agenerate(model, "x", Person | None), sk.Result[Person | None])
    assert_type(await sk.aextract_many(model, ["x"], Box[int]), list[Box[int]])
    assert_type(await sk.agenerate_many(model, ["x"], Person), list[sk.Result[Person]])
    assert_type(await sk.aclassify(model, "x", Color), dict[Color, float])
    assert_type(sk.astream(model, "x", Person), sk.AsyncStream[Person])
    async for index, result in sk.astream_many(model, ["x"], Person):
        assert_type((index, result), tuple[int, sk.Result[Person]])
    async for _, outcome in sk.astream_many(model, iter(["x"]), int, return_exceptions=True):
        assert_type(outcome, sk.Result[int] | Exception)


def generic_callers(model: sk.testing.ScriptedModel, kind: type[T], texts: Sequence[str]) -> list[T]:
    return [sk.extract(model, text, kind) for text in texts]


def steps(vocabulary: sk.Vocabulary) -> None:
    guide = sk.compile(Person, vocabulary)
    assert_type(guide, sk.Guide)
    cursor = guide.cursor()
    assert_type(cursor, sk.Cursor)
    assert_type(cursor.is_accepting, bool)
    assert_type(cursor.forced_bytes(), bytes)
    assert_type(cursor.fork(), sk.Cursor)
    assert_type(sk.compile(Box[int], vocabulary), sk.Guide)
    assert_type(sk.compile(UserId, vocabulary), sk.Guide)
    assert_type(sk.compile(Person | None, vocabulary), sk.Guide)
    assert_type(sk.compile(sk.Choice(["a"]), vocabulary), sk.Guide)
    assert_type(sk.compile({"type": "null"}, vocabulary), sk.Guide)
    assert_type(sk.to_regex(int | None), str)
    assert_type(sk.to_json_schema(Person), dict[str, object])


def traces(error: sk.UsageLimitExceeded, other: sk.GenerationError) -> None:
    assert_type(error.trace, sk.RunTrace)
    assert_type(error.trace.steps, tuple[sk.Trace, ...])
    if isinstance(other.trace, sk.Trace):
        assert_type(other.trace.corrections, int)


def mistakes(model: sk.testing.ScriptedModel) -> None:
    sk.extract(model, "x", 3)  # type: ignore[call-overload]
    sk.extract(model, 3, Person)  # type: ignore[call-overload]
    sk.extract(model, "x", Person, max_token=3)  # type: ignore[call-overload]
    sk.extract(model, "x", Person, temperature="hot")  # type: ignore[call-overload]
    sk.sample(Person, n="many")  # type: ignore[call-overload]
    sk.sample(Person, max_tokens=3)  # type: ignore[call-overload]
    sk.check(Person, n="many")  # type: ignore[arg-type]
    wrong: str = sk.extract(model, "x", Person)  # type: ignore[assignment]
    del wrong


def any_model(model: sk.AnyModel) -> None:
    assert_type(sk.extract(model, "x", Person), Person)
    for each in (sk.load(), sk.testing.ScriptedModel(["1"]), sk.from_function(str)):
        any_model(each)


def limits(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", Person, on_limit="raise"), Person)
    assert_type(sk.extract_many(model, ["x"], Person, on_limit="answer"), list[Person])
    sk.extract(model, "x", Person, on_limit="stop")  # type: ignore[call-overload]
    sk.Limits(state=3)  # type: ignore[call-arg]
    sk.load(devise="cpu")  # type: ignore[call-overload]
    try:
        sk.generate(model, "x", Person)
    except sk.BudgetExceeded as error:
        assert_type(error.text, str)
        assert_type(error.limit, Literal["max_tokens", "timeout", "context", "depth"])
    _ = sk.generate(model, "x", Person).name  # type: ignore[attr-defined]
    _ = sk.extract_mny  # type: ignore[attr-defined]
