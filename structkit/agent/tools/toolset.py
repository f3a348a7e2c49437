"""Toolsets: immutable collections of tools with common options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from structkit.agent.tools.approval import is_approval_required
from structkit.agent.tools.context import Context
from structkit.agent.tools.tool import AnyTool, Availability, Tool, as_tool
from structkit.arguments.checks import check_function
from structkit.arguments.names import missing_attribute, names_arguments
from structkit.errors import AgentError
from structkit.functions.call import Call

__all__ = ["Toolset", "require_approval"]

_BY_NAME = "{tool.name: tool for tool in toolset}[name]"

_NAMES = "[tool.name for tool in toolset]"

_OTHER_METHODS = {
    "add_function": "Toolset([*toolset, f])",
    "add_tool": "Toolset([*toolset, f])",
    "approval_required": ".require_approval(...)",
    "filtered": ".filter(...)",
    "get": _BY_NAME,
    "get_tools": ".tools",
    "names": _NAMES,
    "prefixed": ".prefix(...)",
    "prepared": ".available(...)",
    "renamed": ".rename(...)",
    "tool": "Toolset([*toolset, f])",
    "with_prefix": ".prefix(...)",
}
"""What other libraries call the methods of a toolset."""

D = TypeVar("D")


@names_arguments
@dataclass(frozen=True, init=False, repr=False)
class Toolset:
    """Related tools, such as those of a database or a server. Agents accept toolsets among their tools.

    >>> def read(table: str) -> str: ...
    >>> def drop(table: str) -> None: ...
    >>> database = Toolset([read, drop])
    >>> [tool.name for tool in database.require_approval(lambda tool: tool.name == "drop").prefix("db_")]
    ['db_read', 'db_drop']
    """

    tools: tuple[Tool[..., object], ...]

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the method that other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_METHODS)

        def __getitem__(self, name: object) -> object:
            """Say how a tool is found by its name."""
            raise TypeError(f"a Toolset has tools and no items; write {_BY_NAME}, or toolset.tools[0]")

        def __contains__(self, tool: object) -> bool:
            """Return whether a tool is one of these; a name is none."""
            if isinstance(tool, str):
                raise TypeError(f"a Toolset contains tools and no names; write {tool!r} in {_NAMES}")
            return tool in self.tools

    def __init__(self, tools: Iterable[AnyTool | Toolset]) -> None:
        """Collect functions, tools, and the tools of other toolsets.

        Raises:
            AgentError: An element is not a tool.
            TypeError: `tools` is not a list.
        """
        _check_listed(tools)
        listed = [tool for each in tools for tool in (each if isinstance(each, Toolset) else [each])]
        object.__setattr__(self, "tools", tuple(map(as_tool, listed)))

    def filter(self, keep: Callable[[Tool[..., object]], bool]) -> Toolset:
        """Return the tools that satisfy a predicate."""
        check_function("keep", keep, "tool")
        return Toolset(tool for tool in self.tools if keep(tool))

    def prefix(self, prefix: str) -> Toolset:
        """Return the tools with a prefix in their names, to avoid name conflicts between toolsets."""
        return Toolset(replace(tool, name=f"{prefix}{tool.name}") for tool in self.tools)

    def rename(self, names: Mapping[str, str]) -> Toolset:
        """Return the tools with some of them renamed.

        Raises:
            AgentError: A name is unknown.
        """
        known = {tool.name for tool in self.tools}
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            raise AgentError(
                f"cannot rename unknown tool {unknown}; the tools are {', '.join(sorted(known))}"
            )
        return Toolset(replace(tool, name=names.get(tool.name, tool.name)) for tool in self.tools)

    def require_approval(
        self,
        predicate: Callable[[Tool[..., object]], bool] = lambda tool: True,
        *,
        when: Callable[[Call[object]], bool] | None = None,
    ) -> Toolset:
        """Return the tools with approval required for their calls, in addition to existing requirements.

        Args:
            predicate: Which tools; by default all.
            when: Which calls of these tools; by default all.
        """
        check_function("predicate", predicate, "tool")
        if when is not None:
            check_function("when", when, "call")
        return Toolset(
            replace(
                tool,
                requires_approval=_either_approval(tool.requires_approval, True if when is None else when),
            )
            if predicate(tool)
            else tool
            for tool in self.tools
        )

    def available(self, when: Callable[[Context[D]], bool | Awaitable[bool]]) -> Toolset:
        """Return the tools with a further predicate of the context, sync or async, evaluated before each step.

        While it is false, the model cannot call the tools, and its prompt does not mention them.

        >>> from structkit import Agent
        >>> from structkit.testing import ScriptedModel
        >>> def drop_all() -> None:
        ...     '''Delete the database.'''
        >>> admin = Toolset([drop_all]).available(lambda context: context.deps == "admin")
        >>> model = ScriptedModel(["Hello."])
        >>> reply = Agent(model, tools=[admin], deps_type=str).run("Hi", deps="guest")
        >>> "Delete the database" in model.prompts[0]
        False
        """
        check_function("when", when, "context")
        wanted = cast("Availability", when)
        return Toolset(
            replace(tool, available=_both_available(tool.available, wanted)) for tool in self.tools
        )

    def __iter__(self) -> Iterator[Tool[..., object]]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __repr__(self) -> str:
        return f"<Toolset: {', '.join(tool.name for tool in self.tools) or 'no tools'}>"


@names_arguments
def require_approval(
    *tools: AnyTool | Toolset, when: Callable[[Call[object]], bool] | None = None
) -> Toolset:
    """Return the tools with approval required for their calls; see `Toolset.require_approval`.

    Args:
        *tools: Functions, tools and toolsets.
        when: Which calls require approval; by default all.

    Raises:
        AgentError: An element is not a tool.

    >>> def refund(euros: float) -> None: ...
    >>> (refund,) = require_approval(refund, when=lambda call: call.arguments["euros"] > 100)
    >>> refund.name, callable(refund.requires_approval)
    ('refund', True)
    """
    return Toolset(tools).require_approval(when=when)


def _check_listed(tools: object) -> None:
    if not isinstance(tools, Iterable) or isinstance(tools, (str, bytes, Mapping)):
        name = tools.name if isinstance(tools, Tool) else getattr(tools, "__name__", "f")
        name = "agent.as_tool(name)" if hasattr(tools, "as_tool") else name
        name = "server.tools()" if hasattr(tools, "atools") else name  # a connection to an MCP server
        remedy = "leave it out" if tools is None else f"write tools=[{name}]"
        raise TypeError(f"tools is a list of functions, not {tools!r:.60}; {remedy}")


Approval: TypeAlias = "bool | Callable[[Call[object]], bool]"


def _either_approval(one: Approval, other: Approval) -> Approval:
    """Return the disjunction of two approval requirements."""
    if isinstance(one, bool):
        return one or other
    if isinstance(other, bool):
        return other or one
    return lambda call: is_approval_required(one, call) or is_approval_required(other, call)


def _both_available(one: Availability | None, other: Availability) -> Availability:
    """Return the conjunction of two availability predicates."""
    if one is None:
        return other

    async def waited(first: Awaitable[bool], context: Context[object]) -> bool:
        if not (answer := await first):
            return answer
        second = other(context)
        return await second if isawaitable(second) else second

    def both(context: Context[object]) -> bool | Awaitable[bool]:
        first = one(context)
        if isawaitable(first):
            return waited(first, context)
        return first and other(context)

    return both
