"""The request for one generation: model, prompt, target and options."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from structkit.errors import ModelError
from structkit.generate.input.arguments import check_model
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import Settings
from structkit.models.protocols import LogitsModel
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.targets.targets import AnyTarget
from structkit.tracing import Span
from structkit.vocabulary.vocabulary import Vocabulary, byte_vocabulary

__all__ = ["Request"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """The request for one generation.

    Attributes:
        model: The model that writes the value.
        prompt: A text or messages.
        target: The target of the value.
        settings: The options of the call.
        number: The number of the sequence in the call, which seeds its random generator.
        own_vocabulary: The tokens of the answer, if they differ from those of the model.
        requested_at: The time of the call, by `time.perf_counter()`; `None` if the timeout counts from the start of the
            generation.
        parent_span: The parent of the span of the generation; `None` for the current span.
    """

    model: AnyModel
    prompt: Prompt
    target: AnyTarget
    settings: Settings = field(default_factory=Settings)
    number: int = 0
    own_vocabulary: Vocabulary | None = None
    requested_at: float | None = None
    parent_span: Span | None = None

    def __post_init__(self) -> None:
        check_model(self.model)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the answer; those of a text model are bytes."""
        if self.own_vocabulary is not None:
            return self.own_vocabulary
        return byte_vocabulary() if isinstance(self.model, TextModel) else self.model.vocabulary

    @property
    def logits_model(self) -> LogitsModel:
        """The model, which returns logits."""
        if isinstance(self.model, TextModel):
            raise ModelError(
                f"{self.model.name} returns text, and this needs logits; give a model such as structkit.load()"
            )
        return self.model

    @property
    def models(self) -> tuple[LogitsModel | None, ...]:
        """The models that the generation needs."""
        return self.logits_model, self.settings.assistant_model

    def deadline(self) -> float | None:
        """Return the time, by `time.perf_counter()`, after which the value is completed; `None` without a timeout."""
        if self.settings.timeout is None:
            return None
        return self.settings.timeout + (
            time.perf_counter() if self.requested_at is None else self.requested_at
        )
