"""Public functions that print a target in other notations: JSON Schema, regex, GBNF, Lark."""

from __future__ import annotations

from structkit.arguments.names import names_arguments
from structkit.export.gbnf import format_gbnf
from structkit.export.lark import format_lark
from structkit.limits import Limits
from structkit.regex.nodes import Rules
from structkit.regex.print import format_regex
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.targets import AnyTarget, read_target

__all__ = ["to_gbnf", "to_json_schema", "to_lark", "to_regex"]


@names_arguments
def to_json_schema(target: AnyTarget) -> dict[str, object]:
    """Return the JSON Schema of a target.

    Raises:
        SchemaError: The target cannot be described.

    >>> to_json_schema(list[int])
    {'items': {'type': 'integer'}, 'type': 'array'}
    """
    return read_target(target).json_schema()


@names_arguments
def to_regex(
    target: AnyTarget,
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> str:
    """Return the regex of a target's texts.

    Args:
        target: The target.
        whitespace: As for `generate`.
        defaults: As for `generate`.
        order: As for `generate`.
        null: As for `generate`.
        limits: As for `generate`.

    Returns:
        A pattern for Python's `re.fullmatch`. A recursive target is not a regular language and gives one line per
        rule.

    Raises:
        SchemaError: The target cannot be described or enforced.
        LimitExceeded: The regex would be too long.

    >>> print(to_regex(bool))
    true|false
    """
    return format_regex(_rules(target, whitespace, defaults, order, null, limits), limits)


@names_arguments
def to_gbnf(
    target: AnyTarget,
    start: str = "root",
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> str:
    """Return a target's texts as a grammar in GBNF, the notation of llama.cpp.

    The grammar has exactly the texts of the target, except that parts which must differ, such as the items of a set and
    the additional keys of an object, may be equal: a grammar does not remember them. What is checked after decoding is
    not part of it either. The grammar stays within the bounds of llama.cpp: it has no left recursion, and a count is
    less than 2,000.

    Args:
        target: The target.
        start: The name of the rule of complete texts: letters, digits and hyphens.
        whitespace: As for `generate`.
        defaults: As for `generate`.
        order: As for `generate`.
        null: As for `generate`.
        limits: As for `generate`.

    Raises:
        SchemaError: The target cannot be described or enforced, or has keys in any order, quotes of a source, or bytes
            that are not UTF-8.
        LimitExceeded: The grammar would be too large.
        ValueError: `start` is not the name of a rule.

    >>> print(to_gbnf(list[int] | None))
    root ::= "[" (integer (", " integer)*)? "]" | "null"
    integer ::= "0" | "-"? [1-9] [0-9]{0,17}
    <BLANKLINE>
    """
    rules = _rules(target, whitespace, defaults, order, null, limits)
    return format_gbnf(rules, start, limits)


@names_arguments
def to_lark(
    target: AnyTarget,
    start: str = "start",
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> str:
    """Return a target's texts as a grammar of Lark.

    The grammar has exactly the texts of the target, with the exceptions of `to_gbnf`, for Lark's Earley parser with one
    of its dynamic lexers, `"dynamic"` or `"dynamic_complete"`. The other lexers prefer some terminals to others, and so
    do other engines that read grammars of Lark.

    Args:
        target: The target.
        start: The name of the rule of complete texts: lowercase letters, digits and underscores.
        whitespace: As for `generate`.
        defaults: As for `generate`.
        order: As for `generate`.
        null: As for `generate`.
        limits: As for `generate`.

    Raises:
        SchemaError: As for `to_gbnf`.
        LimitExceeded: The grammar would be too large.
        ValueError: `start` is not the name of a rule.

    >>> print(to_lark(list[bool]))
    start: "[" (("true" | "false") (", " ("true" | "false"))*)? "]"
    <BLANKLINE>
    """
    rules = _rules(target, whitespace, defaults, order, null, limits)
    return format_lark(rules, start, limits)


def _rules(
    target: AnyTarget,
    whitespace: Whitespace | None,
    defaults: Defaults | None,
    order: Order | None,
    null: NullFields | None,
    limits: Limits,
) -> Rules:
    """Return the language of a target."""
    policy = JsonStyle(whitespace=whitespace, defaults=defaults, order=order, null=null)
    read = read_target(target, policy=policy, limits=limits, listed=True)
    # Quotes cannot be printed, so any source will do.
    return read.rules(whitespace=whitespace, order=order, source=" ? ", limits=limits)
