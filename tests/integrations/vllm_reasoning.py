"""A reasoning parser for the tests of the vLLM plug-in; vLLM imports this file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.reasoning import ReasoningParser, ReasoningParserManager


@ReasoningParserManager.register_module("semicolon")
class Semicolon(ReasoningParser):  # type: ignore[misc]  # vllm has no types here
    """If the prompt has "Think.", the model thinks until it writes a semicolon."""

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        _, found, text = self.model_tokenizer.decode(list(input_ids)).partition("Think.")
        return not found or ";" in text

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        return input_ids

    def extract_reasoning(self, model_output: str, request: object) -> tuple[str | None, str | None]:
        return None, model_output

    def extract_reasoning_streaming(self, *texts_and_ids: Any) -> None:
        return None
