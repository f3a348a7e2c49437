"""Example: a text, the type asked for and the right answer, and its spelling as the model sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from demo_corpus.shapes import Shape, describe, python_name

ASK = "\n\nAnswer with JSON of this type:\n"
USER, ASSISTANT, SYSTEM, END, PAD = "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|pad|>"


@dataclass(frozen=True)
class Example:
    """One exercise. `value` is what `json.dumps` writes as the answer."""

    text: str
    shape: Shape
    value: object

    @property
    def prompt(self) -> str:
        """Everything up to and including the mark where the answer begins."""
        request = self.text + ASK + describe(self.shape, python_name(self.shape))
        return f"{USER}\n{request}{END}\n{ASSISTANT}\n"

    @property
    def answer(self) -> str:
        """The canonical JSON, without the closing mark."""
        return json.dumps(self.value, ensure_ascii=False)

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The whole exercise as text, and which parts of it the model says."""
        return [(self.prompt, False), (self.answer + END, True)]
