"""The configuration of an agent, which tests can override."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Generic

from typing_extensions import TypeVar

from structkit.agent.prompt.instructions import AnyInstructions, read_instructions
from structkit.agent.run.config import AgentConfig
from structkit.agent.run_arguments import names_run_arguments
from structkit.agent.tools.prepared import prepare_tools
from structkit.agent.tools.tool import AnyTool
from structkit.agent.tools.toolset import Toolset
from structkit.arguments.shared import Shared
from structkit.models.protocols import HasScript
from structkit.models.text.protocol import AnyModel

__all__ = ["Configured"]

D_contra = TypeVar("D_contra", contravariant=True, default=object)

UNSET: Final = object()
"""The default of `deps`, for which `None` is a value."""


@dataclass(frozen=True, slots=True)
class _Override:
    """The configuration of runs that start, and their dependencies."""

    config: AgentConfig
    deps: object


class Configured(Shared, Generic[D_contra]):
    """The configuration of an agent, and `override`."""

    pickle_remedy = "pass a function that makes the agent, and call it in the other process"

    _own_config: AgentConfig
    _override: ContextVar[_Override | None]

    def _configure(self, config: AgentConfig) -> None:
        self._own_config = config
        self._override = ContextVar("structkit.agent", default=None)

    @property
    def name(self) -> str | None:
        """The name in logs and spans."""
        return self._config.name

    @property
    def model(self) -> AnyModel:
        """The model."""
        return self._config.model

    @property
    def _config(self) -> AgentConfig:
        """The configuration, or the one that overrides it."""
        override = self._override.get()
        return self._own_config if override is None else override.config

    def _deps(self, given: object) -> object:
        """Return the dependencies of a run, or those that override them."""
        override = self._override.get()
        return given if override is None or override.deps is UNSET else override.deps

    @names_run_arguments
    @contextmanager
    def override(
        self,
        *,
        model: AnyModel | None = None,
        tools: Iterable[AnyTool | Toolset] | None = None,
        deps: D_contra = UNSET,  # type: ignore[assignment]
        instructions: AnyInstructions | None = None,
    ) -> Iterator[None]:
        """Replace parts of this agent, also where other code calls it.

        The replacement applies to the runs, streams and steps that start inside the `with` statement, in the same
        thread or task and in the tools and tasks that it starts; other threads and tasks are not affected. Overrides
        nest: an inner one replaces only what it names.

        Args:
            model: Another model, such as a `structkit.testing.ScriptedModel`.
            tools: All tools.
            deps: The dependencies, in place of those that `run` receives.
            instructions: All instructions; see the constructor. An empty string is none.

        Raises:
            ScriptError: At the end, if no exception is raised: the scripted model has unused replies.
            StructkitError: The replacement does not fit the agent; see its constructor.

        >>> import structkit as sk
        >>> from structkit.testing import RandomModel, ScriptedModel
        >>> agent = sk.Agent(RandomModel(), output_type=bool)
        >>> def is_urgent(text: str) -> bool:
        ...     return agent.run(text).value
        >>> with agent.override(model=ScriptedModel(["true"])):
        ...     print(is_urgent("It is on fire!"))
        True
        """
        config = self._config
        if model is not None:
            config = config.with_model(model)
        if tools is not None:
            config = config.with_tools(prepare_tools(Toolset(tools).tools, config.settings.compile_settings))
        if instructions is not None:
            config = config.with_instructions(read_instructions(instructions, config.deps_type))
        before = self._override.set(_Override(config, self._deps(UNSET) if deps is UNSET else deps))
        try:
            yield
        finally:
            self._override.reset(before)
        if isinstance(model, HasScript):
            model.check_finished()
