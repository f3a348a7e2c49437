"""Small faults put into a source: the tests of its folder should fail with each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

__all__ = ["Mutant", "mutants", "sample"]

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}


@dataclass(frozen=True)
class Mutant:
    """A source with one fault.

    Attributes:
        line: The line of the fault.
        before: The part that is replaced.
        after: What replaces it.
        source: The whole source.
    """

    line: int
    before: str
    after: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield all faults of a source: operators, comparisons, constants, conditions, and calls that are left out.

    Annotations, docstrings and defaults of types are not changed, since nothing would be wrong.

    >>> [(mutant.before, mutant.after) for mutant in mutants("x = a < 3 and f(b)")]
    [('a < 3 and f(b)', 'a < 3 or f(b)'), ('a < 3', 'a <= 3'), ('3', '4')]
    """
    is_other = _is_other(source)
    return (mutant for mutant in _all(source) if is_other(mutant))


def sample(source: str, count: int, random: Random) -> list[Mutant]:
    """Return some faults of a source, each as probable as the others."""
    found = list(_all(source))
    random.shuffle(found)
    return list(islice(filter(_is_other(source), found), count))


def _is_other(source: str) -> Callable[[Mutant], bool]:
    """Return whether a fault is Python, with another syntax tree than the source."""
    tree = ast.dump(ast.parse(source))

    def is_other(mutant: Mutant) -> bool:
        try:
            return ast.dump(ast.parse(mutant.source)) != tree
        except SyntaxError:  # the parentheses of an assignment expression are not a part of it
            return False

    return is_other


def _all(source: str) -> Iterator[Mutant]:
    content = source.encode()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _code(ast.parse(source)):
        for after in _faults(node, source):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
            changed = (content[:start] + after.encode() + content[end:]).decode()
            yield Mutant(node.lineno, content[start:end].decode(), after, changed)


def _code(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the statements and expressions, without annotations, docstrings and imports."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if _is_for_types(node):
                continue
            if isinstance(node, ast.expr | ast.stmt):
                yield node
            yield from _code(node)


def _is_for_types(node: ast.AST) -> bool:
    """Whether a statement is read by type checkers only, or lists the public names."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _faults(node: ast.expr | ast.stmt, source: str) -> Iterator[str]:
    """Yield texts in place of a node."""

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            if not isinstance(left, ast.JoinedStr) and not _is_text(left) and not _is_text(right):
                yield f"{text(left)} {_OPERATORS[type(op)]} {text(right)}"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            yield f"{text(left)} {_COMPARISONS[type(op)]} {text(right)}"
        case ast.BoolOp(op=op, values=[first, second]):
            yield f"{text(first)} {'or' if isinstance(op, ast.And) else 'and'} {text(second)}"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({text(operand)})"
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() as value):
            yield str(value + 1)
        case ast.IfExp(body=body, orelse=other):
            yield f"({text(body)})"
            yield f"({text(other)})"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case _:
            return


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
