"""The header of a step's prompt: the part before the conversation."""

from __future__ import annotations

from dataclasses import dataclass

from structkit.agent.tools.prepared import PreparedTool

__all__ = ["PromptHeader"]


@dataclass(frozen=True, slots=True)
class PromptHeader:
    """The part of a step's prompt before the conversation.

    Attributes:
        instructions: The system prompt.
        tools: The tools that the prompt describes.
    """

    instructions: str | None
    tools: tuple[PreparedTool, ...]
