"""One exercise: a text, the requested type and the correct answer, and its rendering for the model."""

from __future__ import annotations

import json
from dataclasses import dataclass

from demo_corpus.shapes import Shape, describe, python_name

ASK = "\n\nAnswer with JSON of this type:\n"
USER, ASSISTANT, SYSTEM, END, PAD = "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|pad|>"


@dataclass(frozen=True)
class Example:
    """One exercise. `value` is JSON data of the answer."""

    text: str
    shape: Shape
    value: object

    @property
    def prompt(self) -> str:
        """The text up to and including the token that starts the answer."""
        request = self.text + ASK + describe(self.shape, python_name(self.shape))
        return f"{USER}\n{request}{END}\n{ASSISTANT}\n"

    @property
    def answer(self) -> str:
        """The canonical JSON, without the end token."""
        return json.dumps(self.value, ensure_ascii=False)

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The complete exercise as text parts, each with whether the model generates it."""
        return [(self.prompt, False), (self.answer + END, True)]
