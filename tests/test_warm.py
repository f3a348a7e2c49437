"""Guides from the disk cache, as in a new process, compared with compiled guides."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from lark.indenter import Indenter

from structkit.automaton.construct import compile_rule
from structkit.automaton.distance import trim
from structkit.compile import compile
from structkit.errors import LimitExceeded, SchemaError, StructkitError, VocabularyError
from structkit.guide.guide import Cursor, Guide
from structkit.index import stored_rows
from structkit.index.disk import store
from structkit.index.disk.background import WRITER
from structkit.index.distance import token_distance
from structkit.index.rows import row, row_files
from structkit.limits import Limits
from structkit.targets.fingerprint import fingerprint_of
from structkit.targets.grammar import Grammar
from structkit.targets.specs import Choice, JsonSchema, Regex
from structkit.targets.targets import AnyTarget, read_target
from tests.languages import vocabulary
from tests.schema.values import schemas
from tests.shared import ALL, SHARED

V = vocabulary(b'{"', b'": ', b", ", b'": "', b"true", b'"a"', b"12", b'{"a": ')
LIMITS = Limits(schema_nodes=20_000, nfa_states=60_000)
TREE: dict[str, object] = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "v": {"type": "string"},
                "sub": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["v"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/tree",
}
CONDITIONS: dict[str, object] = {
    "type": "object",
    "dependentRequired": {f"k{number}": [f"k{number + 1}", f"j{number}"] for number in range(20)},
    "patternProperties": {"^k": {"type": "integer"}},
    "propertyNames": {"pattern": "^[jk]"},
}
"""An object whose rules are made as texts need them."""

STATEMENTS = r"""
start: statement (";" statement)*
statement: "if" test "then" statement ["else" statement] | NAME "=" test | "do" start "end"
test: test "or" test | test "and" test | "not" test | NAME | NUMBER | "(" test ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""
"""A grammar of which Lark's parser decides the conflicts."""

BLOCKS = r"""
start: (_NL | line)*
line: "b" ":" block | item _NL
block: _NL _INDENT line+ _DEDENT | item _NL
item: "a" | "(" [item] ")" | item "." NAME
NAME: /[x-z]+/
_NL: /(\r?\n[\t ]*|#[^\n]*)+/
%ignore /[ \t]+/
%declare _INDENT _DEDENT
"""
"""A grammar with a rule for each indentation."""


SQL = SHARED / "data/grammars/sql/grammar.lark"


class _Lines(Indenter):
    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types: list[str] = ["LPAR"]  # noqa: RUF012
    CLOSE_PAREN_types: list[str] = ["RPAR"]  # noqa: RUF012
    tab_len = 8


def _statements() -> Grammar[str]:
    return Grammar(STATEMENTS, parser="lalr")


def _blocks() -> Grammar[str]:
    return Grammar(BLOCKS, parser="lalr", postlex=_Lines())


def _sql() -> Grammar[str]:
    return Grammar(SQL, parser="lalr")


TARGETS: list[AnyTarget] = [
    TREE,
    _statements(),
    _blocks(),
    {"type": "array", "items": {"enum": ["a", "b", "ab", 1]}, "uniqueItems": True, "minItems": 3},
    {"type": "array", "items": {"type": "string", "maxLength": 200}, "minItems": 4},
    {"type": "string", "minLength": 70, "maxLength": 5000},
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"pattern": "^[ab]+$"}},
        "minProperties": 2,
    },
    {},
    Regex(r"[ab]{3}(é|0)*"),
    Choice(["yes", "no", "ab"]),
    Choice([1, "a", [2]]),
    JsonSchema({"$ref": "urn:x"}, resources={"urn:x": {"type": "integer"}}),
    JsonSchema({"type": "object", "required": ["a"]}, additional="closed", strict=False),
    dict[str, int],
    list[bool] | None,  # type: ignore[list-item]
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(row_files, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(stored_rows, "MIN_WORDS", 0)
    _clear_caches()
    return tmp_path


def _clear_caches() -> None:
    """Clear the caches in memory, as in a new process."""
    for cache in (
        store._cache,
        row_files.row_files,
        row.shared_rows,
        row.shared_counted_rows,
    ):
        cache.cache_clear()
    compile_rule._built.clear()
    compile_rule._regular.clear()
    trim._measured.clear()
    token_distance._measured.clear()


def _compiled(target: AnyTarget, *, cache: bool, order: str = "declared") -> Guide:
    return compile(target, V, cache=cache, order=order, limits=LIMITS)  # type: ignore[arg-type]


def _save(target: AnyTarget) -> None:
    """Save the guide of a target, and continue as in a new process."""
    _compiled(target, cache=True).save()
    _clear_caches()


def _is_warm(guide: Guide) -> bool:
    """Return whether a guide was read from a file."""
    return guide.index.saver is not None and guide.index.saver.is_stored


def _answers(cursor: Cursor, budget: int | None) -> object:
    out = np.empty(V.mask_words, np.uint32)
    cursor.fill_mask(out)
    every = out.tobytes()
    cursor.fill_mask(out, budget)
    return every, out.tobytes(), cursor.is_accepting, cursor.is_finished, cursor.forced_bytes()


def _read(cursor: Cursor, text: bytes) -> None:
    for byte in text:
        cursor.advance(byte)


def _walk(one: Cursor, other: Cursor, steps: int, chance: random.Random, *, budgets: bool = False) -> None:
    """Advance two cursors by the same tokens and compare their answers."""
    for step in range(steps):
        budget = chance.choice([None, 1, 4, 30, 300]) if budgets else None
        assert _answers(one, budget) == _answers(other, budget), one.token_ids
        if budgets and step % 5 == 0:
            assert one.fits(40) == other.fits(40)
        out = np.empty(V.mask_words, np.uint32)
        one.fill_mask(out)
        allowed = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")).tolist()
        texts = [token for token in allowed if token not in V.eos_token_ids]
        if not texts:
            return
        # Structure is rarer among the tokens than text, and leads to more rules.
        rare = [token for token in texts if (V.tokens[token] or b"x")[:1] in b'{}[]",:0123']
        token = chance.choice(rare if rare and chance.random() < 0.8 else texts)
        one.advance(token)
        other.advance(token)


def _compare(target: AnyTarget, seed: int, order: str = "declared", *, budgets: bool = False) -> None:
    chance = random.Random(seed)
    cold = _compiled(target, cache=False, order=order)
    first = _compiled(target, cache=True, order=order)
    if chance.random() < 0.5:
        _walk(first.cursor(), cold.cursor(), chance.randrange(20), chance)
    first.save()
    for _ in range(2):
        _clear_caches()
        warm = _compiled(target, cache=True, order=order)
        assert _is_warm(warm) == (fingerprint_of(target) is not None)
        cold = _compiled(target, cache=False, order=order)
        for _ in range(2):
            _walk(warm.cursor(), cold.cursor(), 20, chance, budgets=budgets)
        assert warm.cursor().min_tokens_to_end() == cold.cursor().min_tokens_to_end()
        warm.save()


@pytest.mark.long(every=3)
@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_cached_guide_gives_the_same_answers(target: AnyTarget, order: str) -> None:
    _compare(target, len(str(target)), order, budgets=True)


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.integers(0, 1000), st.sampled_from(["declared", "any"]))
def test_cached_guides_of_random_schemas_give_the_same_answers(
    schema: object, other: object, seed: int, order: str
) -> None:
    if not isinstance(schema, dict):
        reject()
    try:
        _compare({**schema, "$defs": {"x": other}}, seed, order)
    except (SchemaError, LimitExceeded, VocabularyError):
        reject()


def test_a_guide_with_a_rule_that_was_built_before_the_rule_that_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structkit.automaton.link._MAX_POSTPONED", 500)
    large = {"type": "string", "pattern": "^(a|b)*a(a|b){6}$"}
    target = {"type": "array", "prefixItems": [{"type": "integer"}], "items": large, "maxItems": 100}
    _save(target)
    warm = _compiled(target, cache=True)
    assert _is_warm(warm)
    _walk(warm.cursor(), _compiled(target, cache=False).cursor(), 30, random.Random(0))


def test_rules_without_end_are_stored(folder: Path) -> None:
    guide = _compiled(CONDITIONS, cache=True)
    assert guide.automaton.is_unbounded
    _read(guide.cursor(), b'{"k3": 1')
    guide.save()
    _clear_caches()
    warm = _compiled(CONDITIONS, cache=True)
    assert _is_warm(warm) and warm.automaton.is_unbounded
    assert warm.automaton.built == guide.automaton.built
    _compare(CONDITIONS, 0, budgets=True)


@pytest.mark.parametrize("target", [TREE, _blocks()], ids=["tree", "blocks"])
def test_a_row_of_a_file_is_not_computed_again(target: AnyTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = _compiled(target, cache=True)
    cold = _compiled(target, cache=False)
    for seed in range(6):
        _walk(guide.cursor(), cold.cursor(), 20, random.Random(seed))
    guide.save()
    assert len(guide.index.rows)
    _clear_caches()
    warm = _compiled(target, cache=True)
    monkeypatch.setattr(warm.index._walker, "row", _no_walk)
    for seed in range(6):
        _walk(warm.cursor(), cold.cursor(), 20, random.Random(seed))


def _no_walk(*_: object, **__: object) -> None:
    pytest.fail("a row is computed")


def test_a_python_type_has_no_file_but_its_free_text_has(folder: Path) -> None:
    """No text determines the validators of a type, while a rule determines its rows."""
    guide = _compiled(dict[str, str], cache=True)
    _walk(guide.cursor(), _compiled(dict[str, str], cache=False).cursor(), 20, random.Random(0))
    guide.save()
    assert list(folder.glob("*.cache"))
    _clear_caches()
    again = _compiled(dict[str, str], cache=True)
    assert not _is_warm(again)
    _walk(again.cursor(), _compiled(dict[str, str], cache=False).cursor(), 20, random.Random(0))
    assert again.index.saver is not None and not again.index.saver.has_new_parts


def test_a_cached_guide_is_not_parsed_or_built(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = _compiled(TREE, cache=True)
    text = b'{"v": "a", "sub": [{"v": "b"}]}'
    cursor = guide.cursor()
    for byte in text:
        cursor.fill_mask(np.empty(V.mask_words, np.uint32))
        cursor.advance(byte)
    guide.save()
    _clear_caches()
    for name in ("read_target", "start_building", "LazyBuilder"):
        monkeypatch.setattr(sys.modules["structkit.compile"], name, None)
    cached = _compiled(TREE, cache=True).cursor()
    for byte in text:
        cached.fill_mask(np.empty(V.mask_words, np.uint32))
        cached.advance(byte)
    assert cached.is_accepting


def test_a_rule_missing_from_the_cache_is_built_and_saved() -> None:
    _save(TREE)
    guide = _compiled(TREE, cache=True)
    before = len(guide.automaton.built)
    cursor = guide.cursor()
    for byte in b'{"v": "a", "sub": [{"v"':
        cursor.advance(byte)
    assert len(guide.automaton.built) > before
    guide.save()
    _clear_caches()
    assert len(_compiled(TREE, cache=True).automaton.built) == len(guide.automaton.built)


def test_changing_a_schema_after_compilation_has_no_effect() -> None:
    _save(TREE)
    schema = json.loads(json.dumps(TREE))
    guide = _compiled(schema, cache=True)
    schema["$defs"]["tree"]["properties"]["sub"] = {"type": "null"}
    cursor = guide.cursor()
    for byte in b'{"v": "a", "sub": [{"v": ""}]}':
        cursor.advance(byte)
    assert cursor.is_accepting


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"enum": ["1"]}, {"enum": [1]}),
        ({"const": 1}, {"const": True}),
        ({"required": ["a"]}, {"required": ("a",)}),
        ({"properties": {"1": {"type": "null"}}}, {"properties": {1: {"type": "null"}}}),
        ({"type": "integer"}, JsonSchema({"type": "integer"}, strict=False)),
        ({"properties": {"a": True, "b": True}}, {"properties": {"b": True, "a": True}}),
        (Choice(["1"]), Choice([1])),
        (Regex("a"), Choice(["a"])),
    ],
    ids=str,
)
def test_similar_targets_are_distinguished(one: AnyTarget, other: AnyTarget) -> None:
    _save(one)
    for target in (other, one):
        try:
            cold = _compiled(target, cache=False)
        except StructkitError as error:
            with pytest.raises(type(error)):
                _compiled(target, cache=True)
        else:
            _walk(_compiled(target, cache=True).cursor(), cold.cursor(), 8, random.Random(0))


def test_limits_apply_despite_a_cached_guide_with_other_limits() -> None:
    schema = {"type": "string", "pattern": "^(a|b)*a(a|b){9}$"}
    compile(schema, V).save()
    with pytest.raises(LimitExceeded):
        compile(schema, V, limits=Limits(states=100))


def test_options_are_part_of_the_address(folder: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    for options in ({}, {"whitespace": "compact"}, {"order": "any"}, {"limits": LIMITS}):
        compile(schema, V, **options).save()  # type: ignore[call-overload]
    compile(schema, vocabulary(b"abc")).save()
    assert len(list(folder.glob("*.cache"))) == 5
    assert compile(schema, V, whitespace="compact").cursor().guide.reader.accepts(b'{"a":null}')


def test_nothing_is_written_without_the_cache(folder: Path) -> None:
    guide = compile(TREE, V, cache=False)
    guide.precompute(100)
    guide.save()
    WRITER.flush()
    assert list(folder.iterdir()) == []


def test_a_parsed_target_has_the_same_address(folder: Path) -> None:
    for target in (TREE, JsonSchema(TREE), read_target(TREE)):
        compile(target, V).save()
    assert len(list(folder.glob("*.cache"))) == 1


@pytest.mark.long
def test_another_process_loads_the_guide_and_builds_the_same_rules(folder: Path) -> None:
    code = (
        "import json, sys, numpy as np, structkit as sk\n"
        "from tests.test_warm import TREE, V, LIMITS\n"
        "guide = sk.compile(TREE, V, limits=LIMITS)\n"
        "print(guide.index.saver.is_stored)\n"
        "cursor = guide.cursor()\n"
        'for byte in b\'{"v": "a", "sub": [{"v": ""}]}\': cursor.advance(byte)\n'
        "print(cursor.is_accepting)\n"
    )
    _save(TREE)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["True", "True"]


@pytest.mark.long
def test_the_rules_of_a_grammar_have_equal_numbers_in_each_process() -> None:
    """The order of sets of texts differs between processes, and so does that of Lark's tables."""
    names = ["blocks", "statements", *(["sql"] if ALL and SQL.exists() else [])]
    code = (
        "from structkit.automaton.link import start_building\n"
        "from tests import test_warm\n"
        f"for name in {names}:\n"
        "    target = test_warm.read_target(vars(test_warm)[f'_{name}']())\n"
        "    builder = start_building(target.rules(limits=test_warm.LIMITS), test_warm.LIMITS)\n"
        "    rule = 0\n"
        "    while rule < min(40, len(builder.keys)):\n"
        "        builder.build(rule)\n"
        "        rule += 1\n"
        "    print(name, len(builder.built), builder.fingerprint)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1, outputs
    assert outputs.pop().count("\n") == len(names)


def test_a_file_whose_rules_are_not_those_of_the_process_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states that a sequence is in have other meanings then."""
    _save(TREE)
    warm = _compiled(TREE, cache=True)
    assert _is_warm(warm)
    other = {**TREE, "$ref": "#/$defs/other", "$defs": {**TREE["$defs"], "other": {"type": "array"}}}  # type: ignore[dict-item]
    monkeypatch.setattr(
        "structkit.targets.fingerprint.TargetFingerprint.deserialize", lambda *_: JsonSchema(other)
    )
    cursor = warm.cursor()
    with pytest.raises(StructkitError, match="compile the target again"):
        _read(cursor, b'{"v": "a", "sub": [{"v"')
    assert warm.needs_recompiling
    assert not list(folder.glob("*.cache"))
