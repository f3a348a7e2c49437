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

try:
    import pydantic_ai  # noqa: F401
except ImportError as error:
    message = "structkit.integrations.pydantic_ai requires pydantic-ai; pip install 'structkit[pydantic-ai]'"
    raise ImportError(message) from error

from structkit.integrations.pydantic_ai.model import StructkitModel

__all__ = ["StructkitModel"]
