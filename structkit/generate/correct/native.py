"""What can follow the start of an answer, in a notation that the model enforces."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.compile import compile
from structkit.errors import LimitExceeded, SchemaError
from structkit.guide.guide import Cursor
from structkit.models.capabilities import Capabilities
from structkit.models.native.translate import translate
from structkit.models.text.protocol import NativeConstraint
from structkit.targets.base import Target
from structkit.targets.specs import Choice
from structkit.vocabulary.vocabulary import byte_vocabulary

__all__ = ["answer_constraint", "choice_constraint", "rest_constraint"]


def rest_constraint(capabilities: Capabilities, cursor: Cursor) -> NativeConstraint | None:
    """Return what can follow a text as a grammar or a regex; `None` if the model enforces none that can express it.

    Args:
        capabilities: What the model can do.
        cursor: A cursor after the text.
    """
    for kind in ("grammar", "regex"):
        if kind in capabilities.constraints:
            try:
                rest = cursor.residual()
                text = rest.to_gbnf() if kind == "grammar" else _one_line(rest.to_regex())
            except (SchemaError, LimitExceeded):
                continue
            return NativeConstraint("grammar" if kind == "grammar" else "regex", text)
    return None


def choice_constraint(capabilities: Capabilities, texts: Sequence[str]) -> NativeConstraint | None:
    """Return a few texts as the only ones that can follow; `None` if the model enforces neither grammars nor regexes.

    The rest of a language can say more than the guide allows, such as an item that a set has already. The texts do not.

    Args:
        capabilities: What the model can do.
        texts: The texts, all different.

    >>> choice_constraint(Capabilities(constraints=frozenset({"regex"})), ["high", "low"]).text
    'high|low'
    """
    if not {"grammar", "regex"} & capabilities.constraints:
        return None
    return rest_constraint(capabilities, compile(Choice(texts), byte_vocabulary(), cache=False).cursor())


def answer_constraint(capabilities: Capabilities, target: Target[object]) -> NativeConstraint | None:
    """Return the schema of a whole answer, as far as the model enforces it; `None` if it enforces nothing of it.

    Args:
        capabilities: What the model can do.
        target: The target.
    """
    profile = capabilities.schema_profile
    if profile is None or not target.is_json or "json_schema" not in capabilities.constraints:
        return None
    translated = translate(target.written_schema(), profile).schema
    return None if translated is None else NativeConstraint("json_schema", schema=translated)


def _one_line(regex: str) -> str:
    """Return a regex.

    Raises:
        SchemaError: The language is recursive: its regex has a line for each rule.
    """
    if "\n" in regex:
        raise SchemaError("a recursive target is not a regular language; use a model that returns logits")
    return regex
