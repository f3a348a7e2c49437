"""The languages of `structkit.grammars`, each against a parser of its own."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Literal

import pytest

import structkit as sk
from structkit import grammars
from structkit.testing import RandomModel
from tests.grammars import oracles
from tests.grammars.walk import VOCABULARY, accepts, random_text
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

LANGUAGES: dict[str, tuple[Callable[[], sk.Grammar[str]], oracles.Oracle]] = {
    "arithmetic": (lambda: grammars.arithmetic(names=["x", "xy"]), oracles.arithmetic),
    "numbers": (grammars.arithmetic, oracles.arithmetic),
    "csv": (lambda: grammars.csv(COLUMNS), oracles.csv_of(list(COLUMNS), READERS, "\n")),
    "csv-crlf": (lambda: grammars.csv(COLUMNS, "\r\n"), oracles.csv_of(list(COLUMNS), READERS, "\r\n")),
    "csv-one": (
        lambda: grammars.csv({"a": int | None}),
        oracles.csv_of(["a"], [nothing_or(int)], "\n"),
    ),
    "iso8601": (grammars.iso8601, oracles.iso8601),
    "mermaid": (grammars.mermaid_flowchart, oracles.mermaid),
    "python": (grammars.python_expression, oracles.python),
    "python-names": (lambda: grammars.python_expression(names=["item", "items", "f"]), oracles.python),
    "python-module": (grammars.python_module, oracles.python_module),
    "python-module-names": (lambda: grammars.python_module(names=["item", "f"]), oracles.python_module),
    "regex": (grammars.regular_expression, oracles.regular_expression),
    "smiles": (grammars.smiles, oracles.smiles),
    "sqlite": (lambda: grammars.sqlite_select(TABLES), oracles.sqlite(TABLES)),
    "sqlite-joins": (lambda: grammars.sqlite_select(TABLES, JOINS), oracles.sqlite(TABLES)),
    "diff": (grammars.unified_diff, oracles.unified_diff),
    "diff-paths": (lambda: grammars.unified_diff(["a.py", 'b "c"'], 3), oracles.unified_diff),
}


FEW = {"python-module", "python-module-names"}
"""The languages whose random texts take longest."""


@lru_cache
def grammar(language: str) -> sk.Grammar[str]:
    return LANGUAGES[language][0]()


@lru_cache
def guide(language: str) -> sk.Guide:
    return sk.compile(grammar(language), VOCABULARY, cache=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_oracle_accepts_random_texts(language: str) -> None:
    source = random.Random(zlib.crc32(language.encode()))
    texts = [
        random_text(guide(language), source, budget)
        for budget in (5, 20, 80, 200)
        for _ in range(cases(15 if language in FEW else 60, of=80))
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


CSV_HEADER = 'id,full name,"a,b",ok,day,unit\n'

VALID = {
    "arithmetic": ["1", "x", "-x ** 2", "1.5e-3 * (x - xy) / 4", "--1", "2 ** -3"],
    "numbers": ["0", "(((1)))"],
    "csv": [
        CSV_HEADER,
        f"{CSV_HEADER}1,Ada,,true,,m\n",
        f'{CSV_HEADER}-2,"Ada ""L"", C",1.5e3,false,2024-02-29,"a,b"\n0,,0,true,,"c""d"\n',
        f'{CSV_HEADER}1,"two\nlines",,true,,3\n',
    ],
    "csv-one": ["a\n", 'a\n""\n1\n'],
    "iso8601": [
        "2024-02-29",
        "2000-02-29",
        "0004-02-29",
        "9999-12-31",
        "23:59:59",
        "00:00:00.123",
        "12:00:00Z",
        "2026-11-24T23:37:59.000001-00:30",
        "P1Y2M3DT4H5M6.7S",
        "PT0S",
        "P3W",
        "P1D",
        "PT5M",
    ],
    "mermaid": [
        "flowchart TD\n    A --> B\n",
        'flowchart LR\n    A["Start (now)"] -->|"yes"| B{"End?"} -.-> ending\n',
        'flowchart RL\n    subgraph one["One"]\n    a --- b\n    end\n    b ==> c\n',
    ],
    "python": [
        "x",
        "not x",
        "a if b else c",
        "f(x, *y, key=1, **z)",
        "[i for i in range(10) if i % 2 == 0]",
        "lambda x: x + 1",
        'names["a"][1:2]',
        '"a\\"b".join(x for x in y)',
        "{}",
        '{"a": 1, **b}',
        "(1,)",
        "(1, 2)",
        "-x**-2",
        "a is not None",
        "iffy or none",
        "{k: v for k, v in d}",
        "x[::2]",
        "a < b <= c",
        "_in",
        "(lambda: 0)()",
    ],
    "python-names": ["items", "f(item)", "[item.f for item in items]"],
    "python-module": [
        "",
        "x = 1\n",
        "x: int = 1; y = x\n",
        "def area(side: float = 1.5) -> float:\n    if side < 0:\n        raise ValueError(side)\n    return side ** 2\n",
        "if a: pass\nelif b: x += 1\nelse:\n  y = [i for i in z if i]\n",
        "try:\n    x\nexcept ValueError as error:\n    raise TypeError from error\nfinally:\n    y\n\n\nz\n",
        "@cached\nclass A(B, key=1):\n    a.b[1:] = c = 1, 2\n",
        "f(\n  a,\n      key={1: 2}\n)\n",
        "while not x is None:\n  while True:\n     break\n  continue\n",
        "from a.b import c as d, e\nimport f\nglobal g\ndel h.i\nassert j, 'k'\n",
        "iffy = orx\nnotx\n",
        "lambda a, b: a if b else -a\n",
        "with open('x') as file:\n\n    pass\n",
    ],
    "python-module-names": ["f(item)\n", "for item in f: pass\n"],
    "regex": [
        r"",
        r"a|b",
        r"^[a-z_]\w*$",
        r"(?:\d{1,3}\.){3}\d{1,3}",
        r"(?=x)*?",
        r"[^\]a-f\-]",
        "é+",
        "(?<=ab)c",
        "a{2,10}",
    ],
    "smiles": [
        "C",
        "CCO",
        "c1ccccc1",
        "CC(=O)Oc1ccccc1C(=O)O",
        "c1ccc2ccccc2c1",
        "[NH4+].[Cl-]",
        "N[C@@H](C)C(=O)O",
        "C1CC1C1CC1",
        "[13CH4]",
        "F/C=C/F",
    ],
    "sqlite": [
        "SELECT * FROM users",
        "SELECT DISTINCT name, \"order\" FROM users WHERE id = 3 AND name LIKE 'a%' ORDER BY name DESC LIMIT 5",
        "SELECT COUNT(*) FROM orders",
        "SELECT user_id, SUM(total) FROM orders GROUP BY user_id HAVING COUNT(*) > 2 ORDER BY SUM(total) DESC",
        "SELECT users.name, orders.total FROM users JOIN orders ON users.id = orders.user_id WHERE orders.total > 10.5",
        'SELECT "x""y" FROM "odd table" WHERE "ß" IS NOT NULL',
        "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders WHERE total > 100) OR NOT id IN (1, 2)",
        "SELECT CASE WHEN id > 3 THEN 'it''s' ELSE UPPER(name) END FROM users",
    ],
    "sqlite-joins": [
        "SELECT * FROM users LEFT JOIN orders ON users.id = orders.user_id",
        "SELECT orders.total FROM orders JOIN users ON orders.user_id = users.id",
    ],
    "diff": [
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n \n",
        "--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n--- a/d/y\n+++ b/d/y\n@@ -5,1 +5,1 @@\n-a\n+b\n"
        "@@ -9,1 +0,0 @@\n-c\n",
    ],
    "diff-paths": ['--- a/b "c"\n+++ b/b "c"\n@@ -1,1 +1,1 @@\n-a\n+b\n'],
}

INVALID = {
    "arithmetic": ["", "01", "1+2", "1 +", "y", "x x", "(1", "1.", ".5", "1 % 2", "+1"],
    "numbers": ["x", "()"],
    "csv": [
        "",
        "id\n",
        f"{CSV_HEADER}1,Ada,,true,,m",
        f"{CSV_HEADER}1,Ada,,True,,m\n",
        f"{CSV_HEADER}1.5,Ada,,true,,m\n",
        f"{CSV_HEADER}1,Ada,,true,2023-02-29,m\n",
        f"{CSV_HEADER}1,Ada,,true,,a,b\n",
        f'{CSV_HEADER}1,A"a,,true,,m\n',
        f"{CSV_HEADER}1,Ada,,true,,m\r\n",
        f"{CSV_HEADER}\n",
    ],
    "csv-one": ["a\n\n", "a\nx\n"],
    "iso8601": [
        "",
        "2023-02-29",
        "1900-02-29",
        "0000-01-01",
        "2024-04-31",
        "2024-13-01",
        "24:00:00",
        "12:60:00",
        "12:00:60",
        "12:00",
        "12:00:00-00:00",
        "12:00:00+24:00",
        "P",
        "PT",
        "P1DT",
        "P1M1Y",
        "20240101",
        "2024-01-01 12:00:00",
        "2024-01-01Z",
    ],
    "mermaid": [
        "flowchart TD\n",
        "flowchart TD\n    A -> B\n",
        "flowchart TD\n    end\n",
        "flowchart TD\n    A[x]\n",
        "flowchart TD\n    A -->\n",
        "flowchart TD\n    subgraph s\n    A\n",
        "graph TD\n    A\n",
    ],
    "python": [
        "",
        "if",
        "a =",
        "x = 1",
        "f(a=1, b)",
        "1.real",
        "None = 1",
        "a not b",
        "(1 2)",
        "01",
        "lambda",
        '"a',
        "a if b",
        "for",
        "{1: 2, 3}",
        "a == not b",
        "__debug__",
    ],
    "python-names": ["x", "items.x", "item_"],
    "python-module": [
        "x = 1",
        "x =\n",
        " x\n",
        "if a:\nb\n",
        "if a:\n    b\n  c\n",
        "if a:\n  b\n   c\n",
        "if a: if b: c\n",
        "else:\n  x\n",
        "try:\n  x\n",
        "def f(a=1, b): pass\n",
        "f(a=1, b)\n",
        "f() = 1\n",
        "a = b += 1\n",
        "1x\n",
        "(\n",
        "if = 1\n",
        "import a.\n",
        "x 1\n",
        "ifx: pass\n",
        "return1\n1.real\n",
        "del f()\n",
        "@a\nx\n",
        "class: pass\n",
    ],
    "python-module-names": ["x\n", "items\n", "f.item_\n"],
    "regex": ["(", "a)", "*", "a**", "[z-a]", "a{3,2}", "[]", "[", "\\", "^*", "(?P<a>x)", r"\1", "(?<=a*)b"],
    "smiles": [
        "",
        "c",
        "C1",
        "C1C1",
        "C11",
        "C(",
        "C()",
        "CX",
        "[Xx]",
        "C=",
        "(C)",
        "c1ccccc2",
        "C12CC1C2",
        ".C",
        "Cc",
    ],
    "sqlite": [
        "SELECT",
        "SELECT total FROM users",
        "SELECT id FROM users JOIN orders ON users.id = orders.user_id",
        "SELECT name, COUNT(*) FROM users",
        "SELECT name FROM users WHERE COUNT(*) > 1",
        "SELECT SUM(COUNT(*)) FROM users",
        "SELECT name FROM users ORDER BY 7",
        "SELECT name FROM users WHERE id = ?",
        "SELECT name FROM users GROUP BY id",
        "SELECT x FROM nothing",
        "SELECT --1 FROM users",
        "SELECT name FROM users; DROP TABLE users",
        "DELETE FROM users",
        "SELECT order FROM users",
    ],
    "sqlite-joins": [
        "SELECT * FROM users JOIN orders ON users.name = orders.total",
        'SELECT * FROM users JOIN "odd table" ON users.id = "odd table"."ß"',
    ],
    "diff": [
        "",
        "--- a/x\n+++ b/x\n",
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n b\n",
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n",
        "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n+c\n",
        "--- a/x\n+++ b/x\n@@ -0,1 +1,1 @@\n-a\n+b\n",
    ],
    "diff-paths": ["--- a/a.py\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n"],
}


@pytest.mark.parametrize("language", VALID)
def test_labelled_texts(language: str) -> None:
    valid, invalid = VALID[language], INVALID[language]
    assert [text for text in valid if not accepts(guide(language), text)] == []
    assert [text for text in invalid if accepts(guide(language), text)] == []
    for text in valid:
        LANGUAGES[language][1](text)


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
