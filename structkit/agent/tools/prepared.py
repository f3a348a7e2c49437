"""Tools made ready for an agent: their arguments as targets, and how they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeGuard, cast, get_args

from structkit.agent.tools.context import Context
from structkit.agent.tools.tool import AnyTool, Tool, as_tool
from structkit.errors import AgentError, SchemaError, StructkitError, UnsupportedKeyword
from structkit.functions.call import Call
from structkit.functions.output import FunctionOutput
from structkit.functions.signature import read_signature
from structkit.generate.input.options import CompileSettings
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.ir.nodes import Document
from structkit.targets.targets import AnyTarget, JsonSchema, Target, read_target

__all__ = ["PreparedTool", "prepare_tools"]


class _HasDocument(Protocol):
    """A target that has a schema."""

    @property
    def document(self) -> Document: ...


@dataclass(frozen=True, eq=False)
class PreparedTool:
    """A tool whose parameters were read.

    Attributes:
        tool: The tool.
        target: The object of its arguments.
        document: Its schema.
        context_type: The annotation of its first parameter, if that takes the context.
        context_name: The name of that, if it can be given by its name alone.
    """

    tool: Tool[..., object]
    target: Target[object]
    document: Document
    context_type: object = None
    context_name: str | None = None

    @property
    def name(self) -> str:
        """What the model calls it by."""
        return self.tool.name

    @property
    def is_schema(self) -> bool:
        """Whether a JSON Schema says what its arguments are, and not the types of a function."""
        return self.tool.schema is not None

    @property
    def is_strict(self) -> bool:
        """Whether all that is said of its arguments holds while they are written."""
        given = self.tool.schema
        return not isinstance(given, JsonSchema) or given.strict

    @property
    def is_async(self) -> bool:
        """Whether it is to be awaited."""
        function: object = self.tool.function
        while isinstance(function, partial):
            function = function.func
        return inspect.iscoroutinefunction(function)

    def parse(self, arguments: str) -> Call[object]:
        """The call that a JSON text of arguments stands for, not yet called.

        Raises:
            ValueError: The types of the parameters refuse them.
        """
        value = self.target.value(arguments)
        if isinstance(value, Call):
            return Call(self.tool.function, self.name, value.arguments)
        return Call(self.tool.function, self.name, cast("Mapping[str, object]", value))

    def invoke(self, call: Call[object], context: Context[object]) -> object:
        """Call it; what an async tool returns must be awaited."""
        if self.context_type is None:
            return self.tool.function(**call.arguments)
        if self.context_name is not None:
            return self.tool.function(**{self.context_name: context}, **call.arguments)
        return self.tool.function(context, **call.arguments)

    def needs_approval(self, call: Call[object]) -> bool:
        """Whether somebody must approve of a call."""
        asked = self.tool.requires_approval
        return asked(call) if callable(asked) else asked

    def check_deps(self, deps: object) -> None:
        """Refuse dependencies that are not what the tool wants.

        Raises:
            TypeError: They are of another type.
        """
        if not matches_type(deps, self.expected_deps_type):
            wanted = type_name(self.expected_deps_type)
            raise TypeError(
                f"{self.name} takes a Context[{wanted}], and the run was given {deps!r:.60}; "
                f"pass deps=... of type {wanted}"
            )

    @property
    def expected_deps_type(self) -> object:
        """The type of the dependencies that its context has."""
        return next(iter(get_args(self.context_type)), object)

    def check_deps_type(self, given: object) -> None:
        """Refuse a type of dependencies none of which can be what the tool wants.

        Raises:
            AgentError: They are not.
        """
        wanted = self.expected_deps_type
        if given is object or not _is_class(wanted) or not isinstance(given, type):
            return
        if not issubclass(given, wanted):
            raise AgentError(
                f"{self.name} takes a Context[{type_name(wanted)}], and deps_type is {type_name(given)}",
                place=self.name,
            )


def matches_type(deps: object, expected: object) -> bool:
    """Whether dependencies are of a type, as far as that can be told."""
    return not _is_class(expected) or isinstance(deps, expected)


def type_name(given: object) -> str:
    """A type in a message."""
    return given.__name__ if isinstance(given, type) else str(given)


def _is_class(given: object) -> TypeGuard[type]:
    return isinstance(given, type) and not getattr(given, "_is_protocol", False) and not get_args(given)


def prepare_tools(tools: Iterable[AnyTool], compile_settings: CompileSettings) -> tuple[PreparedTool, ...]:
    """Read the parameters of tools.

    Raises:
        SchemaError: A function cannot be called by a model; the error names it and its parameter.
        AgentError: Something is no tool, or two tools have one name.
    """
    ready = tuple(_prepare(as_tool(each), compile_settings) for each in tools)
    names: set[str] = set()
    for each in ready:
        if each.name in names:
            raise AgentError(
                f"two tools are called {each.name}; name one of them otherwise with structkit.tool(f, name=...)",
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
    output = FunctionOutput.read(
        signature,
        description=tool.description,
        policy=compile_settings.json_style,
        limits=compile_settings.limits,
        texts=AutomatonOracle(python=True, limits=compile_settings.limits),
    )
    target = read_target(cast("AnyTarget", output))
    return PreparedTool(tool, target, output.document, signature.context_type, signature.context_name)


def _read_schema(
    tool: Tool[..., object], schema: Mapping[str, object] | JsonSchema, compile_settings: CompileSettings
) -> Target[object]:
    """The arguments of a tool that a JSON Schema says.

    Raises:
        StructkitError: They cannot be written; the error names the tool.
    """
    given = schema if isinstance(schema, JsonSchema) else JsonSchema(schema, additional="closed")
    said = {} if tool.description is None else {"description": tool.description}
    kinds = given.schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        raise SchemaError(
            f"the arguments of {tool.name} are an object, and its schema says that they are {kinds!r:.80}",
            place=tool.name,
        )
    given = replace(given, schema={**given.schema, "type": "object", **said})
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
    """The same error with the name of the tool."""
    made = copy(error)
    made.message = f"the arguments of {name} cannot be written: {error.message}"
    if isinstance(error, UnsupportedKeyword):
        made.message += "; with strict=False it is checked before the call instead"
    made.args = (made.message,)
    made.place = name if error.place is None else f"{name}: {error.place}"
    return made
