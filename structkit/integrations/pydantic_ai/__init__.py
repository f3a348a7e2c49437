"""Structkit models in pydantic-ai: its agents, evals and graphs, with output that is valid in every step.

Install the extra `pydantic-ai`.

>>> import asyncio
>>> from pydantic_ai import Agent
>>> from structkit.integrations.pydantic_ai import StructkitModel
>>> from structkit.testing import ScriptedModel
>>> agent = Agent(StructkitModel(ScriptedModel(['{"response": 5}'])), output_type=int)
>>> asyncio.run(agent.run("What is 2 + 3?")).output
5
"""

from __future__ import annotations

from structkit.errors import MissingExtra

try:
    import pydantic_ai  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "pydantic-ai", "structkit.integrations.pydantic_ai needs", "pydantic-ai-slim"
    ) from error

from structkit.integrations.pydantic_ai.model import StructkitModel

__all__ = ["StructkitModel"]
