"""Style options of calls and classes: which JSON texts the target accepts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, Field, TypeAdapter, field_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NotRequired, TypedDict

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.generate.input.guide_cache import GuideCache
from structkit.generate.input.settings import CompileSettings
from structkit.schema.markers.json_style import JsonStyle, style_of, without_null
from structkit.targets.targets import read_target
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.shared import cases


class Plain(BaseModel):
    name: str
    age: int = 3
    city: str | None = None


@sk.json_style(null="omit")
class NoNulls(Plain):
    pass


@sk.json_style(defaults="may_omit")
class MayOmit(Plain):
    pass


@sk.json_style(defaults="always", null="may_omit")
class OverridesDefaults(MayOmit):
    pass


class Nested(BaseModel):
    plain: Plain
    short: NoNulls
    note: str | None = None


def accepts(target: Any, text: str, **options: Any) -> bool:
    style = JsonStyle(**options)
    rules = read_target(target, policy=style).rules(whitespace=style.whitespace, order=style.order)
    accepted = Reader(link(rules)).accepts(text.encode())
    if accepted:
        TypeAdapter(target).validate_json(text)
    return accepted


FULL = '{"name": "a", "age": 4, "city": "b"}'
NULL = '{"name": "a", "age": 4, "city": null}'
NO_CITY = '{"name": "a", "age": 4}'
NO_AGE = '{"name": "a", "city": "b"}'
SHORT = '{"name": "a"}'


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, {FULL, NULL}),
        ({"defaults": "may_omit"}, {FULL, NULL, NO_CITY, NO_AGE, SHORT}),
        ({"null": "omit"}, {FULL, NO_CITY}),
        ({"null": "may_omit"}, {FULL, NULL, NO_CITY}),
        ({"defaults": "may_omit", "null": "always"}, {FULL, NULL, NO_AGE}),
        ({"defaults": "may_omit", "null": "omit"}, {FULL, NO_CITY, NO_AGE, SHORT}),
    ],
)
def test_defaults_and_null_decide_which_fields_are_written(
    options: dict[str, Any], written: set[str]
) -> None:
    texts = (FULL, NULL, NO_CITY, NO_AGE, SHORT)
    assert {text for text in texts if accepts(Plain, text, **options)} == written
    # The style of a class applies wherever the class is used.
    configured = sk.json_style(**options)(type("Configured", (Plain,), {}))
    assert {text for text in texts if accepts(configured, text)} == written
    assert {text for text in texts if accepts(list[configured], f"[{text}]")} == written  # type: ignore[valid-type]


def test_call_options_take_precedence_and_classes_are_independent() -> None:
    assert not accepts(NoNulls, NULL) and accepts(NoNulls, NULL, null="always")
    assert accepts(MayOmit, SHORT) and not accepts(MayOmit, SHORT, defaults="always")
    # Options that the call does not set are those of the class.
    assert accepts(NoNulls, SHORT, defaults="may_omit") and not accepts(NoNulls, NULL, defaults="may_omit")
    assert not accepts(Nested, f'{{"plain": {NO_CITY}, "short": {NO_CITY}, "note": null}}')
    assert accepts(Nested, f'{{"plain": {NULL}, "short": {NO_CITY}, "note": null}}')
    assert not accepts(Nested, f'{{"plain": {NULL}, "short": {NULL}, "note": null}}')
    assert accepts(Nested, f'{{"plain": {NO_CITY}, "short": {NO_CITY}}}', null="omit")


def test_subclasses_inherit_unset_options() -> None:
    assert accepts(OverridesDefaults, NO_CITY) and not accepts(OverridesDefaults, SHORT)
    assert not accepts(type("Heir", (NoNulls,), {}), NULL)


def test_required_nulls_and_other_defaults_are_unchanged() -> None:
    class Odd(BaseModel):
        needed: int | None
        other: int | None = 7

    assert accepts(Odd, '{"needed": null, "other": null}', null="omit")
    assert not accepts(Odd, '{"needed": null}', null="omit")
    assert accepts(Odd, '{"needed": null}', defaults="may_omit", null="omit")


def test_null_inside_validators_keeps_descriptions() -> None:
    class Checked(BaseModel):
        age: Annotated[int | None, Field(ge=3, description="in years")] = None

        @field_validator("age", mode="before")
        @classmethod
        def any_age(cls, age: object) -> object:
            return age

    assert accepts(Checked, "{}", null="omit") and not accepts(Checked, '{"age": null}', null="omit")
    assert not accepts(Checked, '{"age": 2}', null="omit")
    prompt = sk.render_prompt(ScriptedModel([]), "x", Checked, null="omit")
    assert prompt.endswith('Checked = {"age"?: integer (at least 3) /* in years */}')


def test_dataclasses_and_typed_dicts_have_styles() -> None:
    @sk.json_style(null="omit")
    @dataclass
    class Point:
        x: int
        label: str | None = None

    @sk.json_style(null="omit", order=["label"])
    @pydantic_dataclass
    class Place:
        x: int
        label: str | None = None

    @sk.json_style(order="any")
    class Row(TypedDict):
        a: int
        b: NotRequired[int | None]

    assert accepts(Point, '{"x": 1}') and not accepts(Point, '{"x": 1, "label": null}')
    assert accepts(Place, '{"label": "l", "x": 1}') and accepts(Place, '{"x": 1}')
    assert not accepts(Place, '{"x": 1, "label": "l"}')
    # An optional key has no default.
    for text in ('{"a": 1}', '{"b": null, "a": 1}', '{"a": 1, "b": 2}'):
        assert accepts(Row, text) and accepts(Row, text, null="omit")


def test_the_order_of_a_class_applies_to_its_own_fields() -> None:
    @sk.json_style(order=["why", "answer"])
    class Reasoned(BaseModel):
        answer: bool
        sure: int
        why: str = Field(alias="because")

    @sk.json_style(order="any")
    class Loose(BaseModel):
        a: Reasoned
        b: int

    why = '{"because": "x", "answer": true, "sure": 1}'
    assert accepts(Reasoned, why) and not accepts(Reasoned, '{"answer": true, "sure": 1, "because": "x"}')
    assert accepts(Reasoned, '{"answer": true, "sure": 1, "because": "x"}', order="declared")
    assert accepts(Loose, f'{{"b": 1, "a": {why}}}')
    assert not accepts(Loose, f'{{"b": 1, "a": {why}}}', order="declared")
    # Enclosing and nested classes keep their own order.
    assert not accepts(Loose, '{"b": 1, "a": {"answer": true, "because": "x", "sure": 1}}')
    assert accepts(tuple[Loose, int], f'[{{"b": 1, "a": {why}}}, 1]')
    with pytest.raises(sk.SchemaError, match="the field order of Wrong names the unknown field 'nothing'"):
        sk.to_regex(sk.json_style(order=["nothing"])(type("Wrong", (Plain,), {})))


def test_set_items_have_one_spelling() -> None:
    @sk.json_style(order="any")
    @dataclass(frozen=True)
    class Pair:
        a: int
        b: int

    pairs = Annotated[set[Pair], Field(min_length=2)]
    assert accepts(pairs, '[{"a": 1, "b": 2}, {"a": 1, "b": 3}]')
    assert not accepts(pairs, '[{"a": 1, "b": 2}, {"b": 2, "a": 1}]')
    assert accepts(set[Pair], '[{"b": 2, "a": 1}]')  # pydantic merges equal items


def test_whitespace_applies_only_to_the_target_class() -> None:
    compact = sk.json_style(whitespace="compact")(type("Compact", (Plain,), {}))
    tight = '{"name":"a","age":4,"city":null}'
    assert accepts(compact, tight) and not accepts(compact, NULL)
    assert accepts(compact, NULL, whitespace="spaced")
    assert accepts(list[compact], f"[{NULL}]")  # type: ignore[valid-type]
    assert sk.generate(ScriptedModel([tight]), "x", compact).text == tight  # type: ignore[valid-type]


def test_tags_of_unions_are_always_written() -> None:
    @sk.json_style(defaults="may_omit")
    class Cat(BaseModel):
        kind: Literal["cat"] = "cat"
        lives: int = 9

    class Dog(BaseModel):
        kind: Literal["dog"] = "dog"
        friend: Pet | None = None

    Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
    Dog.model_rebuild(_types_namespace={"Pet": Pet})
    assert accepts(Pet, '{"kind": "cat"}') and not accepts(Pet, '{"lives": 3}')
    assert accepts(Pet, '{"kind": "dog", "friend": {"kind": "cat"}}', null="omit")
    assert accepts(Pet, '{"kind": "dog"}', null="omit") and not accepts(Pet, '{"kind": "dog"}')
    assert not accepts(Pet, '{"kind": "dog", "friend": {"lives": 9}}')


def test_every_function_accepts_style_options() -> None:
    short = '{"name": "a", "age": 4}'
    model = ScriptedModel([short] * 6)
    value = Plain(name="a", age=4)
    assert sk.extract(model, "x", Plain, null="omit") == value
    assert sk.extract_many(model, ["x"], Plain, null="omit") == [value]
    assert list(sk.stream(model, "x", Plain, null="omit"))[-1].result.value == value
    guide = sk.compile(Plain, byte_vocabulary(), null="omit", defaults="may_omit")
    cursor = guide.cursor()
    for byte in b'{"name": "a"}':
        cursor.advance(byte)
    assert cursor.is_accepting
    assert '"city": (?:' in sk.to_regex(Plain) and "null" not in sk.to_regex(Plain, null="omit")
    assert sk.explain(Plain, null="omit", whitespace="compact").enforced
    assert '"city"?: string' in sk.render_prompt(model, "x", Plain, null="omit")
    assert list(sk.classify(ScriptedModel(["true"]), "x", bool, null="omit", defaults="may_omit")) == [
        True,
        False,
    ]


def test_guides_are_cached_by_style() -> None:
    guides = GuideCache(max_entries=8)
    variants = [
        CompileSettings(),
        CompileSettings(null="omit"),
        CompileSettings(null="may_omit"),
        CompileSettings(order="any"),
        CompileSettings(defaults="may_omit"),
    ]
    found = [guides.get(Plain, byte_vocabulary(), settings).guide for settings in variants]
    assert len({id(guide) for guide in found}) == len(variants)


@pytest.mark.parametrize("name", ["whitespace", "defaults", "order", "null"])
def test_unknown_options_are_rejected(name: str) -> None:
    options: dict[str, Any] = {name: "sometimes"}
    for call in (
        lambda: sk.json_style(**options),
        lambda: sk.extract(ScriptedModel([]), "x", int, **options),
        lambda: sk.compile(int, byte_vocabulary(), **options),
        lambda: sk.to_regex(int, **options),
    ):
        with pytest.raises(ValueError, match=re.escape(f"{name} must be '")):
            call()


def test_unsupported_classes_are_rejected() -> None:
    for wrong in (int, 3, tuple, list[Plain]):
        with pytest.raises(TypeError, match="json_style decorates pydantic models"):
            sk.json_style(null="omit")(wrong)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="order must be 'declared' or 'any'"):
        sk.extract(ScriptedModel([]), "x", Plain, order=["name"])  # type: ignore[arg-type]


@pytest.mark.long(every=4)
@pytest.mark.parametrize("null", ["always", "may_omit", "omit"])
@pytest.mark.parametrize("defaults", ["always", "may_omit"])
@pytest.mark.parametrize("order", ["declared", "any"])
def test_random_values_follow_the_style(null: Any, defaults: Any, order: Any) -> None:
    model = RandomModel(seed=1)
    for seed in range(cases(2, of=10)):
        result = sk.generate(
            model,
            "x",
            Nested,
            null=null,
            defaults=defaults,
            order=order,
            temperature=1.0,
            seed=seed,
            max_tokens=200,
        )
        written = json.loads(result.text)
        if null == "always":
            assert "note" in written and "city" in written["short"]
        if null == "omit":
            assert None not in written.values() and None not in written["plain"].values()
        if defaults == "always":
            assert "age" in written["plain"]


def test_typed_dicts_inherit_styles() -> None:
    @sk.json_style(order=["b"], null="omit")
    class Row(TypedDict):
        a: int
        b: int

    class Longer(Row, total=False):
        c: int

    @sk.json_style(order=["c"])
    class Other(Longer): ...

    assert sk.to_regex(Longer).startswith(r'\{"b": ')
    assert style_of(Other) == JsonStyle(order=("c",), null="omit")


def test_dataclasses_and_models_inherit_styles() -> None:
    @dataclass
    class Point:
        a: int
        b: int

    def configured(cls: type) -> type:
        return sk.json_style(order=["b"])(cls)

    class Model(BaseModel):
        a: int
        b: int

    for base in (Point, Model, pydantic_dataclass(Point)):
        derived = type("Derived", (configured(type("Base", (base,), {})),), {})
        assert style_of(derived) == JsonStyle(order=("b",))
        assert sk.to_regex(derived).startswith(r'\{"b": ')

    class Pair(NamedTuple):
        a: int

    with pytest.raises(TypeError, match="not <class"):
        sk.json_style(null="omit")(Pair)


@pytest.mark.parametrize("wrapper", ["function-after", "function-before", "function-wrap", "default"])
def test_null_is_removed_from_a_wrapped_optional_schema_only(wrapper: str) -> None:
    def field(schema: dict[str, object]) -> dict[str, object]:
        return {"type": "default", "default": None, "schema": {"type": wrapper, "schema": schema}}

    whole: dict[str, object] = {"type": "int"}
    assert without_null(field({"type": "nullable", "schema": whole})) == field(whole)
    assert without_null(field(whole)) is None
    assert without_null({**field({"type": "nullable", "schema": whole}), "default": 1}) is None
