"""Explanations of a target for a model: what the model's server enforces, and what is only checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from structkit.arguments.names import names_arguments
from structkit.compile import compile
from structkit.generate.correct.native import rest_constraint
from structkit.generate.input.arguments import check_model
from structkit.guide.guide import Cursor
from structkit.limits import Limits
from structkit.models.capabilities import Capabilities
from structkit.models.native.translate import translate
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.base import Target
from structkit.targets.explain import Explanation, KeywordRow, explain_target, keyword_path
from structkit.targets.targets import AnyTarget, read_target
from structkit.vocabulary.vocabulary import byte_vocabulary

__all__ = ["explain"]

_NOT_IN_GRAMMARS = {"uniqueItems"}
"""Keywords that neither a grammar nor a regex expresses."""


@names_arguments
def explain(
    target: AnyTarget,
    model: AnyModel | None = None,
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    source: str | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Explanation:
    """Explain which keywords of a target are enforced, and the cost; refused keywords are rows, not errors.

    With a model that returns text, `server` says of each keyword whether the model's server enforces it while it
    writes, or whether it is only checked: what the server does not enforce costs corrections, but the value obeys
    it.

    Args:
        target: A type, a JSON Schema as a dict or `JsonSchema`, `Regex`, `Choice` or `Grammar`.
        model: The model. One with logits enforces each keyword that is `"enforced"`.
        whitespace: As for `generate`.
        defaults: As for `generate`.
        order: As for `generate`.
        null: As for `generate`.
        source: The source text of `Quote` fields; required if the target has any.
        limits: As for `generate`.

    >>> found = explain({"type": "array", "not": {"uniqueItems": True}})
    >>> [(row.keyword, row.how) for row in found.rows]
    [('type', 'enforced'), ('not', 'refused'), ('uniqueItems', 'refused')]
    >>> import structkit as sk
    >>> sk.explain(list[int], sk.from_function(lambda text: "[1]")).rows[1]
    KeywordRow(path='$', keyword='type', how='enforced', reason='it takes no constraint', server='checked')

    Raises:
        SchemaError: The target is invalid, or no value satisfies it.
        LimitExceeded: The target is too large.
        TypeError: The model is none.
    """
    if model is not None:
        check_model(model)
    found = explain_target(
        target,
        whitespace=whitespace,
        defaults=defaults,
        order=order,
        null=null,
        source=source,
        limits=limits,
    )
    if not isinstance(model, TextModel) or found.cost is None:
        return found
    cursor = compile(
        target,
        byte_vocabulary(),
        whitespace=whitespace,
        defaults=defaults,
        order=order,
        null=null,
        source=source,
        limits=limits,
        cache=False,
    ).cursor()
    policy = JsonStyle(defaults=defaults, order=order, null=null)
    unsent = _unsent(read_target(target, policy=policy, limits=limits), model.capabilities, cursor)
    return replace(found, rows=tuple(_with_server(row, unsent) for row in found.rows))


_Unsent: TypeAlias = Callable[[KeywordRow], str]
"""Returns why the server does not enforce a keyword; empty if it does."""


def _unsent(target: Target[object], capabilities: Capabilities, cursor: Cursor) -> _Unsent:
    constraint = rest_constraint(capabilities, cursor)
    if constraint is not None:
        return lambda row: f"no {constraint.kind} says it" if row.keyword in _NOT_IN_GRAMMARS else ""
    profile = capabilities.schema_profile
    if profile is None or not cursor.guide.is_json or "json_schema" not in capabilities.constraints:
        is_refused = bool(capabilities.constraints & {"grammar", "regex"})
        what = "no grammar says the target" if is_refused else "it takes no constraint"
        return lambda row: what
    translation = translate(target.written_schema(), profile)
    reasons = {(keyword_path(one.pointer), one.keyword): one.reason for one in translation.unsent}
    refused = translation.unsent[-1].reason if translation.schema is None else ""
    return lambda row: refused or reasons.get((row.path, row.keyword), "")


def _with_server(row: KeywordRow, unsent: _Unsent) -> KeywordRow:
    """Return the row with what the server does."""
    if row.how in ("annotation", "unknown"):
        return row
    reason = unsent(row) if row.how == "enforced" else row.reason
    return replace(row, server="checked" if reason else "enforced", reason=row.reason or reason)
