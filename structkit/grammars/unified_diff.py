"""Unified diffs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from structkit.grammars.text import quoted
from structkit.targets.grammar import Grammar

__all__ = ["unified_diff"]

_TERMINALS = r"""
LINE: /[^\x00-\x08\x0a-\x1f\x7f]+/
PATH: /[A-Za-z0-9_.\-]+(?:\/[A-Za-z0-9_.\-]+)*/
NUMBER: /[1-9][0-9]{0,6}/
"""


def unified_diff(paths: Sequence[str] | None = None, max_lines: int = 6) -> Grammar[str]:
    """Return the grammar of unified diffs with well-formed hunks.

    A hunk has as many old and new lines as its header states, and at least one line that changes. No context-free
    grammar counts without a bound, so there is `max_lines`. Line numbers that agree between hunks and context
    lines that are in the file are not in the reach of a grammar.

    Args:
        paths: The files that can be changed. Without paths, any relative path, and the old and the new one
            can differ: no context-free grammar repeats a text.
        max_lines: The maximum number of old lines and of new lines in a hunk, from 1 to 8. The size of the grammar
            grows with its square.

    Raises:
        ValueError: `paths` is empty, a path has a line feed, or `max_lines` is not between 1 and 8.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> diffs = sk.grammars.unified_diff(paths=["a.py"])
    >>> diff = chr(10).join(["--- a/a.py", "+++ b/a.py", "@@ -1,2 +1,2 @@", " x = 1", "-y = 2", "+y = 3", ""])
    >>> sk.extract(ScriptedModel([diff]), "Fix it.", diffs) == diff
    True
    """
    if not 1 <= max_lines <= 8:
        raise ValueError(f"max_lines must be between 1 and 8, not {max_lines}")
    if paths is not None and (not paths or any("\n" in path or not path for path in paths)):
        raise ValueError("paths must have at least one path, each without line feeds")
    pairs = ["PATH", "PATH"] if paths is None else []
    files = " | ".join(_names(*pairs) if pairs else _names(quoted(p), quoted(p)) for p in paths or [""])
    rules = [
        "start: file+",
        "file: names hunk+",
        f"names: {files}",
        'line: LINE? "\\n"',
        f"hunk: {' | '.join(_headers(max_lines))}",
        *_bodies(max_lines),
    ]
    return Grammar("\n".join(rules) + _TERMINALS)


def _names(old: str, new: str) -> str:
    return rf'"--- a/" {old} "\n+++ b/" {new} "\n"'


def _headers(size: int) -> Iterator[str]:
    """Return the headers of hunks, each with the rule of its lines."""
    for old in range(size + 1):
        for new in range(size + 1):
            if old or new:
                first, second = (f'NUMBER ",{n}' if n else '"0,0' for n in (old, new))
                body = f"same_{old}_{new}" if old == new else f"lines_{old}_{new}"
                yield rf'"@@ -" {first} +" {second} @@\n" {body}'


def _bodies(size: int) -> Iterator[str]:
    """Return the rules of each number of old and new lines up to `size`; `same` is before the first change."""
    for old in range(size + 1):
        for new in range(size + 1):
            changes = [f'"-" line {_rest(old - 1, new)}'] if old else []
            changes += [f'"+" line {_rest(old, new - 1)}'] if new else []
            both = old and new
            if both and old == new and old > 1:
                unchanged = f'" " line same_{old - 1}_{new - 1}'
                yield f"same_{old}_{new}: {' | '.join([*changes, unchanged])}"
            elif both and old == new:
                yield f"same_{old}_{new}: {' | '.join(changes)}"
            if both:
                changes.append(f'" " line {_rest(old - 1, new - 1)}')
            if changes:
                yield f"lines_{old}_{new}: {' | '.join(changes)}"


def _rest(old: int, new: int) -> str:
    return f"lines_{old}_{new}" if old or new else ""
