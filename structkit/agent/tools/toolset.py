"""Toolsets: tools that are changed together. Each change makes new tools and leaves the old ones as they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import TypeAlias

from structkit.agent.tools.context import Context
from structkit.agent.tools.tool import AnyTool, Tool, as_tool
from structkit.errors import AgentError
from structkit.functions.call import Call

__all__ = ["Toolset"]


@dataclass(frozen=True, init=False)
class Toolset:
    """Tools that belong together, such as those of a database or of a server. An agent takes it among its tools.

    >>> def read(table: str) -> str: ...
    >>> def drop(table: str) -> None: ...
    >>> database = Toolset([read, drop])
    >>> [tool.name for tool in database.require_approval(lambda tool: tool.name == "drop").prefix("db_")]
    ['db_read', 'db_drop']
    """

    tools: tuple[Tool[..., object], ...]

    def __init__(self, tools: Iterable[AnyTool | Toolset]) -> None:
        """Collect functions, tools, and those of other toolsets.

        Raises:
            AgentError: Something is no tool.
            TypeError: It is no list.
        """
        _check_listed(tools)
        listed = [tool for each in tools for tool in (each if isinstance(each, Toolset) else [each])]
        object.__setattr__(self, "tools", tuple(map(as_tool, listed)))

    def filter(self, keep: Callable[[Tool[..., object]], bool]) -> Toolset:
        """Those for which a function says so."""
        return Toolset(tool for tool in self.tools if keep(tool))

    def prefix(self, prefix: str) -> Toolset:
        """With other names: what two toolsets call alike becomes different."""
        return Toolset(replace(tool, name=f"{prefix}{tool.name}") for tool in self.tools)

    def rename(self, names: Mapping[str, str]) -> Toolset:
        """With other names for some.

        Raises:
            AgentError: There is no tool of a name.
        """
        known = {tool.name for tool in self.tools}
        strange = next((name for name in names if name not in known), None)
        if strange is not None:
            raise AgentError(f"there is no tool {strange} to rename; there are {', '.join(sorted(known))}")
        return Toolset(replace(tool, name=names.get(tool.name, tool.name)) for tool in self.tools)

    def require_approval(
        self,
        predicate: Callable[[Tool[..., object]], bool] = lambda tool: True,
        *,
        when: Callable[[Call[object]], bool] | None = None,
    ) -> Toolset:
        """So that the run stops before their calls until somebody has decided, as it does where it did before.

        Args:
            predicate: For which tools; by default all.
            when: For which of their calls; by default all.
        """
        return Toolset(
            replace(
                tool,
                requires_approval=_either_approval(tool.requires_approval, True if when is None else when),
            )
            if predicate(tool)
            else tool
            for tool in self.tools
        )

    def available(self, when: Callable[[Context[object]], bool | Awaitable[bool]]) -> Toolset:
        """So that they can be called only in those steps for which a function of the context says so, too."""
        return Toolset(replace(tool, available=_both_available(tool.available, when)) for tool in self.tools)

    def __iter__(self) -> Iterator[Tool[..., object]]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)


def _check_listed(tools: object) -> None:
    if not isinstance(tools, Iterable) or isinstance(tools, (str, bytes, Mapping)):
        hint = f"; write [{getattr(tools, '__name__', tools)}]" if callable(tools) else ""
        raise TypeError(f"tools is a list of functions, not {tools!r:.60}{hint}")


Approval: TypeAlias = "bool | Callable[[Call[object]], bool]"
Available: TypeAlias = "Callable[[Context[object]], bool | Awaitable[bool]]"


def _either_approval(one: Approval, other: Approval) -> Approval:
    """Whether one or the other wants approval of a call."""
    if isinstance(one, bool):
        return one or other
    if isinstance(other, bool):
        return other or one
    return lambda call: one(call) or other(call)


def _both_available(one: Available | None, other: Available) -> Available:
    """Whether one and the other say that a tool is available."""
    if one is None:
        return other

    async def waited(first: Awaitable[bool], context: Context[object]) -> bool:
        if not await first:
            return False
        second = other(context)
        return await second if isawaitable(second) else second

    def both(context: Context[object]) -> bool | Awaitable[bool]:
        first = one(context)
        if isawaitable(first):
            return waited(first, context)
        return first and other(context)

    return both
