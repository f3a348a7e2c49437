"""The readers of untrusted input, with the checks of what they answer."""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any
from unittest.mock import patch

import lark
import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError as InvalidSchema
from pydantic import BaseModel, Field

import structkit as sk
from structkit.errors import StructkitError
from structkit.index.disk import store
from structkit.targets.targets import AnyTarget
from structkit.testing import ScriptedModel, small_vocabulary
from tests.fuzz.engine import Subject
from tests.fuzz.mutate import Json, mutate_bytes, mutate_json, mutate_text
from tests.fuzz.walk import vocabularies, walk

__all__ = ["SUBJECTS"]

LIMITS = sk.Limits(
    schema_nodes=20_000, nfa_states=60_000, states=20_000, product_states=20_000, transitions=5_200_000
)
"""Small, so that an input takes little time; what lies beyond is refused earlier."""

WORDS = small_vocabulary()

_LONG = 60
"""Bytes above which a text is not given to an oracle that backtracks."""


def compiled(target: AnyTarget, vocabulary: sk.Vocabulary = WORDS, **style: Any) -> sk.Guide:
    return sk.compile(target, vocabulary, cache=False, limits=LIMITS, **style)


# Schemas, and any target with any vocabulary.

_SCHEMAS: list[Json] = [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": -3}}, "required": ["a"]},
    {"type": "array", "items": {"enum": [1, "a", None, [2]]}, "uniqueItems": True, "minItems": 2, "maxItems": 3},
    {"anyOf": [{"type": "string", "pattern": "^a+b?$", "maxLength": 5}, {"const": {"k": [1.5, "x"]}}]},
    {"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "null"}}, "maxProperties": 2},
    {"if": {"properties": {"t": {"const": 1}}}, "then": {"required": ["u"]}, "else": {"type": "object"}},
    {"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": False, "minProperties": 1},
    {"type": ["number", "null"], "multipleOf": 3, "exclusiveMinimum": -7, "maximum": 100},
    {"allOf": [{"type": "string", "minLength": 1}, {"pattern": "b$"}], "not": {"const": "ab"}},
    {"prefixItems": [True, {"type": "boolean"}], "items": False, "contains": {"const": True}, "minContains": 1},
    {"dependentRequired": {"a": ["b"]}, "propertyNames": {"maxLength": 2}, "unevaluatedProperties": False},
    {"type": "string", "format": "date-time"},
]  # fmt: skip

_UNLIKE = re.compile(r'\\\\|\$schema|\$id|\$anchor|\$dynamic|"format"|\(\?|contentSchema')
"""Schemas where jsonschema means something else: classes and modes of `re`, other drafts and bases, and formats."""


def _read_schema(chance: Random, schema: Json) -> None:
    if not isinstance(schema, dict):
        schema = {"allOf": [schema]}
    guide = compiled(schema, order=chance.choice(("declared", "any")))
    text = walk(guide, chance)
    value = json.loads(text.decode())
    if _UNLIKE.search(json.dumps(schema)):
        return
    with suppress(
        InvalidSchema, RecursionError
    ):  # jsonschema follows a reference to the schema itself without end
        Draft202012Validator.check_schema(schema)
        error = next(iter(Draft202012Validator(schema).iter_errors(value)), None)
        if error is None or (error.validator == "multipleOf" and isinstance(error.instance, float)):
            return
        raise AssertionError(f"jsonschema refuses {text!r}: {error.message[:300]}")


def _write_schema(chance: Random, schema: Json) -> None:
    """A random text over a random vocabulary is a text over the bytes."""
    if not isinstance(schema, dict):
        schema = {"type": "array", "prefixItems": [schema]}
    order = chance.choice(("declared", "any"))
    whitespace = chance.choice(("spaced", "compact"))
    text = walk(compiled(schema, vocabularies(chance), order=order, whitespace=whitespace), chance)
    plain = compiled(schema, sk.testing.byte_vocabulary(), order=order, whitespace=whitespace).cursor()
    for byte in text:
        plain.advance(byte)
    assert plain.is_accepting, text


# Patterns and grammars.

_PATTERNS = [
    *(r"[a-z]{2,5}(-\d+)?", r"(?:a|b)*?c+", r"\bword\b|\w+", r"(?i)straße", r"(?x) a b # c", r"[^\W_]+"),
    *(
        r"(?=a)[ab]{3}(?<=b)",
        r"\d{4}-(0[1-9]|1[0-2])",
        r"(a{2,3}){4}",
        r"^\s*$",
        r"[\x00-\x7f]?.",
        r"(?s:.)(?!b)a?",
    ),
    *(r"(?P<n>x)|y", r"\A\u00e9\Z", r"a|", r"[]\-^]"),
]


def _read_pattern(chance: Random, pattern: str) -> None:
    text = walk(compiled(sk.Regex(pattern)), chance, 12).decode()
    if len(text) <= _LONG:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                matches = re.compile(pattern).fullmatch(text)
            except re.error:
                return  # the syntax of structkit has more, such as `\\p{L}`
            assert matches, f"`re` refuses {text!r}"


_LARKS = [
    'start: e\ne: e "+" e | "(" e ")" | /[0-9]+/\n%ignore " "',
    'start: (A | B)+ "."?\nA: "a".."c"\nB: /x{1,3}/i',
    'start: item ("," item)*\nitem: NAME "=" [value]\nvalue: ESCAPED_STRING | NUMBER\n'
    "NAME: /[a-z]+/\n%import common.ESCAPED_STRING\n%import common.NUMBER",
    'start: p{"x"} ~ 1..3\np{t}: t -> one | t t\n',
    '?start: a | b\n!a: "if" b\nb: /(?!if)[a-z]+/ | a?\n%ignore /\\s+/',
]


def _read_lark(chance: Random, text: str) -> None:
    written = walk(compiled(sk.Grammar(text, limits=LIMITS)), chance, 12).decode()
    if len(written) <= _LONG:
        lark.Lark(text).parse(written)


_GBNFS = [
    'root ::= "a" [b-d]{2,3} | (x y)* \nx ::= "x"?\ny ::= [^\\n"] .',
    'root ::= object\nobject ::= "{" ws (pair ("," ws pair)*)? "}"\npair ::= str ":" ws str\n'
    'str ::= "\\"" [^"\\\\]* "\\""\nws ::= [ \\t]*',
]
_KBNFS = [
    'start ::= "a" #"[b-d]+" | x x;\nx ::= "x" | [start];',
    'start ::= "a" #"[b-d]+" x?;\nx ::= "x" | "y" {z};\nz ::= "0" | (z "1");',
]


def _read_notation(syntax: Any) -> Callable[[Random, str], None]:
    def read(chance: Random, text: str) -> None:
        grammar = sk.Grammar(text, syntax=syntax, limits=LIMITS)
        written = walk(compiled(grammar), chance, 12)
        plain = compiled(grammar, sk.testing.byte_vocabulary()).cursor()
        for byte in written:
            plain.advance(byte)
        assert plain.is_accepting, written

    return read


# Tokenizers.


def _tokenizer_files() -> list[Json]:
    with suppress(ImportError):
        import tokenizers

        alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        added = [
            {"id": 300, "content": "<|end|>", "special": True},
            {"id": 301, "content": "<b>", "special": False},
        ]
        for each in added:
            each |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        empty: dict[str, Json] = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor"))
        level: Json = {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        }
        bytes_ = {character: number for number, character in enumerate(alphabet)}
        fallback = {f"<0x{byte:02X}>": byte for byte in range(256)}
        model = {"type": "BPE", "vocab": bytes_ | {"Ġt": 256, "he": 257}, "merges": [["Ġ", "t"], ["h", "e"]]}
        other = {"type": "BPE", "byte_fallback": True, "vocab": fallback | {"▁": 256, "a": 257, "▁a": 258}}
        steps: list[Json] = [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]
        prepend: Json = {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        }
        version = {"version": "1.0", "added_tokens": added, **empty}
        return [  # type: ignore[list-item]
            {**version, "pre_tokenizer": level, "decoder": level, "model": {**model}},
            {
                **version,
                "normalizer": prepend,
                "pre_tokenizer": None,
                "decoder": {"type": "Sequence", "decoders": steps},
                "model": {**other, "merges": [["▁", "a"]]},
            },
        ]
    return []


def _read_tokenizer(chance: Random, content: Json) -> None:
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(content))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return  # not a tokenizer
    vocabulary = sk.Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[max(400, tokenizer.get_vocab_size())])
    text = walk(compiled({"type": "array", "items": {"type": "string"}}, vocabulary), chance, 12)
    json.loads(text)


# Cache files.

_FORM: store.ArrayLayout = {"a": ("int32", 2), "b": ("uint8", 1), "c": ("bool", 1)}
_ADDRESS = store.Addresses("fuzz").of(b"")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _in_folder() -> ExitStack:
    stack = ExitStack()
    stack.enter_context(patch.dict(os.environ, STRUCTKIT_CACHE_DIR=_folder().name))
    store._cache.cache_clear()
    stack.callback(store._cache.cache_clear)
    return stack


def _cache_file(number: int) -> bytes:
    arrays = {
        "a": np.arange(number, dtype=np.int32).reshape(-1, 2),
        "b": np.arange(number % 7, dtype=np.uint8),
        "c": np.zeros(3, bool),
    }
    with _in_folder():
        store.save(_ADDRESS, _FORM, arrays, 1 << 30)
        return Path(_folder().name, f"{_ADDRESS}.cache").read_bytes()


def _read_cache(chance: Random, content: bytes) -> None:
    with _in_folder():
        Path(_folder().name, f"{_ADDRESS}.cache").write_bytes(content)
        arrays = store.load(_ADDRESS, _FORM)
    if content in _files():
        assert arrays is not None
    else:
        assert arrays is None, "a damaged file is read"


@cache
def _files() -> tuple[bytes, ...]:
    return tuple(map(_cache_file, (0, 4, 40)))


# Replies of models, and stored runs.


class Person(BaseModel):
    name: Annotated[str, Field(max_length=8)]
    ages: Annotated[list[Annotated[int, Field(ge=0, le=150)]], Field(max_length=3)] = []


_REPLIES = [
    '{"name": "Ana", "ages": [1, 34]}',
    'Here it is:\n```json\n{"name": "Ana", "ages": []}\n```',
    '{"name": "pay", "arguments": {"euros": 3}}',
    '[{"name": "pay", "arguments": {"euros": 3}}, {"name": "look", "arguments": {}}]',
    "<think>no</think>yes",
    '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
]


def _read_reply(chance: Random, text: str) -> None:
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    model = sk.from_function(lambda prompt: iter(pieces), max_calls=3, continues=chance.random() < 0.5)
    with suppress(StructkitError):
        assert isinstance(sk.extract(model, "Who?", Person), Person)
    paid: list[object] = []

    def pay(euros: Annotated[int, Field(ge=0, le=9)]) -> str:
        paid.append(euros)
        return text

    def look() -> str:
        return text

    agent = sk.Agent(model, [pay, look], max_steps=3, max_parallel_calls=2)
    try:
        assert isinstance(agent.run("Pay.").value, str)
    finally:
        assert all(type(each) is int and 0 <= each <= 9 for each in paid), paid
        assert len(paid) <= 6


def _agent(paid: list[object], model: ScriptedModel) -> sk.Agent[str]:
    def pay(euros: Annotated[int, Field(ge=0, le=9)]) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    return sk.Agent(model, [sk.tool(pay, requires_approval=True)], max_steps=4, retries=0)


@cache
def _state() -> str:
    model = ScriptedModel(['{"name": "pay", "arguments": {"euros": 3}}'])
    try:
        _agent([], model).run("Pay 3.")
    except sk.RunSuspended as suspended:
        return suspended.state.dumps()
    raise AssertionError("the run is not suspended")


def _read_state(chance: Random, content: Json) -> None:
    state = sk.RunState.loads(json.dumps(content))
    paid: list[object] = []
    try:
        _agent(paid, ScriptedModel(["Done."] * 3, strict=False)).resume(state, approvals=True)
    finally:
        assert all(type(each) is int and 0 <= each <= 9 for each in paid) and len(paid) <= 1, paid


SUBJECTS: tuple[Subject[Any], ...] = (
    Subject("schemas", _SCHEMAS, mutate_json, _read_schema),
    Subject("vocabularies", _SCHEMAS, mutate_json, _write_schema),
    Subject("patterns", _PATTERNS, mutate_text, _read_pattern),
    Subject("Lark grammars", _LARKS, mutate_text, _read_lark),
    Subject("GBNF grammars", _GBNFS, mutate_text, _read_notation("gbnf")),
    Subject("KBNF grammars", _KBNFS, mutate_text, _read_notation("kbnf")),
    Subject("tokenizers", _tokenizer_files(), mutate_json, _read_tokenizer),
    Subject("cache files", _files(), mutate_bytes, _read_cache),
    Subject("replies", _REPLIES, mutate_text, _read_reply),
    Subject("stored runs", [json.loads(_state())], mutate_json, _read_state),
)
