"""The languages of `structkit.grammars`, each against a parser of its own."""

from __future__ import annotations

import ast
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import pytest

import structkit as sk
from structkit import grammars
from structkit.testing import RandomModel
from tests.grammars import oracles
from tests.grammars.labelled import INVALID, VALID
from tests.grammars.walk import VOCABULARY, mutant, random_text
from tests.reading import accepts
from tests.shared import cases

TABLES = {"users": ["id", "name", "order"], "orders": ["id", "user_id", "total"], "odd table": ['x"y', "ß"]}
JOINS = [("orders.user_id", "users.id")]
Unit = Literal["m", "a,b", 'c"d', 3, True]
COLUMNS = {"id": int, "full name": str, "a,b": float | None, "ok": bool, "day": date | None, "unit": Unit}


def nothing_or(read: Callable[[str], object]) -> Callable[[str], object]:
    return lambda cell: cell and read(cell)


READERS: list[Callable[[str], object]] = [
    int,
    str,
    nothing_or(float),
    ["true", "false"].index,
    nothing_or(date.fromisoformat),
    ["m", "a,b", 'c"d', "3", "true"].index,
]


def look() -> str:
    return "out"


def find(words: list[str], limit: int = 3, exact: bool | None = None) -> int:
    return limit


LANGUAGES: dict[str, tuple[Callable[[], sk.Grammar[Any]], oracles.Oracle]] = {
    "arithmetic": (lambda: grammars.arithmetic(names=["x", "xy"]), oracles.arithmetic),
    "numbers": (grammars.arithmetic, oracles.arithmetic),
    "csv": (lambda: grammars.csv(COLUMNS), oracles.csv_of(list(COLUMNS), READERS, "\n")),
    "csv-crlf": (lambda: grammars.csv(COLUMNS, "\r\n"), oracles.csv_of(list(COLUMNS), READERS, "\r\n")),
    "csv-one": (
        lambda: grammars.csv({"a": int | None}),
        oracles.csv_of(["a"], [nothing_or(int)], "\n"),
    ),
    "hcl": (grammars.hcl, oracles.hcl),
    "iso8601": (grammars.iso8601, oracles.iso8601),
    "lark": (grammars.lark_grammar, oracles.lark_grammar),
    "mermaid": (grammars.mermaid_flowchart, oracles.mermaid),
    "python": (grammars.python_expression, oracles.python),
    "python-names": (lambda: grammars.python_expression(names=["item", "items", "f"]), oracles.python),
    "python-block": (lambda: grammars.python_block(look, find), oracles.python_block_of(["look", "find"])),
    "python-fence": (
        lambda: grammars.python_block(find, fence="tool_code"),
        oracles.python_block_of(["find"], "tool_code"),
    ),
    "python-module": (grammars.python_module, oracles.python_module),
    "python-module-names": (lambda: grammars.python_module(names=["item", "f"]), oracles.python_module),
    "regex": (grammars.regular_expression, oracles.regular_expression),
    "smiles": (grammars.smiles, oracles.smiles),
    "sqlite": (lambda: grammars.sqlite_select(TABLES), oracles.sqlite(TABLES)),
    "sqlite-joins": (lambda: grammars.sqlite_select(TABLES, JOINS), oracles.sqlite(TABLES)),
    "toml": (grammars.toml, oracles.toml),
    "diff": (grammars.unified_diff, oracles.unified_diff),
    "diff-paths": (lambda: grammars.unified_diff(["a.py", 'b "c"'], 3), oracles.unified_diff),
}


FEW = {"python-module", "python-module-names"}
"""The languages whose random texts take longest."""


@lru_cache
def grammar(language: str) -> sk.Grammar[Any]:
    return LANGUAGES[language][0]()


@lru_cache
def guide(language: str) -> sk.Guide:
    return sk.compile(grammar(language), VOCABULARY, cache=False)


@pytest.mark.long(every=3)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_oracle_accepts_random_texts(language: str) -> None:
    source = random.Random(zlib.crc32(language.encode()))
    texts = [
        random_text(guide(language), source, budget)
        for budget in (5, 20, 80, 200)
        for _ in range(cases(4 if language in FEW else 12, of=80))
    ]
    for text in texts:
        try:
            LANGUAGES[language][1](text)
        except Exception as error:
            raise AssertionError(f"{error!r} in {text!r}") from error
    assert len(set(texts)) > len(texts) * 0.4


@pytest.mark.parametrize("language", ["arithmetic", "csv", "iso8601", "regex", "python-names", "smiles"])
def test_a_generation_ends_within_its_tokens(language: str) -> None:
    for seed in range(5):
        result = sk.generate(RandomModel(seed=seed), "x", grammar(language), max_tokens=60)
        assert result.usage.generated_tokens <= 60
        LANGUAGES[language][1](result.text)


@pytest.mark.long(every=3)
@pytest.mark.parametrize("language", VALID)
def test_labelled_texts(language: str) -> None:
    valid, invalid = VALID[language], INVALID[language]
    assert [text for text in valid if not accepts(guide(language), text)] == []
    assert [text for text in invalid if accepts(guide(language), text)] == []
    for text in valid:
        LANGUAGES[language][1](text)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("language", VALID)
def test_a_large_budget_forbids_nothing(language: str) -> None:
    free, limited = (np.zeros(VOCABULARY.mask_words, np.uint32) for _ in range(2))
    for text in VALID[language]:
        cursor = guide(language).cursor()
        for byte in text.encode():
            cursor.fill_mask(free)
            cursor.fill_mask(limited, 100_000)
            assert free.tolist() == limited.tolist(), (text, byte)
            cursor.advance(byte)


LIMITED = {"toml": re.compile(r"[0-9A-Fa-f_]{14}|[0-9]{9}|[eE][+-]?[0-9]_?[0-9]_?[0-9]")}
"""The languages that are all that the oracle accepts, but for the length of numbers."""


@pytest.mark.parametrize("language", LIMITED)
def test_the_language_has_the_changed_texts_that_the_oracle_accepts(language: str) -> None:
    source, budgets = random.Random(7), (10, 20, 40, 80) * cases(10, of=400)
    texts = [*VALID[language], *(random_text(guide(language), source, budget) for budget in budgets)]
    found: Counter[bool] = Counter()
    for text in (mutant(source.choice(texts), source) for _ in range(6 * len(texts))):
        if not LIMITED[language].search(text):
            expected = _is_read(LANGUAGES[language][1], text)
            assert accepts(guide(language), text) == expected, repr(text)
            found[expected] += 1
    assert min(found[True], found[False]) > len(texts)


def _is_read(oracle: oracles.Oracle, text: str) -> bool:
    try:
        oracle(text)
    except Exception:
        return False
    return True


def test_the_grammar_of_lark_is_in_its_language() -> None:
    own = files("lark").joinpath("grammars", "lark.lark").read_text(encoding="utf-8")
    assert accepts(guide("lark"), own)
    assert not accepts(guide("lark"), own.replace("?alias: expansion", "?alias expansion"))


def test_the_value_of_a_block_has_the_names_and_the_calls() -> None:
    for seed in range(cases(10, of=100)):
        made = sk.generate(RandomModel(seed=seed), "x", grammar("python-block"), max_tokens=30 + 3 * seed)
        statements = ast.parse(made.text).body
        assert len(statements) == len(made.value)
        for (name, call), statement in zip(made.value, statements, strict=True):
            assert isinstance(statement, ast.Assign | ast.Expr)
            assert isinstance(statement.value, ast.Call)
            assert name == (ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else None)
            written = {each.arg: ast.literal_eval(each.value) for each in statement.value.keywords}
            assert call.name == ast.unparse(statement.value.func)
            assert written.items() <= dict(call.arguments).items()


def test_every_date_of_the_calendar_is_in_the_language() -> None:
    dates = sk.compile(grammars.iso8601("date"), VOCABULARY, cache=False)
    for year in (1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999):
        for month in range(1, 13):
            for day in (1, 28, 29, 30, 31):
                text = f"{year:04}-{month:02}-{day:02}"
                try:
                    date(year, month, day)
                except ValueError:
                    assert not accepts(dates, text), text
                else:
                    assert accepts(dates, text), text


@pytest.mark.long
def test_any_name_can_be_a_table_or_a_column() -> None:
    tables = {name: [name, "select", "a b"] for name in ("group", 'a"b', "1st", "x.y", "", "ß", "rowid")}
    selects = sk.compile(grammars.sqlite_select(tables, []), VOCABULARY, cache=False)
    explain, source = oracles.sqlite(tables), random.Random(1)
    for _ in range(100):
        explain(random_text(selects, source, 60))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: grammars.csv({}), ValueError, "columns is empty"),
        (lambda: grammars.csv({"a": list}), TypeError, "the column 'a'"),
        (lambda: grammars.csv({"a": int | str}), TypeError, "give one type"),
        (lambda: grammars.csv({"a": int}, "\r"), ValueError, "newline"),  # type: ignore[arg-type]
        (lambda: grammars.iso8601("week"), ValueError, "form must be"),  # type: ignore[arg-type]
        (lambda: grammars.python_expression(names=[]), ValueError, "names is empty"),
        (lambda: grammars.python_expression(names=["a b"]), ValueError, "'a b' is not a name"),
        (lambda: grammars.python_module(names=[]), ValueError, "names is empty"),
        (lambda: grammars.python_module(names=["if"]), ValueError, "'if' is not a name"),
        (lambda: grammars.arithmetic(names=["if"]), ValueError, "'if' is not a name"),
        (grammars.python_block, sk.SchemaError, "at least one function"),
        (lambda: grammars.python_block(look, fence="a b"), ValueError, "fence must be one word"),
        (lambda: grammars.python_block(look, look), sk.SchemaError, "two functions are named look"),
        (lambda: grammars.smiles(0), ValueError, "max_open_rings"),
        (lambda: grammars.sqlite_select({}), ValueError, "at least one table"),
        (lambda: grammars.sqlite_select({"a": []}), ValueError, "at least one column"),
        (lambda: grammars.sqlite_select({"a": ["b"]}, [("a.b", "c.d")]), ValueError, "unknown column 'c.d'"),
        (lambda: grammars.unified_diff([]), ValueError, "at least one path"),
        (lambda: grammars.unified_diff(max_lines=9), ValueError, "max_lines"),
    ],
)
def test_invalid_arguments(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
