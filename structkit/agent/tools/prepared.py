"""Tools prepared for an agent: arguments as targets, and calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeGuard, cast, get_args

from structkit.agent.tools.approval import is_approval_required
from structkit.agent.tools.context import Context
from structkit.agent.tools.tool import AnyTool, Tool, as_tool
from structkit.errors import AgentError, SchemaError, StructkitError, UnsupportedKeyword
from structkit.functions.call import Call
from structkit.functions.signature import read_signature
from structkit.generate.input.settings import CompileSettings
from structkit.rejected import Rejected
from structkit.schema.ir.nodes import Document
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import AnyTarget, Target, read_target

__all__ = ["PreparedTool", "check_deps", "check_deps_type", "matches_type", "prepare_tools", "type_name"]


class _HasDocument(Protocol):
    """A target with a schema document."""

    @property
    def document(self) -> Document: ...


@dataclass(frozen=True, eq=False)
class PreparedTool:
    """A tool with analysed parameters.

    Attributes:
        tool: The tool.
        target: The target of its arguments object.
        document: The schema of the target.
        context_type: Annotation of the first parameter, if it is the context.
        context_name: Name of that parameter, if it is keyword-only.
    """

    tool: Tool[..., object]
    target: Target[object]
    document: Document
    context_type: object = None
    context_name: str | None = None

    @property
    def name(self) -> str:
        """Name of the tool in calls."""
        return self.tool.name

    @property
    def is_schema(self) -> bool:
        """Whether a JSON Schema describes the arguments, instead of the types of a function."""
        return self.tool.schema is not None

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters of a function whose arguments are generated."""
        properties = self.target.json_schema().get("properties")
        return tuple(properties) if isinstance(properties, Mapping) else ()

    @property
    def is_strict(self) -> bool:
        """Whether all constraints of the arguments are enforced during generation."""
        given = self.tool.schema
        return not isinstance(given, JsonSchema) or given.strict

    @property
    def is_async(self) -> bool:
        """Whether the result must be awaited."""
        function: object = self.tool.function
        while isinstance(function, partial):
            function = function.func
        return inspect.iscoroutinefunction(function)

    def parse(self, arguments: str, context: object = None) -> Call[object] | Rejected:
        """Return the call for a JSON text of arguments, without running it, or why the parameters reject the text."""
        value = self.target.parse(arguments, context)
        if isinstance(value, Rejected):
            return value
        if isinstance(value, Call):
            return Call(self.tool.function, self.name, value.arguments)
        return Call(self.tool.function, self.name, cast("Mapping[str, object]", value))

    def invoke(self, call: Call[object], context: Context[object]) -> object:
        """Run the call; the result of an async tool must be awaited."""
        if self.context_type is None:
            return self.tool.function(**call.arguments)
        if self.context_name is not None:
            return self.tool.function(**{self.context_name: context}, **call.arguments)
        return self.tool.function(context, **call.arguments)

    def pending_reason(self, call: Call[object]) -> str | None:
        """Return why a call awaits a decision before it is executed; `None` if it does not.

        Raises:
            TypeError: The predicate of the tool returned `None` or an awaitable.
        """
        if self.tool.defer:
            return "the caller supplies its result"
        return "it requires approval" if is_approval_required(self.tool.requires_approval, call) else None

    def check_deps(self, deps: object) -> None:
        """Check the dependencies of a run; see `check_deps`."""
        check_deps(self.name, self.expected_deps_type, deps)

    @property
    def expected_deps_type(self) -> object:
        """The type of the dependencies in the annotation of the context."""
        return next(iter(get_args(self.context_type)), object)

    def check_deps_type(self, given: object) -> None:
        """Check a type of dependencies; see `check_deps_type`."""
        check_deps_type(self.name, self.expected_deps_type, given)


def check_deps_type(name: str, expected: object, given: object) -> None:
    """Check that dependencies of a type can satisfy the annotation of the context.

    Raises:
        AgentError: The types are incompatible.
    """
    if given is object or not _is_class(expected) or not isinstance(given, type):
        return
    if not issubclass(given, expected):
        raise AgentError(
            f"{name} takes a Context[{type_name(expected)}], and deps_type is {type_name(given)}; "
            "make them the same",
            place=name,
        )


def check_deps(name: str, expected: object, deps: object) -> None:
    """Check the dependencies of a run against the annotation of the context.

    Raises:
        TypeError: The dependencies have another type.
    """
    if not matches_type(deps, expected):
        wanted = type_name(expected)
        raise TypeError(
            f"{name} takes a Context[{wanted}], and the run was given {deps!r:.60}; pass deps=... of type {wanted}"
        )


def matches_type(deps: object, expected: object) -> bool:
    """Return whether dependencies are instances of a type; true if that cannot be checked."""
    return not _is_class(expected) or isinstance(deps, expected)


def type_name(given: object) -> str:
    """Return the name of a type for messages."""
    return given.__name__ if isinstance(given, type) else str(given)


def _is_class(given: object) -> TypeGuard[type]:
    if given is Any:  # a class since Python 3.11
        return False
    return isinstance(given, type) and not getattr(given, "_is_protocol", False) and not get_args(given)


def prepare_tools(tools: Iterable[AnyTool], compile_settings: CompileSettings) -> tuple[PreparedTool, ...]:
    """Analyse the parameters of tools.

    Raises:
        SchemaError: A parameter cannot be described; the error names the function and the parameter.
        AgentError: An element is not a tool, or two tools have the same name.
    """
    ready = tuple(_prepare(as_tool(each), compile_settings) for each in tools)
    names: set[str] = set()
    for each in ready:
        if each.name in names:
            raise AgentError(
                f"two tools are named {each.name}; rename one of them with structkit.tool(f, name=...)",
                place="tools",
            )
        names.add(each.name)
    return ready


def _prepare(tool: Tool[..., object], compile_settings: CompileSettings) -> PreparedTool:
    if tool.schema is not None:
        given = _read_schema(tool, tool.schema, compile_settings)
        return PreparedTool(tool, given, cast("_HasDocument", given).document)
    function: Callable[..., object] = tool.function
    signature = read_signature(function, name=tool.name, given=Context)
    if tool.description is not None:
        signature = replace(signature, description=tool.description)
    target = read_target(
        cast("AnyTarget", signature), policy=compile_settings.json_style, limits=compile_settings.limits
    )
    document = cast("_HasDocument", target).document
    return PreparedTool(tool, target, document, signature.context_type, signature.context_name)


def _read_schema(
    tool: Tool[..., object], schema: Mapping[str, object] | JsonSchema, compile_settings: CompileSettings
) -> Target[object]:
    """Return the target of arguments that are described by a JSON Schema.

    Raises:
        StructkitError: The schema cannot be enforced; the error names the tool.
    """
    given = schema if isinstance(schema, JsonSchema) else JsonSchema(schema, additional="closed")
    described = {} if tool.description is None else {"description": tool.description}
    kinds = given.schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        raise SchemaError(
            f"the arguments of {tool.name} must be an object, but the type in its schema is {kinds!r:.80}; "
            "write {'type': 'object'}",
            place=tool.name,
        )
    given = replace(given, schema={**given.schema, "type": "object", **described})
    try:
        target = read_target(given, limits=compile_settings.limits)
        target.rules(
            whitespace=compile_settings.whitespace,
            order=compile_settings.order,
            limits=compile_settings.limits,
        )
    except StructkitError as error:
        raise _with_tool_name(error, tool.name) from error
    return target


def _with_tool_name(error: StructkitError, name: str) -> StructkitError:
    """Return the error with the name of the tool in its message."""
    made = copy(error)
    made.message = f"the arguments of {name} cannot be written: {error.message}"
    if isinstance(error, UnsupportedKeyword):
        made.message += "; with strict=False it is checked before the call instead"
    made.args = (made.message,)
    made.place = name if error.place is None else f"{name}: {error.place}"
    return made
