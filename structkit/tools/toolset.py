"""Toolsets: tools that are changed together. Each change makes new tools and leaves the old ones as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from structkit.errors import AgentError
from structkit.functions.call import Call
from structkit.tools.context import Context
from structkit.tools.tool import AnyTool, Tool, as_tool

__all__ = ["Toolset"]


@dataclass(frozen=True, init=False)
class Toolset:
    """Tools that belong together, such as those of a database or of a server. An agent takes it among its tools.

    >>> def read(table: str) -> str: ...
    >>> def drop(table: str) -> None: ...
    >>> database = Toolset([read, drop])
    >>> [tool.name for tool in database.approve(lambda tool: tool.name == "drop").prefix("db_")]
    ['db_read', 'db_drop']
    """

    tools: tuple[Tool[..., object], ...]

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        """Collect functions and tools.

        Raises:
            AgentError: Something is no tool.
        """
        object.__setattr__(self, "tools", tuple(as_tool(each) for each in tools))

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

    def approve(
        self,
        which: Callable[[Tool[..., object]], bool] = lambda tool: True,
        *,
        calls: Callable[[Call[object]], bool] | None = None,
    ) -> Toolset:
        """So that the run stops before their calls until somebody has decided.

        Args:
            which: For which tools; by default all.
            calls: For which of their calls; by default all.
        """
        asked = True if calls is None else calls
        return Toolset(replace(tool, requires_approval=asked) if which(tool) else tool for tool in self.tools)

    def available(self, when: Callable[[Context[object]], bool]) -> Toolset:
        """So that they can be called only in those steps for which a function of the context says so."""
        return Toolset(replace(tool, available=when) for tool in self.tools)

    def __iter__(self) -> Iterator[Tool[..., object]]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)
