"""What `explain` reports about a Lark grammar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["FindingKind", "GrammarFinding"]

FindingKind: TypeAlias = Literal[
    "narrowed",
    "conflict",
    "hidden terminal",
    "overlap",
    "keyword",
    "lexer",
    "no text",
    "unused",
    "incomplete",
]


@dataclass(frozen=True, slots=True)
class GrammarFinding:
    """Something in a Lark grammar that its author may not expect.

    Attributes:
        kind: `"narrowed"`, a terminal without some of its texts, because the rules would exceed `Limits.work` with
            them; `"conflict"`, a rule that the LALR parser does not end before a terminal, though it could; `"hidden
            terminal"`, a terminal that the lexer never finds; `"overlap"`, a terminal with a text at whose place the
            lexer finds another one; `"keyword"`, a text of a terminal that the lexer reads as
            a keyword; `"lexer"`, a text for which the contextual lexer and the basic one differ; `"no text"`, a rule
            without a text; `"unused"`, a name that no text uses; `"incomplete"`, a search that a bound ended.
        name: The rule or the terminal.
        reason: What happens, and why.
        line: The line of its definition, from 1; `None` if another file defines it.
        column: The column.
        example: A short text, which Lark has read. For a conflict, a hidden terminal, an overlap or a keyword, the
            rules contain it and Lark refuses it; for a lexer, one of the two accepts it. `None` if none was found.
    """

    kind: FindingKind
    name: str
    reason: str
    line: int | None = None
    column: int | None = None
    example: str | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}, column {self.column}: "
        example = "" if self.example is None else f"; example: {self.example!r}"
        return f"{place}{self.kind} {self.name}: {self.reason}{example}"
