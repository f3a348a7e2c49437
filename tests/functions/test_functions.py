"""Functions as targets: a model generates the arguments, and the result is a bound call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from datetime import date
from functools import partial, singledispatch, singledispatchmethod
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field
from typing_extensions import NotRequired, TypedDict, Unpack

import structkit as sk
from structkit.functions.docstring import read_docstring
from structkit.functions.output import FunctionOutput
from structkit.functions.signature import read_signature
from structkit.rejected import Rejected
from structkit.testing import RandomModel, ScriptedModel


class Place(BaseModel):
    city: str
    country: str | None = None


@dataclass
class Night:
    arrival: date


def book(place: Place, night: Night, beds: Literal[1, 2] = 2, *, note: str = "-") -> tuple[Any, ...]:
    """Book a room.

    Not a house.

    Args:
        place: Where.
        beds: How many beds
            are wanted.

    Returns:
        What was booked.
    """
    return place, night, beds, note


async def wait(seconds: Annotated[float, Field(ge=0, le=0)]) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    def price(self, item: str) -> str:
        return f"{self.name} {item}"

    @classmethod
    def open(cls, hour: int) -> Shop:
        return cls(f"from {hour}")


def test_a_call_has_typed_arguments_and_runs() -> None:
    text = '{"place": {"city": "Porto", "country": null}, "night": {"arrival": "2026-11-21"}, "beds": 1}'
    call = sk.extract(ScriptedModel([text]), "A room.", book)
    wanted = {"place": Place(city="Porto"), "night": Night(date(2026, 11, 21)), "beds": 1, "note": "-"}
    assert (call.function, call.name, call.arguments) == (book, "book", wanted)
    assert call.call() == tuple(wanted.values())


@pytest.mark.parametrize("seed", range(20))
def test_any_call_of_a_random_model_can_be_run(seed: int) -> None:
    place, night, beds, _ = sk.extract(RandomModel(seed, brevity=4), "x", book, max_tokens=120).call()
    assert isinstance(place, Place)
    assert isinstance(night, Night)
    assert beds in (1, 2)


class Options(TypedDict):
    name: Annotated[str, Field(max_length=9)]
    size: NotRequired[int]


def order(item: str, **options: Unpack[Options]) -> object:
    """Order an item.

    Args:
        item: What to order.
        size: In centimetres.
    """
    return item, options


def test_the_keys_of_an_unpacked_typed_dict_are_parameters() -> None:
    for written, rest in (
        ('"name": "Ana"', {"name": "Ana"}),
        ('"name": "B", "size": 3', {"name": "B", "size": 3}),
    ):
        call = sk.extract(ScriptedModel([f'{{"item": "a hat", {written}}}']), "x", order)
        assert call.call() == ("a hat", rest)
        assert call.arguments == {"item": "a hat", **rest}
    properties: Any = sk.to_json_schema(order)["properties"]
    assert (properties["size"]["description"], properties["name"]["maxLength"]) == ("In centimetres.", 9)


def odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("not odd")
    return number


def test_an_iterable_is_a_list_that_can_be_read_again() -> None:
    def total(
        numbers: Iterable[Annotated[int, AfterValidator(odd)]],
        more: Annotated[Iterable[int] | None, Field(description="More.")] = None,
    ) -> int:
        return sum([*numbers, *(more or ())])

    replies = ['{"numbers": [1, 2], "more": [3]}', '{"numbers": [1, 5], "more": [3]}']
    call = sk.extract(ScriptedModel(replies), "x", total)
    assert call.arguments == {"numbers": [1, 5], "more": [3]}
    assert call.call() == call.call() == 9


def test_async_functions_run_from_both_worlds() -> None:
    model = ScriptedModel(['{"seconds": 0}'] * 3)
    assert sk.extract(model, "x", wait).call() == "waited"

    async def main() -> None:
        call = await sk.aextract(model, "x", wait)
        assert await call.acall() == "waited"
        with pytest.raises(RuntimeError, match="acall"):
            call.call()

    asyncio.run(main())
    assert asyncio.run(sk.extract(model, "x", wait).acall()) == "waited"


@pytest.mark.parametrize(
    ("function", "text", "value"),
    [
        (Shop("Ana's").price, '{"item": "lamp"}', "Ana's lamp"),
        (
            partial(book, beds=1),
            '{"place": {"city": "X", "country": "Y"}, "night": {"arrival": "2026-01-01"}}',
            None,
        ),
        (partial(Shop("B").price), '{"item": "tea"}', "B tea"),
    ],
)
def test_methods_and_partials(function: Callable[..., object], text: str, value: object) -> None:
    call = sk.extract(ScriptedModel([text]), "x", function)
    assert call.call() == value if value else "beds" not in call.arguments


def test_a_class_is_a_type_and_its_methods_are_functions() -> None:
    assert sk.extract(ScriptedModel(['{"hour": 9}']), "x", Shop.open).call().name == "from 9"


def test_the_description_says_what_the_docstring_says() -> None:
    shown = sk.render_prompt(ScriptedModel([]), "A room.", book)
    assert '"place": {"city": string, "country": string | null} /* Where. */' in shown
    assert '"beds"?: 1 | 2 /* How many beds are wanted. */' in shown
    assert "/* Book a room. Not a house. */" in shown
    assert "What was booked" not in shown


def test_every_function_takes_functions() -> None:
    assert sk.to_regex(Shop.open) == r'\{"hour": (?:0|-?[1-9][0-9]{0,17})\}'
    assert sk.to_json_schema(Shop("x").price)["required"] == ["item"]
    assert [
        call.name for call in sk.extract_many(ScriptedModel(['{"seconds": 0}'] * 2), ["x", "y"], wait)
    ] == ["wait"] * 2
    stream = sk.stream(ScriptedModel(['{"seconds": 0}']), "x", wait)
    assert isinstance(stream.result.value, sk.Call)
    assert sk.compile(wait, RandomModel().vocabulary).cursor().forced_bytes() == b'{"seconds": 0'


@pytest.mark.parametrize(
    "docstring",
    [
        "Add.\n\nArgs:\n    a: The first.\n    b (int): The second.\n\nRaises:\n    ValueError: Never.",
        "Add.\n\nParameters\n----------\na : int\n    The first.\nb : int\n    The second.\n\nReturns\n-------\nint",
        "Add.\n\n:param a: The first.\n:param int b: The second.\n:returns: The sum.",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_three_styles_say_the_same(docstring: str) -> None:
    found = read_docstring(docstring)
    assert (found.description, dict(found.parameters)) == ("Add.", {"a": "The first.", "b": "The second."})


def test_the_description_of_a_field_comes_before_that_in_the_docstring() -> None:
    def find(
        name: Annotated[str, Field(min_length=1), Field(description="Whom to find.")],
        town: str = Field("Porto", description="Where."),
        age: Annotated[int, Field(ge=0)] = 3,
    ) -> None:
        """Find.

        Args:
            name: A name.
            town: A town.
            age: An age.
        """

    found = read_signature(find)
    assert [each.description for each in found.parameters] == ["Whom to find.", "Where.", "An age."]
    properties = sk.to_json_schema(find)["properties"]
    assert [each["description"] for each in properties.values()] == ["Whom to find.", "Where.", "An age."]


def test_a_plain_docstring_is_the_description() -> None:
    assert read_docstring(None).description == read_docstring("  ").description == ""
    assert read_docstring("One line: no more.").description == "One line: no more."


def test_annotations_of_local_types_are_found() -> None:
    class Local(BaseModel):
        x: int

    def take(it: Local) -> Local:
        return it

    def lost(it: Lost) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Lose it."""

    with pytest.raises(sk.SchemaError, match=r"(?s)Local.*top of its module"):
        read_signature(take)  # no closure references it, so the function does not lead to it
    take.__annotations__["it"] = Local  # what is returned may be anything
    assert sk.extract(ScriptedModel(['{"it": {"x": 1}}']), "x", take).call() == Local(x=1)
    with pytest.raises(sk.SchemaError, match="Lost"):
        read_signature(lost)

    def held(it: Local) -> type[Local]:
        return Local

    assert read_signature(held).parameters[0].annotation is Local


class BadKeys(TypedDict):
    name: Unknown  # type: ignore[name-defined]  # noqa: F821


def bad_keys(**names: Unpack[BadKeys]) -> None: ...
def bad_star(*names: str) -> None: ...
def bad_stars(**names: str) -> None: ...
def bad_none(name) -> None: ...  # type: ignore[no-untyped-def]
def bad_slash(name: str, /) -> None: ...
def bad_generator(numbers: Generator[int, None, None]) -> None: ...
def bad_type(good: int, bad: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (bad_star, "at `bad_star(names)`:\n  .*parameter names of bad_star takes any number"),
        (bad_stars, "at `bad_stars(names)`:\n  .*parameter names of bad_stars takes arguments of any name"),
        (
            bad_keys,
            "at `bad_keys`:\n  an annotation of bad_keys cannot be resolved: name 'Unknown' is not defined",
        ),
        (bad_none, "at `bad_none(name)`:\n  .*parameter name of bad_none has no annotation"),
        (bad_slash, "at `bad_slash(name)`:\n  .*parameter name of bad_slash is positional-only"),
        (
            bad_generator,
            "at `bad_generator(numbers)`:\n  .*parameter numbers of bad_generator is a generator",
        ),
        (bad_type, "^at `bad_type(bad)`:\n  .*\n  .*[^:]$"),
        (Shop.price, "price is the method of a class"),
        (lambda x: x, "a lambda has no name"),
        (dict.fromkeys, "parameter iterable of fromkeys"),
    ],
)
def test_what_cannot_be_called_says_why(function: Callable[..., object], message: str) -> None:
    with pytest.raises(sk.SchemaError, match=re.sub(r"([()])", r"\\\1", message)):
        sk.extract(ScriptedModel([]), "x", function)


def test_a_default_may_be_a_field_of_pydantic() -> None:
    def find(
        name: str = Field(description="Whom to find."),
        most: int = Field(3, ge=1),
        tags: list[str] = Field(default_factory=list),  # noqa: B008
    ) -> None: ...

    output = FunctionOutput.read(read_signature(find))
    calls = [output.parse('{"name": "Ana"}') for _ in range(2)]
    first, second = (call.arguments for call in calls if isinstance(call, sk.Call))
    assert first == {"name": "Ana", "most": 3, "tags": []}
    assert first["tags"] is not second["tags"]
    for text, path in (("{}", ()), ('{"name": "Ana", "most": 0}', ("most",))):
        rejected = output.parse(text)
        assert isinstance(rejected, Rejected)
        assert rejected.path == path


class Shout:
    def __call__(self, text: str) -> str:
        return text.upper()


@pytest.mark.parametrize("given", [Shout(), partial(Shout())])
def test_an_object_that_can_be_called_is_told_what_to_give(given: Any) -> None:
    with pytest.raises(
        sk.SchemaError, match=r"(?s)at `Shout`:\n  .*give its method, as in shout\.__call__, .*"
    ):
        sk.to_json_schema(given)
    with pytest.raises(sk.AgentError, match=r"for a callable object, write structkit\.tool\(object, name="):
        sk.Agent(RandomModel(), tools=[given], output_type=int)
    assert sk.extract(ScriptedModel(['{"text": "a"}']), "x", Shout().__call__).call() == "A"


@singledispatch
def double(x: int) -> int:
    return 2 * x


class Doubles:
    @singledispatchmethod
    def double(self, x: int) -> int:
        return 2 * x


@pytest.mark.parametrize("function", [double, Doubles().double, partial(double)])
def test_a_function_that_is_dispatched_by_its_first_argument_is_refused(function: Any) -> None:
    with pytest.raises(sk.SchemaError, match="double is dispatched by the type of its first argument"):
        sk.to_json_schema(function)
    with pytest.raises(sk.SchemaError, match="cannot be called with names alone"):
        sk.Agent(RandomModel(), tools=[function], output_type=int)


def test_only_contexts_of_known_packages_are_those_of_other_libraries() -> None:
    for module, name in (
        ("mine", "RunContext"),
        ("langchain.tools", "Mine"),
        ("pydantic_ai_of_mine", "RunContext"),
    ):
        kind = type(name, (BaseModel,), {"__module__": module, "__qualname__": name})

        def call(place: object) -> None: ...

        call.__annotations__["place"] = kind
        assert [each.annotation for each in read_signature(call).parameters] == [kind]
