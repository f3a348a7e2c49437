"""A target compiled over the byte vocabulary: random sentences and membership."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from typing_extensions import TypedDict

from structkit.compile import compile
from structkit.limits import Limits
from structkit.models.scripted import byte_vocabulary
from structkit.schema.ir.refs import subschemas
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.targets import AnyTarget, Target, read_target
from structkit.testing.proof.random_source import RandomSource
from structkit.testing.proof.walk import RandomWalks

__all__ = ["CompileOptions", "Language"]

_MAX_NAMES = 500
"""Maximum number of field names collected from a schema; names only make sentences more varied."""


class CompileOptions(TypedDict, total=False):
    """Keyword arguments of `sample`, `check` and `testing.strategy` that define the language.

    The defaults are the settings of the type; see `structkit.json_style`.
    """

    defaults: Defaults | None
    """`"always"` includes fields that have a default; `"may_omit"` omits some of them."""

    order: Order | None
    """`"declared"` writes keys in the order of the target; `"any"` in any order."""

    null: NullFields | None
    """How a field `X | None = None` without a value is written: `"always"` writes `null`, `"omit"` omits the field,
    `"may_omit"` allows both."""

    whitespace: Whitespace | None
    """`"spaced"` writes JSON as `json.dumps` does; `"compact"` without spaces."""

    source: str | None
    """The source text of fields with `structkit.Quote`."""

    limits: Limits
    """Limits of compilation."""


@dataclass(frozen=True, eq=False)
class Language:
    """The language of a target.

    >>> from structkit.testing.proof.random_source import SeededSource
    >>> language = Language.compile(list[bool])
    >>> language.sentence(SeededSource("seed 3")), language.contains("[true]"), language.contains("[1]")
    ('[false, false]', True, False)

    Attributes:
        target: The target.
        walks: Random walks through its automaton.
        is_compact: Whether its JSON has no spaces.
    """

    target: Target[object]
    walks: RandomWalks
    is_compact: bool = False

    @classmethod
    def compile(
        cls,
        target: AnyTarget,
        *,
        defaults: Defaults | None = None,
        order: Order | None = None,
        null: NullFields | None = None,
        whitespace: Whitespace | None = None,
        source: str | None = None,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Language:
        """Compile a target.

        Raises:
            StructkitError: As in `structkit.compile`.
        """
        policy = JsonStyle(whitespace=whitespace, defaults=defaults, order=order, null=null)
        read = read_target(target, policy=policy, limits=limits)
        style = whitespace or read.default_whitespace
        guide = compile(
            read, byte_vocabulary(), whitespace=style, order=order, source=source, limits=limits, cache=False
        )
        names = _property_names(read.json_schema()) if read.is_json else ()
        walks = RandomWalks(guide, is_json=read.is_json, names=names)
        return cls(read, walks, is_compact=style == "compact")

    def sentence(self, random_source: RandomSource) -> str:
        """Return a random sentence of the language.

        Raises:
            GenerationError: The shortest sentence is too long.
        """
        return self.walks.walk(random_source)

    def contains(self, text: str) -> bool:
        """Return whether a text is in the language."""
        return self.walks.guide.reader.accepts(text.encode())

    def dump(self, value: object) -> str:
        """Serialize a JSON value in the style of the language."""
        separators = (",", ":") if self.is_compact else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)

    def writes(self, dump: str) -> bool:
        """Return whether the value of a JSON text is in the language, as written or in canonical form."""
        value: object = json.loads(dump)
        return any(self.contains(self.dump(form)) for form in (value, self.target.canonicalize(value)))


def _property_names(schema: Mapping[str, object]) -> list[str]:
    """Return the property names in a schema, in its order."""
    names: list[str] = []
    pending = [schema]
    while pending and len(names) < _MAX_NAMES:
        current = pending.pop()
        properties = current.get("properties")
        if isinstance(properties, Mapping):
            names += (name for name in properties if isinstance(name, str))
        pending += reversed([inner for inner in _subschemas(current) if isinstance(inner, Mapping)])
    return names


def _subschemas(schema: Mapping[str, object]) -> Iterator[object]:
    return (inner for _, inner in subschemas(schema))
