"""A structkit model as an LLM of LlamaIndex, whose structured answers always obey their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.prompts import BasePromptTemplate
from pydantic import BaseModel, ConfigDict, Field

import structkit as sk
from structkit.generate.run.events import TextDelta

Answer = TypeVar("Answer", bound=BaseModel)


class StructkitLLM(CustomLLM):
    """A structkit model as an LLM of LlamaIndex.

    Attributes:
        model: A model, such as the one that `structkit.load()` returns.
        options: Options of `structkit.extract`, such as `max_tokens`; those of a call override them.
    """

    model_config = ConfigDict(extra="forbid")

    model: Any
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex asks about a model before it writes a prompt."""
        window = getattr(self.model, "context_length", None)
        known = {} if window is None else {"context_window": window}
        return LLMMetadata(
            model_name=self.model.name, num_output=self.options.get("max_tokens", 256), **known
        )

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Answer with text."""
        return CompletionResponse(text=sk.Agent(self.model, **self._options(kwargs)).run(prompt).value)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Answer with text, piece by piece."""

        def pieces() -> Iterator[CompletionResponse]:
            text = ""
            with sk.Agent(self.model, **self._options(kwargs)).stream(prompt) as events:
                for event in events:
                    if isinstance(event, TextDelta):
                        text += event.text
                        yield CompletionResponse(text=text, delta=event.text)

        return pieces()

    def structured_predict(
        self,
        output_cls: type[Answer],
        prompt: BasePromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Answer:
        """Answer with an instance of a class."""
        return sk.extract(
            self.model, self._messages(prompt, prompt_args), output_cls, **self._options(llm_kwargs)
        )

    async def astructured_predict(
        self,
        output_cls: type[Answer],
        prompt: BasePromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Answer:
        """Answer with an instance of a class; concurrent calls share a batch of the model."""
        messages = self._messages(prompt, prompt_args)
        return await sk.aextract(self.model, messages, output_cls, **self._options(llm_kwargs))

    def _messages(self, prompt: BasePromptTemplate, values: dict[str, Any]) -> list[Any]:
        messages = self._get_messages(prompt, **values)
        return [{"role": each.role.value, "content": each.content or ""} for each in messages]

    def _options(self, given: dict[str, Any] | None) -> Any:
        return {**self.options, **(given or {})}
