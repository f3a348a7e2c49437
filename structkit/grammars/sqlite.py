"""SELECT statements of SQLite over the tables of a database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from structkit.grammars.text import FLOAT, alternatives, quoted
from structkit.targets.grammar import Grammar

__all__ = ["sqlite_select"]

_KEYWORDS = frozenset(
    """abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade
    case cast check collate column commit conflict constraint create cross current current_date current_time
    current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape
    except exclude exclusive exists explain fail filter first following for foreign from full generated glob group
    groups having if ignore immediate in index indexed initially inner insert instead intersect into is isnull join key
    last left like limit match materialized natural no not nothing notnull null nulls of offset on or order others outer
    over partition plan pragma preceding primary query raise range recursive references regexp reindex release rename
    replace restrict returning right rollback row rows savepoint select set table temp temporary then ties to
    transaction trigger unbounded union unique update using vacuum values view virtual when where window with without
    false true rowid""".split()
)

_GRAMMAR = r"""
_plain{source, column}: "SELECT " "DISTINCT "? _results{column} " FROM " source _where{column}? _orders{column}? _LIMIT?
_totals{source, column}: "SELECT " _aggregates{column} " FROM " source _where{column}?
_groups{source, column, key}: "SELECT " (key ", ")? _aggregates{column} " FROM " source _where{column}? _by{column, key}
_by{column, key}: " GROUP BY " key _having{column}? _grouped_order{column, key}? _LIMIT?

_results{column}: "*" | _result{column} (", " _result{column})*
_orders{column}: " ORDER BY " _order{column} (", " _order{column})*
_grouped_order{column, key}: " ORDER BY " (_order{key} | _order{_aggregate{column}})
_having{column}: " HAVING " _aggregate{column} _COMPARE NUMBER
_where{column}: " WHERE " _or{column}
_result{column}: _sum{column}
_order{value}: value (" ASC" | " DESC")?
_aggregates{column}: _aggregate{column} (", " _aggregate{column})*
_aggregate{column}: "COUNT(*)" | "COUNT(DISTINCT " column ")" | _AGGREGATE _sum{column} ")"

_or{column}: _and{column} (" OR " _and{column})*
_and{column}: _not{column} (" AND " _not{column})*
_not{column}: "NOT "? _comparison{column}
_comparison{column}: _sum{column} (_COMPARE _sum{column} | " IS NULL" | " IS NOT NULL"
    | " BETWEEN " _sum{column} " AND " _sum{column} | (" LIKE " | " NOT LIKE ") STRING
    | (" IN (" | " NOT IN (") (_literal (", " _literal)* | _subquery) ")")?
_sum{column}: _product{column} (_SUM _product{column})*
_product{column}: _atom{column} (_PRODUCT _atom{column})*
_atom{column}: column | _literal | _function{column} | "(" _or{column} ")"
    | "CASE WHEN " _or{column} " THEN " _sum{column} (" ELSE " _sum{column})? " END"
    | "CAST(" _sum{column} (" AS INTEGER)" | " AS REAL)" | " AS TEXT)")
_function{column}: _UNARY _sum{column} ")" | _BINARY _sum{column} ", " _sum{column} ")"
    | "ROUND(" _sum{column} (", " DIGIT)? ")" | "SUBSTR(" _sum{column} ", " PLACE (", " PLACE)? ")"
_literal: NUMBER | STRING | "NULL"

_AGGREGATE: "COUNT(" | "SUM(" | "AVG(" | "MIN(" | "MAX(" | "TOTAL("
_UNARY: "ABS(" | "LENGTH(" | "LOWER(" | "UPPER(" | "TRIM(" | "DATE(" | "TYPEOF("
_BINARY: "COALESCE(" | "IFNULL(" | "NULLIF(" | "INSTR("
_COMPARE: " = " | " <> " | " < " | " <= " | " > " | " >= "
_SUM: " + " | " - " | " || "
_PRODUCT: " * " | " / " | " % "
_LIMIT: / LIMIT [1-9][0-9]{0,5}(?: OFFSET [1-9][0-9]{0,5})?/
DIGIT: /[0-9]/
PLACE: /[1-9][0-9]{0,3}/
NUMBER: /-?FLOAT/
STRING: /'(?:[^'\x00-\x1f\x7f]|'')*'/
"""


def sqlite_select(
    tables: Mapping[str, Sequence[str]], joins: Sequence[tuple[str, str]] | None = None
) -> Grammar[str]:
    """Return the grammar of SELECT statements of SQLite over tables: each passes `EXPLAIN` on a database that has them.

    A statement reads one table, or two that are joined on equal columns; then each column has the name of its table
    before it. Columns are always those of the tables in FROM. Aggregates stand in SELECT, HAVING and ORDER BY, beside
    at most the column of GROUP BY. `WHERE x IN (SELECT y FROM t)` can read any table. There are no parameters, no
    aliases and no nested joins. SQLite refuses expressions with more than 1,000 levels.

    Args:
        tables: The names of the columns of each table.
        joins: The columns on which tables are joined, such as `("orders.customer", "customers.id")`. By
            default any two columns of two tables; with more than three tables give the real ones, since
            the grammar of all pairs takes seconds to compile.

    Raises:
        ValueError: There is no table, a table has no columns, or a join has an unknown column.
        LimitExceeded: The grammar is too large.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> selects = sk.grammars.sqlite_select({"users": ["id", "name"]})
    >>> sk.extract(ScriptedModel(["SELECT name FROM users WHERE id = 3"]), "Who is user 3?", selects)
    'SELECT name FROM users WHERE id = 3'
    """
    if not tables or not all(tables.values()):
        raise ValueError("tables must have at least one table, each with at least one column")
    numbers = {name: number for number, name in enumerate(tables)}
    rules: list[str] = []
    for name, number in numbers.items():
        rules += _scope(
            str(number), quoted(_identifier(name)), [_identifier(column) for column in tables[name]]
        )
    for left, right, conditions in _joined(tables, joins):
        first, second = _identifier(left), _identifier(right)
        pairs = [f"{first}{join}{second} ON " for join in (" JOIN ", " LEFT JOIN ")]
        pairs += [f"{second}{join}{first} ON " for join in (" JOIN ", " LEFT JOIN ")]
        columns = [_qualified(name, column) for name in (left, right) for column in tables[name]]
        source = f"({alternatives(pairs)}) ({conditions})"
        rules += _scope(f"{numbers[left]}_{numbers[right]}", source, columns)
    starts = " | ".join(rule.partition(":")[0] for rule in rules if rule.startswith("query"))
    one = " | ".join(
        f"column{n} {quoted(' FROM ' + _identifier(name))} _where{{column{n}}}?"
        for name, n in numbers.items()
    )
    text = "\n".join([f"start: {starts}", *rules, f'_subquery: "SELECT " ({one})'])
    return Grammar(text + _GRAMMAR.replace("FLOAT", FLOAT))


def _scope(name: str, source: str, columns: Sequence[str]) -> Iterator[str]:
    """Return the rules of the statements over one source."""
    groups = [f"_groups{{source{name}, column{name}, key{name}_{n}}}" for n in range(len(columns))]
    yield f"source{name}: {source}"
    yield f"column{name}: {alternatives(columns)}"
    yield from (f"key{name}_{n}: {quoted(column)}" for n, column in enumerate(columns))
    forms = [f"{form}{{source{name}, column{name}}}" for form in ("_plain", "_totals")]
    yield f"query{name}: {' | '.join([*forms, *groups])}"


def _joined(
    tables: Mapping[str, Sequence[str]], joins: Sequence[tuple[str, str]] | None
) -> Iterator[tuple[str, str, str]]:
    """Return pairs of tables, each with the choice of its conditions in Lark's grammar language."""
    known = {f"{name}.{column}": (name, column) for name, columns in tables.items() for column in columns}
    for column in (column for pair in joins or () for column in pair):
        if column not in known:
            raise ValueError(f"the join has the unknown column {column!r}; write 'table.column'")
    for left, right in combinations(tables, 2):
        if joins is None:
            sides = [
                f"({alternatives(_qualified(name, each) for each in tables[name])})" for name in (left, right)
            ]
            yield left, right, f'{sides[0]} " = " {sides[1]} | {sides[1]} " = " {sides[0]}'
            continue
        pairs = [(known[first], known[second]) for first, second in joins]
        found = [pair for pair in pairs if {pair[0][0], pair[1][0]} == {left, right}]
        both = [way for first, second in found for way in ((first, second), (second, first))]
        if found:
            yield left, right, alternatives(f"{_qualified(*a)} = {_qualified(*b)}" for a, b in both)


def _qualified(table: str, column: str) -> str:
    return f"{_identifier(table)}.{_identifier(column)}"


def _identifier(name: str) -> str:
    """Return a name as SQLite reads it, in quotes if it needs them."""
    is_plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in _KEYWORDS
    return name if is_plain else '"' + name.replace('"', '""') + '"'
