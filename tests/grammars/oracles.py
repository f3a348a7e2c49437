"""Parsers that are independent of structkit; each raises an exception for an invalid text."""

from __future__ import annotations

import ast
import csv
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from unittest import mock

import pytest
from lark import load_grammar

try:
    import tomllib
except ModuleNotFoundError:  # pytest requires it on Python 3.10
    import tomli as tomllib

__all__ = [
    "arithmetic",
    "csv_of",
    "hcl",
    "iso8601",
    "lark_grammar",
    "mermaid",
    "python",
    "python_block_of",
    "python_module",
    "regular_expression",
    "smiles",
    "sqlite",
    "toml",
    "unified_diff",
]

Oracle = Callable[[str], object]


def python(text: str) -> None:
    ast.parse(text, mode="eval")


def python_module(text: str) -> None:
    ast.parse(text)


def python_block_of(functions: Sequence[str], fence: str | None = None) -> Oracle:
    """Return the oracle of blocks that only call functions, with literals by name."""

    def check(text: str) -> None:
        if fence is not None:
            assert text.startswith(f"```{fence}\n")
            assert text.endswith("\n```")
            text = text.removeprefix(f"```{fence}\n").removesuffix("\n```")
        statements = ast.parse(text).body
        assert len(statements) == text.count("\n") + 1
        for statement in statements:
            assert isinstance(statement, ast.Expr | ast.Assign)
            if isinstance(statement, ast.Assign):
                (target,) = statement.targets
                assert isinstance(target, ast.Name)
                assert target.id not in functions
            call = statement.value
            assert isinstance(call, ast.Call)
            assert isinstance(call.func, ast.Name)
            assert call.func.id in functions
            assert not call.args
            for argument in call.keywords:
                ast.literal_eval(argument.value)

    return check


def arithmetic(text: str) -> None:
    allowed = (
        ast.Expression,
        ast.BinOp,
        ast.UnaryOp,
        ast.Constant,
        ast.Name,
        ast.Load,
        ast.operator,
        ast.USub,
    )
    for node in ast.walk(ast.parse(text, mode="eval")):
        assert isinstance(node, allowed), node
        assert not isinstance(node, ast.operator) or type(node).__name__ in {
            "Add",
            "Sub",
            "Mult",
            "Div",
            "Pow",
        }


def regular_expression(text: str) -> None:
    re.compile(text)


def iso8601(text: str) -> None:
    text = text.replace("Z", "+00:00")  # Python 3.10 does not read Z
    if text.startswith("P"):
        assert re.fullmatch(
            r"P(?=[0-9T])(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?|P\d+W", text
        ), text
        return
    assert not text.endswith("-00:00")
    for read in (date, time, datetime):
        try:
            read.fromisoformat(text)
        except ValueError:
            continue
        return
    raise AssertionError(text)


def hcl(text: str) -> None:
    pytest.importorskip("hcl2", reason="needs python-hcl2").parses(text)


def lark_grammar(text: str) -> None:
    """Read a grammar as Lark does before it looks for the definitions of names."""
    tree = load_grammar._parse_grammar(text, "<text>")
    for token in tree.scan_values(lambda value: getattr(value, "type", None) in ("STRING", "REGEXP")):
        re.compile(load_grammar._literal_to_pattern(token).to_regexp())
    builder = load_grammar.GrammarBuilder()
    for statement in tree.children:
        if statement.data == "import":
            builder._unpack_import(statement, "<text>")
        elif statement.data in ("rule", "term"):
            builder._unpack_definition(statement, None)


def csv_of(header: Sequence[str], readers: Sequence[Callable[[str], object]], newline: str) -> Oracle:
    """Return the oracle of CSV with typed columns."""

    def check(text: str) -> None:
        assert text.endswith(newline)
        rows = list(csv.reader(_lines(text), strict=True))
        assert rows[0] == list(header)
        for row in rows[1:]:
            assert len(row) == len(header), row
            for cell, read in zip(row, readers, strict=True):
                read(cell)

    return check


def _lines(text: str) -> list[str]:
    """Return the lines of a text as a file gives them that is opened with `newline=""`."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)", text)


def sqlite(tables: Mapping[str, Sequence[str]]) -> Oracle:
    """Return the oracle of statements over tables."""
    database = sqlite3.connect(":memory:")

    def quote(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    for name, columns in tables.items():
        database.execute(f"CREATE TABLE {quote(name)} ({', '.join(map(quote, columns))})")
    return lambda text: database.execute(f"EXPLAIN {text}").fetchall()


def mermaid(text: str) -> None:
    # Before Mermaid reads a text, it removes directives, and writes attributes of HTML with single quotes.
    assert not re.search(r"%%\{\s*\w", text)
    assert not any(re.search('="[^"]*"', each[0]) for each in re.finditer(r"<\w+[^>]*>", text))
    lines = text.split("\n")
    assert re.fullmatch("flowchart (TD|TB|BT|LR|RL)", lines[0]), lines[0]
    assert len(lines) > 2 and lines[-1] == ""
    open_subgraphs: list[int] = []
    label = r'"[^"`\\\n]+"'
    shapes = "[L] (L) ([L]) [[L]] [(L)] ((L)) {L} {{L}} [/L/] >L]".split()
    shape = "|".join(re.escape(each).replace("L", label) for each in shapes)
    node = rf"(?!(?:end|graph|subgraph|style|class|click)\b)[A-Za-z_]\w*(?:{shape})?"
    chain = rf"{node}(?: (?:-->|---|-\.->|==>|--x|--o)(?:\|{label}\|)? {node})*"
    for line in lines[1:-1]:
        statement = line.removeprefix("    ")
        assert statement != line
        if open_subgraphs:
            open_subgraphs[-1] += 1
        if re.fullmatch(rf"subgraph \w+(\[{label}\])?", statement, re.ASCII):
            open_subgraphs.append(0)
        elif statement == "end":
            assert open_subgraphs.pop() > 1
        else:
            assert re.fullmatch(chain, statement), statement
    assert not open_subgraphs


def toml(text: str) -> None:
    """Read a text as `tomllib` does, without its memory of the keys before."""
    parser = tomllib._parser  # type: ignore[attr-defined]
    nest = mock.patch.object(parser.NestedDict, "get_or_create_nest", side_effect=lambda *_, **__: {})
    tables = mock.patch.object(parser.NestedDict, "append_nest_to_list")
    with nest, tables, mock.patch.object(parser.Flags, "is_", return_value=False):
        tomllib.loads(text)


def unified_diff(text: str) -> None:
    lines = text.split("\n")
    assert lines.pop() == ""
    files = 0
    while lines:
        files += 1
        assert lines.pop(0).startswith("--- a/")
        assert lines.pop(0).startswith("+++ b/")
        hunks = 0
        while lines and lines[0].startswith("@@"):
            hunks += 1
            _hunk(lines)
        assert hunks
    assert files


def _hunk(lines: list[str]) -> None:
    header = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", lines.pop(0))
    assert header
    first_old, old, first_new, new = map(int, header.groups())
    assert (first_old > 0) == (old > 0) and (first_new > 0) == (new > 0)
    changes = 0
    while old or new:
        mark = lines.pop(0)[0]
        assert mark in " +-"
        old -= mark in " -"
        new -= mark in " +"
        changes += mark != " "
        assert old >= 0 and new >= 0
    assert changes


_SMILES = re.compile(
    r"(?P<atom>Cl|Br|[BCNOPSFI]|\[\d*[A-Z][a-z]?@{0,2}(?:H\d?)?(?:[+-]\d?)?(?::\d+)?\])"
    r"|(?P<aromatic>[bcnops]|\[\d*(?:se|as|[bcnops])(?:H\d?)?(?:[+-]\d?)?(?::\d+)?\])"
    r"|(?P<bond>[-=#/\\])|(?P<ring>[0-9])|(?P<open>\()|(?P<close>\))|(?P<dot>\.)"
)


def smiles(text: str) -> None:
    """Build the graph of the atoms: rings are closed, no bond is doubled, and aromatic atoms are in a ring."""
    bonds: list[set[int]] = []
    aromatic: set[int] = set()
    branches: list[int] = []
    rings: dict[str, int] = {}
    current, before = -1, "dot"
    for kind, part in _tokens(text):
        if kind in ("atom", "aromatic"):
            bonds.append(set())
            if current >= 0:
                _bind(bonds, current, len(bonds) - 1)
            current = len(bonds) - 1
            aromatic |= {current} if kind == "aromatic" else set()
        elif kind == "ring" and part in rings:
            _bind(bonds, rings.pop(part), current)
        elif kind == "ring":
            rings[part] = current
        elif kind == "open":
            branches.append(current)
        elif kind == "close":
            assert before != "open"
            current = branches.pop()
        elif kind == "dot":
            assert not branches
            current = -1
        assert before != "bond" or kind in ("atom", "aromatic")
        assert kind in ("atom", "aromatic", "bond") or before not in ("dot", "open")
        assert kind != "bond" or before != "dot"
        before = kind
    assert not rings and not branches and before not in ("bond", "dot")
    assert all(_is_in_ring(bonds, atom) for atom in aromatic)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _SMILES.match(text, place)
        assert match and match.lastgroup, text[place:]
        place = match.end()
        yield match.lastgroup, match.group()


def _bind(bonds: list[set[int]], first: int, second: int) -> None:
    assert first != second and second not in bonds[first]
    bonds[first].add(second)
    bonds[second].add(first)


def _is_in_ring(bonds: list[set[int]], atom: int) -> bool:
    """Return whether some neighbour reaches another neighbour without the atom."""
    for neighbour in bonds[atom]:
        reached, pending = {atom, neighbour}, [neighbour]
        while pending:
            new = bonds[pending.pop()] - reached
            reached |= new
            pending += new
        if len(bonds[atom] & reached) > 1:
            return True
    return False
