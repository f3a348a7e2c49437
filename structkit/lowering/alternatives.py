"""Choices of many texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby

from structkit.errors import SchemaError
from structkit.regex.nodes import Choice, LiteralText, Node, choice, seq
from structkit.schema.markers.json_style import Whitespace

__all__ = ["alternation", "option_text"]

_LETTERS = 2_000
"""Largest total length of texts with a common prefix that are written in place; longer ones become lazy rules."""

_LEVELS = 8
"""Largest depth of the prefix tree; texts below are written in place, however many."""


def alternation(nodes: Iterable[Node], rule: Callable[[Node, str], Node], path: str) -> Node:
    """Return the choice of nodes; many texts become a prefix tree of rules.

    Args:
        nodes: The alternatives.
        rule: Adds a small node as a rule of a given name and returns the call.
        path: Prefix of the names of rules.

    >>> alternation([LiteralText("no"), LiteralText("yes")], lambda node, name: node, "$")
    Choice(parts=(LiteralText(value='no'), LiteralText(value='yes')))
    """
    every = [part for node in nodes for part in (node.parts if isinstance(node, Choice) else (node,))]
    texts = [node.value for node in every if isinstance(node, LiteralText)]
    if sum(map(len, texts)) <= _LETTERS:
        return choice(every)
    others = [node for node in every if not isinstance(node, LiteralText)]
    return choice([*others, _from(sorted(set(texts)), 0, 0, rule, path)])


def _from(texts: list[str], position: int, level: int, rule: Callable[[Node, str], Node], path: str) -> Node:
    """Return the suffixes from `position` of sorted texts that share the prefix before it."""
    few = sum(map(len, texts)) - position * len(texts) <= _LETTERS
    if few or level == _LEVELS:
        rests = choice(LiteralText(text[position:]) for text in texts)
        return rule(rests, f"{path}/{texts[0][:position]}") if few and level and len(texts) > 1 else rests
    first, last = texts[0], texts[-1]
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    groups = [list(group) for _, group in groupby(texts, key=lambda text: text[shared : shared + 1])]
    nodes = (
        seq(
            LiteralText(group[0][shared : shared + 1]),
            _from(group, min(shared + 1, len(group[0])), level + 1, rule, path),
        )
        for group in groups
    )
    return seq(LiteralText(first[position:shared]), choice(nodes))


def option_text(option: object, whitespace: Whitespace, *, is_raw: bool, path: str) -> str:
    """Return the text of an option of a choice: the string itself if `is_raw`, otherwise JSON.

    Raises:
        SchemaError: The option is not a JSON value, or contains an unpaired surrogate.
    """
    separators = (", ", ": ") if whitespace == "spaced" else (",", ":")
    try:
        if is_raw and isinstance(option, str):
            text = str.__str__(option)  # str() of a member of a str Enum is its name
        else:
            text = json.dumps(option, ensure_ascii=False, allow_nan=False, separators=separators)
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError("an option contains an unpaired surrogate", place=path) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"an option must be a JSON value: {error}", place=path) from error
    return text
