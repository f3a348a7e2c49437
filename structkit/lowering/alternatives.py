"""Many texts to choose from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby

from structkit.errors import SchemaError
from structkit.regex.nodes import Choice, LiteralText, Node, choice, seq
from structkit.schema.markers.json_style import Whitespace

__all__ = ["alternation", "option_text"]

_LETTERS = 2_000
"""Letters of texts that begin alike and are written out; more are a rule, built when a text comes to it."""

_LEVELS = 8
"""Letters by which texts are told apart, one after the other, before the rest is written out however large it is."""


def alternation(nodes: Iterable[Node], rule: Callable[[Node, str], Node], path: str) -> Node:
    """Any of the nodes, of which many may be texts.

    Args:
        nodes: The alternatives.
        rule: Makes a rule of a node that is surely small, under a name, and gives the call.
        path: For the names of rules.

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
    """The rests, from a position on, of sorted texts that are equal up to there."""
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
    """What is written for an option of a choice; as it is if it is `is_raw`, else as JSON.

    Raises:
        SchemaError: It is no JSON value, or holds half of a surrogate pair.
    """
    separators = (", ", ": ") if whitespace == "spaced" else (",", ":")
    try:
        if is_raw and isinstance(option, str):
            text = str.__str__(option)  # str() would give the name of a member of a str Enum
        else:
            text = json.dumps(option, ensure_ascii=False, allow_nan=False, separators=separators)
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError("an option holds half of a surrogate pair", place=path) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"an option must be a JSON value: {error}", place=path) from error
    return text
