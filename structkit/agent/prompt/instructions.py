"""Instructions of an agent: texts, and functions that a run calls before its first step."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast, get_args, get_origin

from typing_extensions import get_type_hints

from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import check_deps_type, matches_type, type_name

__all__ = ["AnyInstructions", "Instruction", "Instructions", "read_instructions"]

InstructionFunction: TypeAlias = "Callable[..., str | Awaitable[str | None] | None]"
"""A function, sync or async, of the run's context or without a parameter; `None` adds no text."""

AnyInstructions: TypeAlias = "str | InstructionFunction | Sequence[str | InstructionFunction]"
"""The types that an agent accepts as instructions."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A function that returns a part of the instructions.

    Attributes:
        function: The function.
        location: Its place in the `instructions` of the agent, for messages.
        takes_context: Whether it has a parameter for the context.
        deps_type: The type of the dependencies in the annotation of that parameter.
    """

    function: InstructionFunction
    location: str
    takes_context: bool
    deps_type: object

    def __call__(self, context: Context[object]) -> object:
        """Call the function; the result of an async function must be awaited."""
        return self.function(context) if self.takes_context else self.function()

    def check_deps(self, deps: object) -> None:
        """Check the dependencies of a run against the annotation of the context.

        Raises:
            TypeError: The dependencies have another type.
        """
        if not matches_type(deps, self.deps_type):
            wanted = type_name(self.deps_type)
            raise TypeError(
                f"{self.location} takes a Context[{wanted}], and the run was given {deps!r:.60}; "
                f"pass deps=... of type {wanted}"
            )


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of an agent.

    Attributes:
        static: The texts, equal in every run; `None` without any.
        functions: The functions.
    """

    static: str | None = None
    functions: tuple[Instruction, ...] = ()

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
    functions: list[Instruction] = []
    for position, part in enumerate(listed):
        location = f"instructions[{position}]" if listed is given else "instructions"
        if isinstance(part, str):
            texts.append(part)
        elif callable(part) and not isinstance(part, type):
            functions.append(_read_function(part, f"{location} ({getattr(part, '__name__', part)!s:.60})"))
        else:
            raise TypeError(f"{location} must be a string, or a function that returns one, not {part!r:.60}")
    for each in functions:
        check_deps_type(each.location, each.deps_type, deps_type)
    return Instructions("\n\n".join(texts) if texts else None, tuple(functions))


def _read_function(function: InstructionFunction, location: str) -> Instruction:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return Instruction(function, location, takes_context=False, deps_type=object)
    wanted = [each for each in parameters if each.default is each.empty and each.kind not in _OPTIONAL]
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    if len(wanted) > 1 or (wanted and not positional):
        names = ", ".join(each.name for each in wanted)
        raise TypeError(
            f"{location} takes {names}; write a function of the run's context, or without a parameter"
        )
    takes_context = bool(wanted)
    annotation = _annotations(function).get(positional[0].name) if positional else None
    if get_origin(annotation) is Context or annotation is Context:
        return Instruction(function, location, True, next(iter(get_args(annotation)), object))
    return Instruction(function, location, takes_context, object)


_OPTIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _annotations(function: object) -> dict[str, object]:
    try:
        return dict(get_type_hints(function))
    except Exception:  # an annotation is user code, and may name what is not imported
        return {}
