"""The output of an agent: its target, and the functions that the agent calls to make its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Any, Union, get_args, get_origin

from structkit.agent.formats.text import read_text_or_json
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import PreparedTool, prepare_tools
from structkit.functions.call import Call
from structkit.functions.signature import is_function, read_signature
from structkit.generate.input.settings import CompileSettings
from structkit.targets.targets import AnyTarget, Target

__all__ = ["OutputFunction", "function_of", "read_output"]


@dataclass(frozen=True, slots=True, eq=False)
class OutputFunction:
    """An output type, or a member of one, that is a function.

    Attributes:
        function: The function of its `Call` values, without the context.
        tool: The function as a tool.
    """

    function: Callable[..., object]
    tool: PreparedTool


def read_output(
    output_type: AnyTarget, settings: CompileSettings
) -> tuple[Target[object], tuple[OutputFunction, ...]]:
    """Read the output type of an agent.

    Returns:
        The target, and its functions: the output type itself, or members of a union.

    Raises:
        SchemaError: The type is not supported.
        AgentError: A function cannot be a tool.
    """
    given: Any = output_type
    is_union = get_origin(given) in (Union, UnionType)
    members = get_args(given) if is_union else (given,)
    functions = {id(each): _read_function(each, settings) for each in members if is_function(each)}
    if functions:
        known = tuple(functions[id(each)].function if id(each) in functions else each for each in members)
        given = Union[known] if is_union else known[0]  # noqa: UP007
    target = read_text_or_json(given, policy=settings.json_style, limits=settings.limits)
    return target, tuple(functions.values())


def function_of(value: object, functions: Sequence[OutputFunction]) -> PreparedTool | None:
    """Return the function to call for a value; `None` if the value is no call of an output function."""
    if not isinstance(value, Call):
        return None
    return next((each.tool for each in functions if each.function is value.function), None)


def _read_function(function: Callable[..., object], settings: CompileSettings) -> OutputFunction:
    (tool,) = prepare_tools((function,), settings)
    if tool.context_type is None:
        return OutputFunction(function, tool)
    keyword = read_signature(function, given=Context).context_name
    without: Callable[..., object] = (
        partial(function, **{keyword: None}) if keyword else partial(function, None)
    )
    return OutputFunction(without, tool)
