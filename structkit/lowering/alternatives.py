"""Many texts to choose from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby

from structkit.errors import SchemaError
from structkit.regex.nodes import Alt, Node, Text, alt, seq
from structkit.schema.markers.json_style import Whitespace

__all__ = ["option_text", "options"]

_LETTERS = 2_000
"""Letters of texts that begin alike and are written out; more are a rule, built when a text comes to it."""

_LEVELS = 8
"""Letters by which texts are told apart, one after the other, before the rest is written out however large it is."""


def options(nodes: Iterable[Node], rule: Callable[[Node, str], Node], place: str) -> Node:
    """Any of the nodes, of which many may be texts.

    Args:
        nodes: The alternatives.
        rule: Makes a rule of a node that is surely small, under a name, and gives the call.
        place: For the names of rules.

    >>> options([Text("no"), Text("yes")], lambda node, name: node, "$")
    Alt(parts=(Text(value='no'), Text(value='yes')))
    """
    every = [part for node in nodes for part in (node.parts if isinstance(node, Alt) else (node,))]
    texts = [node.value for node in every if isinstance(node, Text)]
    if sum(map(len, texts)) <= _LETTERS:
        return alt(every)
    others = [node for node in every if not isinstance(node, Text)]
    return alt([*others, _from(sorted(set(texts)), 0, 0, rule, place)])


def _from(texts: list[str], at: int, level: int, rule: Callable[[Node, str], Node], place: str) -> Node:
    """The rests, from a position on, of sorted texts that are equal up to there."""
    few = sum(map(len, texts)) - at * len(texts) <= _LETTERS
    if few or level == _LEVELS:
        rests = alt(Text(text[at:]) for text in texts)
        return rule(rests, f"{place}/{texts[0][:at]}") if few and level and len(texts) > 1 else rests
    first, last = texts[0], texts[-1]
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    groups = [list(group) for _, group in groupby(texts, key=lambda text: text[shared : shared + 1])]
    nodes = (
        seq(
            Text(group[0][shared : shared + 1]),
            _from(group, min(shared + 1, len(group[0])), level + 1, rule, place),
        )
        for group in groups
    )
    return seq(Text(first[at:shared]), alt(nodes))


def option_text(option: object, whitespace: Whitespace, *, raw: bool, place: str) -> str:
    """What is written for an option of a choice; as it is if it is `raw`, else as JSON.

    Raises:
        SchemaError: It is no JSON value, or holds half of a surrogate pair.
    """
    separators = (", ", ": ") if whitespace == "spaced" else (",", ":")
    try:
        if raw and isinstance(option, str):
            text = str.__str__(option)  # str() would give the name of a member of a str Enum
        else:
            text = json.dumps(option, ensure_ascii=False, allow_nan=False, separators=separators)
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError("an option holds half of a surrogate pair", place=place) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"an option must be a JSON value: {error}", place=place) from error
    return text
