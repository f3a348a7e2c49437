"""Instructions of an agent: texts, and functions that a run calls before its first step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from structkit.agent.prompt.callback import Callback, read_callback

__all__ = ["AnyInstructions", "Instructions", "read_instructions"]

InstructionFunction: TypeAlias = "Callable[..., str | Awaitable[str | None] | None]"
"""A function, sync or async, of the run's context or without a parameter; `None` adds no text."""

AnyInstructions: TypeAlias = "str | InstructionFunction | Sequence[str | InstructionFunction]"
"""The types that an agent accepts as instructions."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of an agent.

    Attributes:
        static: The texts, equal in every run; `None` without any.
        functions: The functions.
    """

    static: str | None = None
    functions: tuple[Callback, ...] = ()

    def text(self, returned: Sequence[object]) -> str | None:
        """Return the instructions of a run: the texts, then what the functions returned.

        The texts come first, so that the prompts of all runs start with the same tokens.

        Raises:
            TypeError: A function returned something other than a string or `None`.
        """
        parts = [] if self.static is None else [self.static]
        for instruction, text in zip(self.functions, returned, strict=True):
            if text is not None and not isinstance(text, str):
                raise TypeError(
                    f"{instruction.location} returned {text!r:.60}; return a string, or None for no text"
                )
            if text:
                parts.append(text)
        return "\n\n".join(parts) if parts else None


def read_instructions(given: AnyInstructions | None, deps_type: object) -> Instructions:
    """Read the `instructions` of an agent.

    Raises:
        TypeError: A part is neither a string nor a function of at most one argument.
        AgentError: A function expects other dependencies than `deps_type`.
    """
    if given is None:
        return Instructions()
    listed = given if isinstance(given, (list, tuple)) else [cast("str | InstructionFunction", given)]
    texts: list[str] = []
    functions: list[Callback] = []
    for position, part in enumerate(listed):
        location = f"instructions[{position}]" if listed is given else "instructions"
        if isinstance(part, str):
            texts.append(part)
        elif callable(part) and not isinstance(part, type):
            functions.append(read_callback(part, location, (), deps_type))
        else:
            raise TypeError(f"{location} must be a string, or a function that returns one, not {part!r:.60}")
    return Instructions("\n\n".join(texts) if texts else None, tuple(functions))
