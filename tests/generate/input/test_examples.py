"""Few-shot examples in prompts."""

from __future__ import annotations

import dataclasses
import json
import traceback
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Literal

import pytest
from lark import Transformer, Tree
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    SecretStr,
    TypeAdapter,
    computed_field,
    field_serializer,
    field_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import core_schema

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.generate.input.examples import render_examples
from structkit.generate.input.prompt import build_prompt
from structkit.generate.input.settings import CompileSettings
from structkit.schema.markers.json_style import JsonStyle
from structkit.targets.targets import read_target
from structkit.testing import RandomModel, ScriptedModel
from tests.zoo import KINDS
from tests.zoo.specimen import Specimen


class Address(BaseModel):
    street: str = Field(alias="Straße")
    zip: str | None = None


@sk.json_style(order=["born"])
class Person(BaseModel):
    name: str
    born: date
    home: Address | None = None
    tags: set[str] = set()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def initial(self) -> str:
        return self.name[0]


ANA = Person(name="Ana", born=date(2000, 1, 2), home=Address(**{"Straße": "Rua A"}))
EXAMPLES = [("Ana of Rua A", ANA), ("Bob", {"name": "Bob", "born": "1999-02-01"})]


def answers(examples: Any = EXAMPLES, target: Any = Person, **options: Any) -> list[str]:
    writing = CompileSettings(**options)
    return [
        example.answer
        for example in render_examples(examples, read_target(target, policy=writing.json_style), writing)
    ]


@pytest.mark.parametrize(
    ("options", "ana", "bob"),
    [
        (
            {},
            '{"born": "2000-01-02", "name": "Ana", "home": {"Straße": "Rua A", "zip": null}, "tags": []}',
            '{"born": "1999-02-01", "name": "Bob", "home": null, "tags": []}',
        ),
        (
            {"null": "omit", "whitespace": "compact"},
            '{"born":"2000-01-02","name":"Ana","home":{"Straße":"Rua A"},"tags":[]}',
            '{"born":"1999-02-01","name":"Bob","tags":[]}',
        ),
        (
            {"defaults": "may_omit", "order": "declared"},
            '{"name": "Ana", "born": "2000-01-02", "home": {"Straße": "Rua A"}}',
            '{"name": "Bob", "born": "1999-02-01"}',
        ),
    ],
)
def test_answers_follow_the_compile_settings(options: Any, ana: str, bob: str) -> None:
    assert answers(**options) == [ana, bob]


def test_examples_are_messages() -> None:
    model = ScriptedModel(['{"born": "2001-01-01", "name": "Clara", "home": null, "tags": []}'])
    value = sk.extract(model, "Clara", Person, examples=EXAMPLES[1:], system="Be brief.")
    assert value.name == "Clara"
    described = read_target(Person).description()
    assert model.prompts == [
        f"system: Be brief.\nuser: Bob\n\nAnswer with {described}\n"
        'assistant: {"born": "1999-02-01", "name": "Bob", "home": null, "tags": []}\nuser: Clara'
    ]


def test_examples_precede_the_first_message_after_the_system_message() -> None:
    built = build_prompt(
        [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "x",
        examples=[("a", "1"), ("b", "2")],
    )
    assert isinstance(built, list)
    assert [(each["role"], each["content"]) for each in built] == [
        ("system", "s"), ("user", "a\n\nAnswer with x"), ("assistant", "1"), ("user", "b"), ("assistant", "2"),
        ("user", "u"),
    ]  # fmt: skip


class TextModel(ScriptedModel):
    takes_messages = False


def test_a_model_without_a_chat_template_reads_text() -> None:
    model = TextModel(["3"])
    assert sk.extract(model, "2 + 1", int, examples=[("1 + 1", 2), ("5 - 1", 4)]) == 3
    assert model.prompts == [
        "1 + 1\n\nAnswer with JSON of this type:\nint = integer\n\n2\n\n5 - 1\n\n4\n\n2 + 1\n\n"
    ]


@pytest.mark.parametrize(
    ("target", "value", "text"),
    [
        (sk.Choice(["good", "bad"]), "bad", "bad"),
        (sk.Choice([1, "x"]), "x", '"x"'),
        (sk.Regex(r"\d+"), "12", "12"),
        (
            {"properties": {"a": {"type": "integer"}, "b": {}}},
            {"b": 1, "c": 2, "a": 3},
            '{"a": 3, "b": 1, "c": 2}',
        ),
        (Decimal, Decimal("1.50"), '"1.50"'),
        (int | None, None, "null"),
        (list[Literal["a", "b"]], ("a", "b"), '["a", "b"]'),
        (Annotated[str, sk.Quote()], "text", '"text"'),
        (date, date(2024, 2, 29), '"2024-02-29"'),
        (dict[str, Any], {"z": 1, "a": [True]}, '{"z": 1, "a": [true]}'),
        (Address | int, 3, "3"),
    ],
)
def test_all_kinds_of_targets(target: Any, value: Any, text: str) -> None:
    assert answers([("a text", value)], target) == [text]


SPECIMENS = [pytest.param(each, id=name) for kind in KINDS.values() for name, each in kind.items()]


@pytest.mark.long(every=5)
@pytest.mark.parametrize("specimen", SPECIMENS)
def test_answers_of_the_zoo_are_in_the_language_of_their_target(specimen: Specimen) -> None:
    """The guide accepts the text of every value that has one, and pydantic parses it to the same value."""
    if specimen.error:
        return
    target = read_target(specimen.target)
    accepts = Reader(link(target.rules())).accepts
    for value in specimen.accepts[:3]:
        dumped = json.dumps(specimen.adapter.dump_python(value, mode="json", by_alias=True))
        if specimen.texts or specimen.checked or target.parse(dumped) != value:
            continue  # pydantic does not parse its own output to this value
        (text,) = answers([("x", value)], specimen.target)
        assert accepts(text.encode()) and target.parse(text) == value


class Mood(Enum):
    GOOD = "good"


@pytest.mark.parametrize(
    ("target", "examples", "message"),
    [
        (
            Person,
            [("a", ANA), ("b", 3)],
            r"examples\[1\] is not a valid Person: Input should be a valid dictionary .*\[1\]`",
        ),
        (
            Person,
            [("a", {"name": "x"})],
            r"examples\[0\] is not a valid Person: Field required at `examples\[0\]\[1\].born`",
        ),
        (list[int], [("a", [1, "x"])], r"valid integer.* at `examples\[0\]\[1\]\[1\]`"),
        (Mood, [("a", "bad")], r"Input should be 'good' at"),
        (sk.Choice(["a"]), [("a", "b")], r"examples\[0\] cannot be written as Choice of 1:"),
        (
            SecretStr,
            [("a", SecretStr("b"))],
            r"cannot be written as SecretStr: .*; write it as the model should, ",
        ),
        (int, [("a", 10**30)], "digits or characters"),
        ({"type": "integer"}, [("a", "b")], "cannot be written as JSON Schema:"),
        (Annotated[str, sk.Quote()], [("Ana", "Bob")], "a quote must occur in the text of its example"),
    ],
)
def test_invalid_examples_raise(target: Any, examples: Any, message: str) -> None:
    model = ScriptedModel(["1"])
    for call in (
        lambda: sk.extract(model, "x", target, examples=examples),
        lambda: sk.extract_many(model, ["x"], target, examples=examples, return_exceptions=True),
        lambda: sk.render_prompt(model, "x", target, examples=examples),
        lambda: list(sk.stream(model, "x", target, examples=examples)),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert not model.prompts


@pytest.mark.parametrize("examples", ["ab", [3], ["ab"], [("a",)], [(1, 2)], {"a": 1}, 7])
def test_examples_must_be_pairs(examples: Any) -> None:
    with pytest.raises(TypeError, match="examples"):
        sk.extract(ScriptedModel([]), "x", int, examples=examples)


def test_examples_of_a_batch_are_written_once_for_each_target() -> None:
    model = ScriptedModel(["1", "2", "true"])
    found = sk.extract_many(model, ["a", "b", "c"], [int, int, bool], examples=[("zero", 0)])
    assert found == [1, 2, True]
    assert [prompt.split("assistant: ")[1].split("\n")[0] for prompt in model.prompts] == ["0", "0", "false"]


class Near(BaseModel):
    day: date = Field(validation_alias="on")
    secret: int = Field(exclude=True)

    @field_serializer("day")
    def slashed(self, day: date) -> str:
        return f"{day:%d/%m/%Y}"


class Far(BaseModel):
    name: str = Field(validation_alias=AliasPath("names", 0))
    last: str = Field(validation_alias=AliasPath("names", 1, "last"))
    near: list[Near] = Field(validation_alias=AliasChoices("nearest", "near"))
    texts: Json[list[int]]


@dataclass
class Hidden:
    value: Annotated[int, Field(validation_alias="v", exclude=True)]


NEAR = {"on": "2026-01-02", "secret": 1}
FAR = {"names": ["Ana", {"last": "Souza"}], "nearest": [NEAR], "texts": "[1]"}


@pytest.mark.parametrize(
    ("target", "value"),
    [(Near, NEAR), (Far, FAR), (dict[str, Near | None], {"a": NEAR, "b": None}), (Hidden, {"v": 1})],
)
def test_values_are_written_as_they_are_read(target: Any, value: Any) -> None:
    """Pydantic writes such fields at another place, in another form, or not at all."""
    text = json.dumps(value)
    instance: object = TypeAdapter(target).validate_json(text)
    assert answers([("a", value), ("b", instance)], target) == [text, text]


class Degrees:
    """A class without an `__eq__`."""

    def __init__(self, value: int) -> None:
        self.value = value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        written = core_schema.plain_serializer_function_ser_schema(lambda degrees: degrees.value)
        return core_schema.no_info_after_validator_function(
            cls, core_schema.int_schema(), serialization=written
        )


class Incomparable(Degrees):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("no eq")


@dataclasses.dataclass
class Angle:
    degrees: Degrees
    made: int = dataclasses.field(default_factory=iter(range(99)).__next__, compare=False)


class Weather(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Degrees]
    days: list[Degrees | None]
    wind: tuple[Angle, str]


@pytest.mark.parametrize(
    ("target", "value", "text"),
    [
        (list[Degrees], [Degrees(3)], "[3]"),
        (dict[str, Incomparable], {"a": Incomparable(3)}, '{"a": 3}'),
        (
            Weather,
            Weather.model_validate({"days": [3, None], "wind": [{"degrees": 1, "made": 5}, "NW"], "peak": 4}),
            '{"days": [3, null], "wind": [{"degrees": 1, "made": 5}, "NW"], "peak": 4}',
        ),
    ],
)
def test_parts_without_an_eq_are_written(target: Any, value: Any, text: str) -> None:
    assert answers([("a", value)], target) == [text]


def test_a_part_that_differs_beside_one_without_an_eq_is_not_written() -> None:
    class Login(BaseModel):
        degrees: Degrees
        password: SecretStr

    with pytest.raises(ValueError, match="cannot be written as Login"):
        answers([("a", Login.model_validate({"degrees": 1, "password": "b"}))], Login)


def test_an_init_var_is_given_in_a_dict() -> None:
    @dataclasses.dataclass
    class Square:
        side: int
        scale: dataclasses.InitVar[int] = 1

    assert answers([("a", [{"side": 2, "scale": 3}])], list[Square]) == ['[{"side": 2, "scale": 3}]']
    with pytest.raises(ValueError, match=r"does not keep the InitVar Square.scale; give a dict in place of"):
        answers([("a", [Square(2, 3)])], list[Square])


class Price(Decimal, Enum):
    LOW = "1.5"
    HIGH = "20"


def test_an_enum_of_decimals_is_written_as_it_is_read() -> None:
    assert answers([("a", {"x": Price.LOW, "y": Price.HIGH})], dict[str, Price | None]) == [
        '{"x": 1.5, "y": 20}'
    ]


def test_a_strict_type_is_given_as_json() -> None:
    class Visit(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date
        pair: tuple[Decimal, set[int]]

    value: Any = {"day": "2026-01-02", "pair": ["1.5", [3]]}
    for each in (value, Visit(day=date(2026, 1, 2), pair=(Decimal("1.5"), {3}))):
        assert answers([("a", each)], Visit) == ['{"day": "2026-01-02", "pair": ["1.5", [3]]}']
    with pytest.raises(ValueError, match="valid date"):
        answers([("a", {**value, "day": 3})], Visit)


@pytest.mark.parametrize(
    ("target", "value", "spaced", "compact"),
    [
        (Json[list[int]], [1, 2], '"[1, 2]"', '"[1,2]"'),
        (
            list[Json[dict[str, Json[list[int]]]]],
            [{"a": [1, 2]}],
            r'["{\"a\": \"[1, 2]\"}"]',
            r'["{\"a\":\"[1,2]\"}"]',
        ),
        (
            Json[Hidden],
            TypeAdapter(Hidden).validate_python({"v": 1}),
            r'"{\"v\": 1}"',
            r'"{\"v\":1}"',
        ),
        (str | Decimal, Decimal("1.5"), "1.5", "1.5"),
        (Annotated[Fraction, Field(ge=1)], Fraction(3, 2), "1.5", "1.5"),
        (Annotated[Fraction, Field(ge=1)], Fraction(3), "3", "3"),
    ],
)
def test_values_inside_json_have_its_style(target: Any, value: Any, spaced: str, compact: str) -> None:
    assert answers([("a", value)], target) == [spaced]
    assert answers([("a", value)], target, whitespace="compact") == [compact]


def test_a_secret_is_given_as_json() -> None:
    class Login(BaseModel):
        user: str
        password: SecretStr

    assert answers([("a", {"user": "ana", "password": "b"})], Login) == ['{"user": "ana", "password": "b"}']


def test_examples_of_a_function_target() -> None:
    def weather(city: str, days: int = 1) -> str:
        return f"{city} {days}"

    call = sk.extract(ScriptedModel(['{"city": "Porto", "days": 2}']), "x", weather)
    for value in (call, {"city": "Porto", "days": 2}):
        assert answers([("a", value)], weather) == ['{"city": "Porto", "days": 2}']
    with pytest.raises(ValueError, match=r"examples\[0\]"):
        answers([("a", {"town": "Porto"})], weather)


def test_the_json_style_of_the_call_applies() -> None:
    assert json.loads(answers(null="omit")[1]).keys() == {"born", "name", "tags"}
    assert JsonStyle(null="omit").null_fields == "omit"


class Club(BaseModel):
    names: frozenset[str]
    sizes: set[int]
    pairs: set[tuple[str, int]]
    groups: frozenset[frozenset[str]] | None = None
    scores: dict[str, set[str]] = {}


def test_the_order_of_set_items_is_deterministic() -> None:
    words = [f"w{number:02}" for number in range(40)]
    value = Club(
        names=frozenset(words),
        sizes={3, 20, 100},
        pairs={("b", 1), ("a", 2)},
        groups=frozenset({frozenset("cba"), frozenset("xz")}),
        scores={"z": {"n", "m"}, "a": set("fedcba")},
    )
    example = render_examples([("x", value)], read_target(Club), CompileSettings())[0]
    assert json.loads(example.answer) == {
        "names": words,
        "sizes": [100, 20, 3],
        "pairs": [["a", 2], ["b", 1]],
        "groups": [["a", "b", "c"], ["x", "z"]],
        "scores": {"z": ["m", "n"], "a": list("abcdef")},
    }


def test_lists_of_unique_items_keep_their_order() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    listed = Annotated[list[str], Field(json_schema_extra={"uniqueItems": True})]
    for target in (schema, listed):
        assert (
            render_examples([("x", ["b", "a"])], read_target(target), CompileSettings())[0].answer
            == '["b", "a"]'
        )


def test_lone_surrogates_raise() -> None:
    model = ScriptedModel(["1"])
    for call in (sk.render_prompt, sk.generate):
        with pytest.raises(ValueError, match=r"examples\[1\]\[0\] is not Unicode: .* '\\ud800' at 1"):
            call(model, "x", int, examples=[("a", 1), ("b\ud800", 2)])
        for prompt in ("a\ud800", [{"role": "user", "content": "\udfff"}]):
            with pytest.raises(sk.GenerationError, match=r"at `prompt`:\n  the prompt is not Unicode: .*"):
                call(model, prompt, int)


class Epochs(BaseModel):
    model_config = ConfigDict(ser_json_temporal="seconds")
    day: date


def test_dates_that_pydantic_writes_as_numbers_are_texts() -> None:
    example = render_examples([("x", Epochs(day=date(2020, 1, 1)))], read_target(Epochs), CompileSettings())[
        0
    ]
    assert example.answer == '{"day": "2020-01-01"}'


def test_an_exception_of_a_validator_names_the_example() -> None:
    class Person(BaseModel):
        age: int

        @field_validator("age")
        @classmethod
        def look_up(cls, age: int) -> int:
            raise KeyError(age)

    with pytest.raises(KeyError) as caught:
        sk.extract(RandomModel(), "x", Person, examples=[("Ana is 34.", {"age": 34})])
    assert "it was raised for examples[0]" in "".join(traceback.format_exception(caught.value))


def test_the_example_of_a_grammar_is_a_text() -> None:
    class Length(Transformer[Any, int]):
        def start(self, parts: list[str]) -> int:
            if len(parts) > 3:
                raise ValueError("at most three")
            return len(parts)

    text = 'start: X+\nX: "a"'
    targets: list[Any] = [
        sk.Grammar(text),
        sk.Grammar(text, value="tree"),
        sk.Grammar(text, transformer=Length()),
    ]
    for target in targets:
        model = ScriptedModel(["aa"])
        prompt = sk.render_prompt(model, "Go", target, examples=[("Three", "aaa")])
        assert "Three" in prompt and "aaa" in prompt
        with pytest.raises(ValueError, match=r"'b' has .* does not allow; give a text of its language"):
            sk.extract(model, "Go", target, examples=[("None", "b")])
        with pytest.raises(ValueError, match="give a text of its language"):
            sk.extract(model, "Go", target, examples=[("None", Tree("start", []))])
    with pytest.raises(ValueError, match="at most three"):
        sk.extract(
            ScriptedModel(["aa"]), "Go", sk.Grammar(text, transformer=Length()), examples=[("Four", "aaaa")]
        )
