"""A target compiled over the bytes, whose sentences can be written at random and recognised."""

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
"""Names of fields that are looked for in a schema; they only make sentences more varied."""


class CompileOptions(TypedDict, total=False):
    """The keyword arguments of `sample`, `check` and `testing.strategy` that say what the language is.

    Where they are not given, what the type says of itself counts; see `structkit.json_style`.
    """

    defaults: Defaults | None
    """`"always"` writes fields that have a default too; `"may_omit"` leaves some of them out."""

    order: Order | None
    """`"declared"` writes keys as the target lists them; `"any"` in any order."""

    null: NullFields | None
    """What is written of a field `X | None = None` that has no value: `"always"` writes `null`, `"omit"` leaves the
    field out, `"may_omit"` does either."""

    whitespace: Whitespace | None
    """`"spaced"` writes JSON as `json.dumps` does; `"compact"` without spaces."""

    source: str | None
    """The text that fields with `structkit.Quote` are taken from."""

    limits: Limits
    """What may be built."""


@dataclass(frozen=True, eq=False)
class Language:
    """The sentences of a target.

    >>> from structkit.testing.proof.random_source import SeededSource
    >>> language = Language.compile(list[bool])
    >>> language.sentence(SeededSource("seed 3")), language.contains("[true]"), language.contains("[1]")
    ('[false, false]', True, False)

    Attributes:
        target: The target, read.
        walks: The walks through its automaton.
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
            StructkitError: As `structkit.compile` does.
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
        """A random text of the language.

        Raises:
            GenerationError: Even the shortest is too long.
        """
        return self.walks.walk(random_source)

    def contains(self, text: str) -> bool:
        """Whether a text is of the language."""
        return self.walks.guide.reader.accepts(text.encode())

    def dump(self, value: object) -> str:
        """A JSON value in the style of the language."""
        separators = (",", ":") if self.is_compact else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)

    def writes(self, dump: str) -> bool:
        """Whether the value of a JSON text is in the language, in its style or in the form of `Target.fitted`."""
        value: object = json.loads(dump)
        return any(self.contains(self.dump(form)) for form in (value, self.target.canonicalize(value)))


def _property_names(schema: Mapping[str, object]) -> list[str]:
    """The names of fields in a schema, in its order."""
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
