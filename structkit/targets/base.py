"""The interface of targets: a language, the values of its texts, and descriptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from functools import cached_property
from typing import Generic, NamedTuple, TypedDict, TypeVar

from typing_extensions import Unpack

from structkit.limits import Limits
from structkit.regex.nodes import Rules
from structkit.rejected import Rejected
from structkit.schema.markers.annotations import annotations_at, has_annotation
from structkit.schema.markers.json_style import Order, Whitespace
from structkit.schema.markers.quote import QUOTE_KEYWORD, Quote
from structkit.schema.python.validators import PartValidator
from structkit.schema.view.choices import Member
from structkit.targets.rule_reader import RuleReader

__all__ = ["JsonPart", "RulesOptions", "Target"]

T_co = TypeVar("T_co", covariant=True)


class RulesOptions(TypedDict, total=False):
    """The options of `Target.rules`.

    Attributes:
        whitespace: The whitespace of JSON; by default the target's own, or else `"spaced"`.
        order: The order of keys; by default the order of declaration.
        source: The source text of quotes.
        limits: Bounds on the size of the rules.
    """

    whitespace: Whitespace | None
    order: Order | None
    source: str | None
    limits: Limits


class JsonPart(NamedTuple):
    """A part of a text that is JSON, though the text is not.

    Attributes:
        path: The path of its value in that of the text.
        start: The position of its first byte.
        end: The position behind its last byte.
    """

    path: tuple[str | int, ...]
    start: int
    end: int


class Target(ABC, Generic[T_co]):
    """A parsed target: its language, the values of its texts, and its descriptions."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the target in messages."""

    @abstractmethod
    def json_schema(self) -> dict[str, object]:
        """Return the JSON Schema of the target's values."""

    def written_schema(self) -> dict[str, object]:
        """Return the JSON Schema of the target's texts, which can require more than its values need."""
        return self.json_schema()

    @property
    def ignored_formats(self) -> Set[str]:
        """The formats that a Python type adds to strings, and that are not known."""
        return frozenset()

    @abstractmethod
    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        """Return the language of the target's texts."""

    @abstractmethod
    def parse(self, text: str, context: object = None) -> T_co | Rejected:
        """Return the value of a text, or why validators, which read `context`, reject the text."""

    def validators(self) -> PartValidator | None:
        """Return the validators of the parts of a value; `None` if the target has none."""
        return None

    def choices(self, path: Sequence[str | int]) -> tuple[Member, ...] | None:
        """Return the texts of the possible values at a path, if they are finitely many; see `choices_at`."""
        return None

    def is_optional(self, path: Sequence[str | int]) -> bool:
        """Return whether the member of an object at a path can be left out; see `is_optional_at`."""
        return False

    def json_forms(
        self, value: object, *, exclude_unset: bool = False, context: object = None
    ) -> Iterator[tuple[object, object] | Rejected]:
        """Yield the JSON values that represent a user's value, each after the value that it parses to.

        The last item is a `Rejected` if the target rejects the value.
        """
        yield value, value

    def canonicalize(self, value: object) -> object:
        """Return a JSON value in the form in which it is generated; see `structkit.schema.view.canonicalize`."""
        return value

    @property
    def default_whitespace(self) -> Whitespace | None:
        """The whitespace that the target itself declares, if any."""
        return None

    def field_limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        """Return the token limit of a part by its path; `None` if no part is limited. See `MaxTokens`."""
        return None

    @cached_property
    def has_quotes(self) -> bool:
        """Whether parts of its values are quotes, so that its language depends on a source text."""
        return has_annotation(self.json_schema(), QUOTE_KEYWORD)

    def quote(self, path: Sequence[str | int]) -> Quote | None:
        """Return the quote marker of the value at a path, if it is a quote."""
        found = annotations_at(self.json_schema(), QUOTE_KEYWORD, path)
        return Quote.read(found[0]) if found else None

    def rule_reader(self, rules: Collection[str], **style: Unpack[RulesOptions]) -> RuleReader:
        """Return what reports the rules of a grammar in a text.

        Raises:
            ValueError: The target is not a grammar, or has no such rule.
        """
        raise ValueError(f"rules are those of a structkit.Grammar; {self.name} has none")

    @property
    def is_json(self) -> bool:
        """Whether the texts are JSON."""
        return True

    def json_parts(self, text: str) -> Sequence[JsonPart]:
        """Return the parts that are JSON of a text that is not."""
        return ()

    @property
    def is_container(self) -> bool:
        """Whether each text is a JSON object or a JSON array."""
        return False

    @property
    def can_be_number(self) -> bool:
        """Whether some text is a JSON number."""
        return False

    @abstractmethod
    def description(self) -> str | None:
        """Return the text after "Answer with" in a prompt; `None` to omit it."""
