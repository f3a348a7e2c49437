"""A text of a pattern, found without its automaton."""

from __future__ import annotations

from structkit.regex.nodes import CharClass, Choice, LiteralText, Node, Repeat, Seq

__all__ = ["example_text"]

_MAX_LENGTH = 10_000
"""Largest length, in characters, of a text."""

_ESCAPED = frozenset(map(ord, '"\\'))
"""The printable ASCII characters that a JSON string escapes."""


def example_text(node: Node, min_length: int = 0, max_length: int | None = None) -> str | None:
    """Return a short text of a pattern, in characters that JSON does not escape where the pattern allows them.

    Args:
        node: The pattern.
        min_length: The fewest characters of the text.
        max_length: The most characters; `None` is unbounded.

    Returns:
        The text, or `None` if none is found.

    >>> letters = Repeat(CharClass(((97, 122),)), 1, None)
    >>> example_text(Seq((letters, LiteralText("@"), letters))), example_text(Seq((letters, LiteralText("@"))), 4)
    ('a@a', 'aaa@')
    """
    text = _lengthened(node, min_length, {})
    if text is None or len(text) < min_length or (max_length is not None and len(text) > max_length):
        return None
    return text


def _shortest(node: Node, known: dict[int, str | None]) -> str | None:
    """Return a text with as few repetitions as possible; `known` holds the texts of nodes by their ids."""
    if id(node) not in known:
        known[id(node)] = _shortest_of(node, known)
    return known[id(node)]


def _shortest_of(node: Node, known: dict[int, str | None]) -> str | None:
    match node:
        case LiteralText(value):
            return value
        case CharClass(ranges):
            return _character(ranges)
        case Repeat(part, min_count):
            text = _shortest(part, known) if min_count else ""
            return None if text is None or len(text) * min_count > _MAX_LENGTH else text * min_count
        case Seq(parts):
            found = [_shortest(part, known) for part in parts]
            texts = [text for text in found if text is not None]
            return (
                "".join(texts) if len(texts) == len(parts) and sum(map(len, texts)) <= _MAX_LENGTH else None
            )
        case Choice(parts):
            found = [_shortest(part, known) for part in parts]
            return min((text for text in found if text is not None), key=len, default=None)
        case _:
            return None


def _lengthened(node: Node, min_length: int, known: dict[int, str | None]) -> str | None:
    """Return a text of at least `min_length` characters if repetitions allow it, otherwise a shorter one."""
    shortest = _shortest(node, known)
    if shortest is None or len(shortest) >= min_length or min_length > _MAX_LENGTH:
        return shortest
    match node:
        case Repeat(part, min_count, max_count) if max_count != 0:
            one = _shortest(part, known) or _lengthened(part, min_length, known)
            if not one:
                return shortest
            count = max(min_count, -(-min_length // len(one)))
            return one * (count if max_count is None else min(count, max_count))
        case Seq(parts):
            texts = [_shortest(part, known) or "" for part in parts]
            missing = min_length - len(shortest)
            for index, part in enumerate(parts):
                if missing > 0:
                    longer = _lengthened(part, len(texts[index]) + missing, known) or ""
                    missing -= len(longer) - len(texts[index])
                    texts[index] = longer
            return "".join(texts)
        case Choice(parts):
            found = [_lengthened(part, min_length, known) for part in parts]
            return max((text for text in found if text is not None), key=len, default=None)
        case _:
            return shortest


def _character(ranges: tuple[tuple[int, int], ...]) -> str | None:
    """Return the first plain character of a class, otherwise the first one; `None` if the class is empty."""
    for first, last in ranges:
        for code in range(max(first, 0x20), min(last, 0x7E) + 1):
            if _is_plain(code):
                return chr(code)
    return chr(ranges[0][0]) if ranges else None


def _is_plain(code: int) -> bool:
    return 0x20 <= code <= 0x7E and code not in _ESCAPED
