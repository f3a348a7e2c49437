"""Conversion of the results of MCP tool calls for an agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from structkit.errors import ToolError

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

__all__ = ["tool_result", "truncate"]


def tool_result(result: CallToolResult, max_characters: int) -> object:
    """Return the result of a call: structured content, or text.

    Raises:
        ToolError: The tool reports an error.
    """
    text = "\n".join(_block_text(block) for block in result.content)
    if result.is_error:
        raise ToolError(text or "the call failed without a message")
    if result.structured_content is None or any(block.type != "text" for block in result.content):
        return truncate(text, max_characters)
    value: object = result.structured_content
    if isinstance(value, dict) and value.keys() == {"result"}:
        value = value["result"]  # the protocol requires an object, so servers wrap other values
    json_text = json.dumps(value, ensure_ascii=False)
    return value if len(json_text) <= max_characters else truncate(json_text, max_characters)


def _block_text(block: ContentBlock) -> str:
    """Return the text of a content block; for a blob, its type and size."""
    if block.type == "text":
        return block.text
    if block.type == "image" or block.type == "audio":
        return f"[{block.type}, {block.mime_type}, {_size(block.data)}]"
    if block.type == "resource_link":
        return f"[resource {block.name}, {block.uri}]"
    resource = block.resource
    text: str | None = getattr(resource, "text", None)
    if text is not None:
        return f"[resource {resource.uri}]\n{text}"
    return f"[resource {resource.uri}, {resource.mime_type or 'unknown'}, {_size(getattr(resource, 'blob', ''))}]"


def _size(base64: str) -> str:
    return f"{len(base64.rstrip('=')) * 3 // 4:,} bytes"


def truncate(text: str, max_characters: int) -> str:
    """Return a text of at most `max_characters` characters, with a note about the missing ones."""
    if len(text) <= max_characters:
        return text
    return f"{text[:max_characters]} ... ({len(text) - max_characters} more characters)"
