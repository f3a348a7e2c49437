"""A target compiled over the bytes, whose sentences can be written at random and recognised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from typing_extensions import TypedDict

from structkit.compile import compile
from structkit.limits import Limits
from structkit.models.scripted import byte_vocabulary
from structkit.proof.chance import Chance
from structkit.proof.walk import Walks
from structkit.schema.policy import Defaults, Order, Policy
from structkit.schema.references import subschemas
from structkit.targets import AnyTarget, Target, read_target

__all__ = ["Compiling", "Language"]

_NAMES = 500
"""Names of fields that are looked for in a schema; they only make sentences more varied."""


class Compiling(TypedDict, total=False):
    """The keyword arguments of `sample`, `check` and `testing.strategy` that say what the language is.

    Where they are not given, what the type says of itself counts; see `structkit.configure`.
    """

    defaults: Defaults | None
    """`"always"` writes fields that have a default too; `"may_omit"` leaves some of them out."""

    order: Order | None
    """`"declared"` writes keys as the target lists them; `"any"` in any order."""

    limits: Limits
    """What may be built."""


@dataclass(frozen=True, eq=False)
class Language:
    """The sentences of a target.

    >>> from structkit.proof.chance import Seeded
    >>> language = Language.of(list[bool])
    >>> language.sentence(Seeded("seed 3")), language.holds("[true]"), language.holds("[1]")
    ('[false, false]', True, False)

    Attributes:
        target: The target, read.
        walks: The walks through its automaton.
    """

    target: Target[object]
    walks: Walks

    @classmethod
    def of(
        cls,
        target: AnyTarget,
        *,
        defaults: Defaults | None = None,
        order: Order | None = None,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Language:
        """Compile a target.

        Raises:
            StructkitError: As `structkit.compile` does.
        """
        read = read_target(target, policy=Policy(defaults=defaults, order=order), limits=limits)
        guide = compile(read, byte_vocabulary(), order=order, limits=limits, cache=False)
        names = _names(read.json_schema()) if read.is_json else ()
        return cls(read, Walks(guide, is_json=read.is_json, names=names))

    def sentence(self, chance: Chance) -> str:
        """A random text of the language.

        Raises:
            GenerationError: Even the shortest is too long.
        """
        return self.walks.walk(chance)

    def holds(self, text: str) -> bool:
        """Whether a text is of the language."""
        return self.walks.guide.automaton.accepts(text.encode())


def _names(schema: Mapping[str, object]) -> list[str]:
    """The names of fields in a schema, in its order."""
    names: list[str] = []
    pending = [schema]
    while pending and len(names) < _NAMES:
        current = pending.pop()
        properties = current.get("properties")
        if isinstance(properties, Mapping):
            names += (name for name in properties if isinstance(name, str))
        pending += reversed([inner for inner in _inside(current) if isinstance(inner, Mapping)])
    return names


def _inside(schema: Mapping[str, object]) -> Iterator[object]:
    return (inner for _, inner in subschemas(schema))
