"""The tree in the docstring of errors.py is the tree of the classes."""

from __future__ import annotations

import ast
import re

import structkit as sk
from structkit import errors
from tests.house.source import SOURCES

OTHERS = {"_KINDS[", "what}"}
"""Parts of messages whose remedy is in a variable."""


def _documented_parents() -> dict[str, str]:
    """Return the parent of each error in the docstring; each level is indented by three columns."""
    parents: dict[str, str] = {}
    ancestors: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)([A-Z]\w+) {2,}", line)
        if match:
            depth = len(match[1]) // 3
            del ancestors[depth:]
            parents[match[2]] = ancestors[-1] if ancestors else "Exception"
            ancestors.append(match[2])
    return parents


def _public_parent(error: type[Exception]) -> type:
    return next(base for base in error.__mro__[1:] if not base.__name__.startswith("_"))


def test_the_docstring_has_the_class_tree() -> None:
    real = {name: _public_parent(vars(errors)[name]).__name__ for name in errors.__all__}
    assert _documented_parents() == real


def test_all_errors_are_public() -> None:
    assert set(errors.__all__) <= set(sk.__all__)


def test_a_message_names_a_remedy() -> None:
    """The messages of errors that structkit raises have a semicolon; behind it is what to do."""
    without = [
        f"{source.path.name}:{call.lineno} {message}"
        for source in SOURCES
        for call, message in _raised(source.tree)
        if "; " not in message and not any(other in message for other in OTHERS)
    ]
    assert not without


def _raised(tree: ast.AST) -> list[tuple[ast.Call, str]]:
    """Return the calls of error classes with a literal message, and that message as source code."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _WITH_REMEDY:
            message = node.args[_POSITION.get(node.func.id, 0)] if node.args else None
            if isinstance(message, (ast.Constant, ast.JoinedStr)):
                found.append((node, ast.unparse(message)))
    return found


_POSITION = {"UnsupportedKeyword": 1, "TokenRejected": 1}
_WITH_REMEDY = set(errors.__all__) - {
    *("ApprovalRequired", "BudgetTooSmall", "LimitExceeded", "MissingExtra", "Retry", "ToolError")
}
