"""Values that are no targets: the error says what was probably meant."""

from __future__ import annotations

import abc
import dataclasses
import enum
import math
import re
import sys
import typing
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Optional, Protocol, Union, cast

import pytest
import typing_extensions
from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic_core import core_schema
from typing_extensions import LiteralString, Never, Self

import structkit as sk
from structkit.testing import RandomModel, byte_vocabulary


class Person(BaseModel):
    name: str


class Plain:
    size = 3


class Shape(Protocol):
    size: int


class Nothing(enum.Enum):
    pass


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Misspelt:
    name: Strin  # type: ignore[name-defined]  # noqa: F821


@dataclasses.dataclass
class Number:
    name: 3  # type: ignore[valid-type]


class Nested(BaseModel):
    parts: list[Misspelt]


class Marked(BaseModel):
    part: Annotated[str, sk.Quote]


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Pair(typing.TypedDict):
    name: str


class Abstract(BaseModel, abc.ABC):
    @abc.abstractmethod
    def size(self) -> int: ...


class PlainOnly:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(lambda value: value)


class Empty(BaseModel):
    kind: Nothing


@pytest.mark.parametrize(
    ("target", "cause", "remedy"),
    [
        ("int", "invalid target 'int'", "write int without quotation marks"),
        ("Person", "invalid target 'Person'", "pass the class Person itself"),
        ('{"type": "integer"}', "invalid target", "json.loads(...) returns"),
        ("a|b", "invalid target 'a|b'", "a pattern is written structkit.Regex('a|b')"),
        ("Ana is 34.", "invalid target", "if it is the prompt, write it before the target"),
        ("x" * 90 + "; " + "y" * 90, "invalid target 'xxx", "a pattern is written structkit.Regex('xxx"),
        ([Person], "invalid target [", "write list[Person] for a list, or Person for one"),
        ((int, str), "invalid target (", "write int | str for one of them, and list[int | str] for a list"),
        (["a", "b"], "invalid target ['a', 'b']", "structkit.Choice(['a', 'b'])"),
        ({"a"}, "invalid target {'a'}", "structkit.Choice(['a'])"),
        ([*range(99)], "invalid target [0, 1,", "structkit.Choice([...])"),
        ([], "invalid target []", "structkit.Choice([])"),
        (
            [sorted],
            "invalid target [<built-in function sorted>]",
            "list[sorted] for a list, or sorted for one",
        ),
        ((int, None), "invalid target (", "write int | None for one of them"),
        ([Plain, sorted], "invalid target [", "typing.Union[Plain, sorted] for one of them"),
        (
            [{"type": "string"}],
            "invalid target [{'type': 'string'}]",
            "write {'anyOf': [...]} for one of several",
        ),
        (
            re.compile("a", re.I),
            "invalid target re.",
            "write structkit.Regex(re.compile('a', re.IGNORECASE))",
        ),
        (re.compile("[a-z]+"), "invalid target re.compile('[a-z]+')", "write structkit.Regex('[a-z]+')"),
        (3, "invalid target 3", "pass a type, a function,"),
        (sk.Regex, "invalid target <class", "pass an object of it, structkit.Regex(...)"),
        (sk.Grammar, "invalid target <class", "pass an object of it, structkit.Grammar(...)"),
        (re, "invalid target <module 're'", "it is a module; write a class of it"),
        (
            typing.TypedDict,
            "invalid target TypedDict, which is not a complete type",
            "class Person(TypedDict)",
        ),
        (typing_extensions.TypedDict, "invalid target TypedDict", "write a class of it"),
        (typing.NamedTuple, "invalid target NamedTuple", "class Person(NamedTuple)"),
        (enum.Enum, "invalid target Enum", "class Colour(Enum)"),
        (Literal, "invalid target Literal", "write its values, such as Literal['yes', 'no']"),
        (Union, "invalid target Union", "write its members, such as Union[int, str]"),
        (Optional, "invalid target Optional", "such as Optional[int]"),
        (Annotated, "invalid target Annotated", "such as Annotated[int, Field(ge=0)]"),
        (
            defaultdict[str, defaultdict[str, int]],
            "pydantic knows no default of defaultdict[str, int] in a defaultdict",
            "write dict[...] for the outer one",
        ),
        (BaseModel, "BaseModel itself has no fields", "such as class Person(BaseModel)"),
        (dict[str, BaseModel | None], "BaseModel itself has no fields", "such as class Person(BaseModel)"),
        (
            byte_vocabulary(),
            "<Vocabulary of 256 tokens, size 257, ends 256> is an object of Vocabulary, not a type",
            "pass a type",
        ),
        (
            Annotated[str, sk.Regex("a")],
            "Regex(pattern='a') is a target and cannot annotate",
            "Field(pattern=",
        ),
        (
            Annotated[str, sk.Choice(["a"])],
            "Choice(options=('a',)) is a target and cannot annotate",
            "write Literal[...]",
        ),
        (RandomModel(), "invalid target <", "it is a model, which is the first argument"),
        (Person(name="Ana"), "Person(name='Ana') is a value", "pass its class Person"),
        (Colour.RED, "<Colour.RED: 'red'> is an object of Colour, not a type", "pass the class Colour"),
        (Plain, "pydantic cannot read the class Plain", "make it a pydantic.BaseModel or a dataclass"),
        (Shape, "pydantic cannot read the class Shape", "make it a pydantic.BaseModel or a dataclass"),
        (list[Plain], "list[Plain] has a part that pydantic cannot read, the class Plain", "make it a"),
        (Number, "Number has a part that pydantic cannot read, 3", "write a type"),
        (Misspelt, "Misspelt refers to 'Strin', which is not defined", "define it where Misspelt is defined"),
        (Nested, "Nested refers to 'Strin', which is not defined", "define it where Nested is defined"),
        (
            TypeAdapter(Misspelt),
            "Misspelt refers to 'Strin', which is not defined",
            "define it where Misspelt",
        ),
        (Nothing, "Nothing has an Enum or a Literal without values", "add one"),
        (Empty, "Empty has an Enum or a Literal without values", "add one"),
        (Literal[()], "Literal[] has an Enum or a Literal without values", "add one"),
        (Person.model_json_schema, "invalid target <bound", "call it, as in Person.model_json_schema()"),
        ({"type": str}, "unknown type type", "write 'string'"),
        ({"enum": []}, "no value satisfies the schema: enum is empty", "add a value to enum"),
        (
            {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
            "'json_schema' is not a type of JSON Schema",
            "pass the schema in it, target['json_schema']['schema']",
        ),
        (
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
            "'function' is not a type of JSON Schema",
            "target['function']['parameters']",
        ),
        (
            {"json_schema": {"schema": {"type": "object"}}},
            "no key of the schema is a keyword of JSON Schema: 'json_schema'",
            "target['json_schema']['schema']",
        ),
        pytest.param(
            Pair,
            "Pair has a TypedDict of typing, which pydantic reads from",
            "from typing_extensions import TypedDict",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads it"),
        ),
        (Abstract, "Abstract is an abstract class", "pass a class derived from it that defines size"),
        (Iterator[int], "pydantic cannot read Iterator[int]", "write list[...]"),
        (dict[str, bytearray], "dict[str, bytearray] has a part that pydantic cannot", "write bytes"),
        (LiteralString, "pydantic cannot read LiteralString", "write str"),
        (ClassVar[int], "pydantic cannot read ClassVar[int]", "write the type inside of it"),
        (Self, "Self stands for a class that is not known here", "write the class"),
        (Never, "pydantic cannot read Never", "write a type"),
        (
            Annotated[int, Field(multiple_of=0)],
            "a constraint of int is not valid: 'multiple_of' must",
            "correct",
        ),
        (
            Annotated[str, Field(pattern="a [b")],
            "the pattern 'a [b', column 3, of str is not valid: unclosed character class",
            "correct it",
        ),
        (
            Annotated[str, Field(pattern="a\n(")],
            "the pattern of str is not valid: unclosed group",
            "correct it",
        ),
        (
            Annotated[str, Field(pattern=r"^(?=.*\d)\w{8}$")],
            r"the pattern '^(?=.*\\d)\\w{8}$', column 2, of str is not valid: look-around, including look-ahead and "
            "look-behind, is not supported",
            "write re.compile(pattern)",
        ),
        (
            Annotated[Cat | Dog, Field(discriminator="type")],
            "Cat has no field 'type', which is the discriminator of Cat | Dog",
            "add type: Literal[...] to it, or name a field that all members have",
        ),
        (
            PlainOnly,
            "pydantic does not know the JSON of a plain validator",
            "__get_pydantic_json_schema__",
        ),
        (sk.Quote(), "invalid target Quote(", "write Annotated[str, structkit.Quote()]"),
        (sk.MaxTokens, "invalid target <class", "write Annotated[str, structkit.MaxTokens(20)]"),
        (
            create_model("Short", text=(Annotated[str, sk.MaxTokens], ...)),
            "Short has the class MaxTokens as an annotation",
            "write Annotated[str, structkit.MaxTokens(20)]",
        ),
        (Marked, "Marked has the class Quote as an annotation", "write Annotated[str, structkit.Quote()]"),
    ],
)
def test_what_is_no_target(target: Any, cause: str, remedy: str) -> None:
    with pytest.raises(sk.SchemaError) as raised:
        sk.extract(RandomModel(), "x", target)
    assert raised.value.cause.startswith(cause)
    assert raised.value.remedy is not None
    assert remedy in raised.value.remedy


def test_the_class_of_an_enum_is_a_type_and_no_list_of_options() -> None:
    with pytest.raises(sk.SchemaError, match=r"pass the Enum as the type$"):
        sk.Choice(enum.Enum("Colour", "RED GREEN"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not bool; write \{\} for any value$"):
        sk.JsonSchema(True)  # type: ignore[arg-type]


def test_several_arguments_are_no_list_of_options() -> None:
    with pytest.raises(sk.SchemaError, match=r"not 3 arguments\n  write Choice\(\['a', 'b', 'c'\]\)"):
        sk.Choice("a", "b", "c")  # type: ignore[arg-type]


def test_a_pattern_of_bytes_and_an_open_class_have_a_remedy() -> None:
    for wrong in (b"a", re.compile(b"a")):
        with pytest.raises(TypeError, match=r"must be a str or a compiled pattern, not .*bytes; write a str"):
            sk.Regex(wrong)  # type: ignore[arg-type]
    assert sk.Regex(re.compile("a b", re.VERBOSE | re.IGNORECASE)) == sk.Regex("(?ix)a b")
    with pytest.raises(sk.PatternError) as caught:
        sk.to_regex(sk.Regex("[a-"))
    assert caught.value.remedy == r"end it with `]`, or write `\[` for the character"
    assert sk.to_regex(sk.Regex(r"\[a-")) == r"\[a-"


@pytest.mark.parametrize(
    ("kind", "constraints", "cause", "remedy"),
    [
        (str, {"pattern": "^abc$", "max_length": 2}, "'^abc$' and has at most 2 characters", "change one"),
        (float, {"ge": math.inf}, "JSON has no number that meets ge=inf", "give a finite bound"),
        (float, {"lt": -math.inf}, "JSON has no number that meets lt=-inf", "give a finite bound"),
        (float, {"ge": math.nan}, "minimum must be finite, not nan", "leave it out"),
        (int, {"json_schema_extra": {"maximun": 3}}, "'maximun' is not a keyword", "write 'maximum'"),
        (str, {"json_schema_extra": {"format": "emial"}}, "the format 'emial'", "write 'email'"),
        (int, {"ge": 5, "le": 3}, "no integer is at least 5 and at most 3", "change one of these bounds"),
    ],
)
def test_what_is_wrong_with_a_field(kind: Any, constraints: Any, cause: str, remedy: str) -> None:
    model = create_model("Model", x=(kind, Field(**constraints)))
    with pytest.raises(sk.SchemaError) as raised:
        sk.to_regex(model)
    assert raised.value.place == "$.x"
    assert cause in raised.value.cause
    assert remedy in (raised.value.remedy or "")


def test_an_infinite_bound_that_every_number_meets_is_none() -> None:
    unbounded, bounded = (
        create_model("Model", x=(float, field)) for field in (..., Field(le=math.inf, gt=-math.inf))
    )
    assert sk.to_regex(bounded) == sk.to_regex(unbounded)


def test_fields_with_one_alias_are_both_named() -> None:
    model = create_model("Model", a=(str, Field(alias="x")), b=(str, Field(alias="x")))
    with pytest.raises(sk.SchemaError, match="the fields a and b have the same name 'x' in JSON") as raised:
        sk.to_regex(model)
    assert raised.value.place == "$.x"
    assert raised.value.remedy == "give each an alias of its own"


def test_a_grammar_without_its_first_rule_names_another() -> None:
    for text, remedy in (
        ('greeting: "hi"', "pass start='greeting', or write start: greeting"),
        ('A: "hi"', "write start: ..."),
        ("", "write start: ..."),
    ):
        for lexer in ("auto", "basic"):
            parser: Any = "earley" if lexer == "auto" else "lalr"
            with pytest.raises(sk.GrammarError, match="has no rule `start`, where texts start") as raised:
                sk.Grammar(text, parser=parser, lexer=cast("Any", lexer))
            assert raised.value.remedy == remedy


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("start: feild\nfield: /a/", "write field"),
        ("start: other", "define it"),
        ("start: NUMBR\nNUMBER: /1/", "write NUMBER"),
    ],
)
def test_an_undefined_rule_names_the_near_one(text: str, remedy: str) -> None:
    with pytest.raises(sk.GrammarError, match="used but not defined") as raised:
        sk.Grammar(text)
    assert raised.value.remedy == remedy


@pytest.mark.parametrize("syntax", ["gbnf", "kbnf"])
def test_a_flag_of_lark_behind_a_text_is_no_rule(syntax: Literal["gbnf", "kbnf"]) -> None:
    start, end = ("root", "") if syntax == "gbnf" else ("start", ";")
    with pytest.raises(sk.GrammarError, match="texts have no flag `i` in this notation") as raised:
        sk.Grammar(f'{start} ::= "select"i{end}', syntax=syntax)
    assert raised.value.remedy == 'write both letters, such as ("a" | "A")'


def test_text_that_is_no_grammar_has_a_remedy() -> None:
    with pytest.raises(sk.GrammarError, match="Unexpected input") as raised:
        sk.Grammar('start: "a')
    assert raised.value.remedy is not None and "close a quotation mark" in raised.value.remedy
    with pytest.raises(sk.GrammarError, match=r"a pattern alone as structkit\.Regex"):
        sk.Grammar("[a-z]+")
    with pytest.raises(sk.GrammarError, match="needs itself") as raised:
        sk.Grammar('start: start "a"')
    assert raised.value.remedy == "add one that does not"


def test_a_grammar_of_another_syntax_and_a_missing_file_have_a_remedy(tmp_path: Path) -> None:
    for text, syntax in (('root ::= "a"', "gbnf"), ("start ::= 'a';", "kbnf")):
        with pytest.raises(sk.GrammarError, match=f"pass syntax='{syntax}'") as raised:
            sk.Grammar(text)
        assert (raised.value.line, raised.value.source) == (1, text)
    with pytest.raises(FileNotFoundError, match="give the path of a grammar, or its text"):
        sk.Grammar(tmp_path / "person.gbnf")


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no repr")


class Incomparable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("no eq")


class UnprintableType(type):
    def __repr__(cls) -> str:
        raise ValueError("no repr")


class OfUnprintableType(metaclass=UnprintableType):
    pass


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Unprintable(), "code of <unprintable Unprintable object> raises ValueError"),
        ([Unprintable()], "invalid target <unprintable list object>"),
        (Incomparable(), "is an object of Incomparable, not a type"),
        (OfUnprintableType, "code of OfUnprintableType raises ValueError"),
        (list[OfUnprintableType], r"code of list\[OfUnprintableType\] raises ValueError"),
        (create_model("M", a=(Any, Field(default=Unprintable()))), "code of M raises ValueError"),
    ],
    ids=["object", "list", "incomparable", "class", "list of a class", "default"],
)
def test_a_target_whose_methods_raise_is_refused(target: object, message: str) -> None:
    with pytest.raises(sk.SchemaError, match=message):
        sk.compile(target, byte_vocabulary())


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        (sk.Regex("a+"), "write Annotated[str, pydantic.Field(pattern="),
        (sk.Grammar('start: "a"'), "write Annotated[str, Grammar(...)]"),
        (sk.Choice(["a"]), "write Literal[...] with its options"),
    ],
)
def test_a_target_is_no_type(target: Any, remedy: str) -> None:
    with pytest.raises(sk.SchemaError, match=re.escape(remedy)):
        sk.to_json_schema(list[target])
    with pytest.raises(sk.SchemaError, match=re.escape(remedy)):
        create_model("Field", field=(target, ...))
