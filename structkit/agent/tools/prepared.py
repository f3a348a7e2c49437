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
from structkit.generate.input.options import Writing
from structkit.lowering.strings.oracle import AutomatonTexts
from structkit.schema.ir.nodes import Document
from structkit.targets.targets import AnyTarget, JsonSchema, Target, read_target

__all__ = ["Ready", "make_ready"]


class _Documented(Protocol):
    """A target that has a schema."""

    @property
    def document(self) -> Document: ...


@dataclass(frozen=True, eq=False)
class Ready:
    """A tool whose parameters were read.

    Attributes:
        tool: The tool.
        target: The object of its arguments.
        document: Its schema.
        first: The annotation of its first parameter, if that takes the context.
        first_name: The name of that, if it can be given by its name alone.
    """

    tool: Tool[..., object]
    target: Target[object]
    document: Document
    first: object = None
    first_name: str | None = None

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

    def call(self, arguments: str) -> Call[object]:
        """The call that a JSON text of arguments stands for, not yet called.

        Raises:
            ValueError: The types of the parameters refuse them.
        """
        value = self.target.value(arguments)
        if isinstance(value, Call):
            return Call(self.tool.function, self.name, value.arguments)
        return Call(self.tool.function, self.name, cast("Mapping[str, object]", value))

    def begin(self, call: Call[object], context: Context[object]) -> object:
        """Call it; what an async tool returns must be awaited."""
        if self.first is None:
            return self.tool.function(**call.arguments)
        if self.first_name is not None:
            return self.tool.function(**{self.first_name: context}, **call.arguments)
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
        if not is_of(deps, self.deps_wanted):
            wanted = name_of(self.deps_wanted)
            raise TypeError(
                f"{self.name} takes a Context[{wanted}], and the run was given {deps!r:.60}; "
                f"pass deps=... of type {wanted}"
            )

    @property
    def deps_wanted(self) -> object:
        """The type of the dependencies that its context has."""
        return next(iter(get_args(self.first)), object)

    def check_deps_type(self, given: object) -> None:
        """Refuse a type of dependencies none of which can be what the tool wants.

        Raises:
            AgentError: They are not.
        """
        wanted = self.deps_wanted
        if given is object or not _is_class(wanted) or not isinstance(given, type):
            return
        if not issubclass(given, wanted):
            raise AgentError(
                f"{self.name} takes a Context[{name_of(wanted)}], and deps_type is {name_of(given)}",
                place=self.name,
            )


def is_of(deps: object, wanted: object) -> bool:
    """Whether dependencies are of a type, as far as that can be told."""
    return not _is_class(wanted) or isinstance(deps, wanted)


def name_of(given: object) -> str:
    """A type in a message."""
    return given.__name__ if isinstance(given, type) else str(given)


def _is_class(given: object) -> TypeGuard[type]:
    return isinstance(given, type) and not getattr(given, "_is_protocol", False) and not get_args(given)


def make_ready(tools: Iterable[AnyTool], writing: Writing) -> tuple[Ready, ...]:
    """Read the parameters of tools.

    Raises:
        SchemaError: A function cannot be called by a model; the error names it and its parameter.
        AgentError: Something is no tool, or two tools have one name.
    """
    ready = tuple(_ready(as_tool(each), writing) for each in tools)
    names: set[str] = set()
    for each in ready:
        if each.name in names:
            raise AgentError(
                f"two tools are called {each.name}; name one of them otherwise with structkit.tool(f, name=...)",
                place="tools",
            )
        names.add(each.name)
    return ready


def _ready(tool: Tool[..., object], writing: Writing) -> Ready:
    if tool.schema is not None:
        given = _read_schema(tool, tool.schema, writing)
        return Ready(tool, given, cast("_Documented", given).document)
    function: Callable[..., object] = tool.function
    signature = read_signature(function, name=tool.name, given=Context)
    output = FunctionOutput.read(
        signature,
        description=tool.description,
        policy=writing.policy,
        limits=writing.limits,
        texts=AutomatonTexts(python=True, limits=writing.limits),
    )
    target = read_target(cast("AnyTarget", output))
    return Ready(tool, target, output.document, signature.first, signature.first_name)


def _read_schema(
    tool: Tool[..., object], schema: Mapping[str, object] | JsonSchema, writing: Writing
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
        target = read_target(given, limits=writing.limits)
        target.rules(whitespace=writing.whitespace, order=writing.order, limits=writing.limits)
    except StructkitError as error:
        raise _named(error, tool.name) from error
    return target


def _named(error: StructkitError, name: str) -> StructkitError:
    """The same error with the name of the tool."""
    made = copy(error)
    made.message = f"the arguments of {name} cannot be written: {error.message}"
    if isinstance(error, UnsupportedKeyword):
        made.message += "; with strict=False it is checked before the call instead"
    made.args = (made.message,)
    made.place = name if error.place is None else f"{name}: {error.place}"
    return made
