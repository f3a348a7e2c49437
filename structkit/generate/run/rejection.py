"""Rejected values: their bytes in the text, and the prompt of the next attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from structkit.generate.decode.config import GeneratedTokens, RejectedSpan
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.json_reader import Field, read_values
from structkit.models.protocols import Conversation, Message
from structkit.rejected import Rejected
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import display_text

__all__ = ["locate_rejected", "retry_prompt", "text_values", "with_rejections"]


def locate_rejected(rejected: Rejected, values: Sequence[Field]) -> RejectedSpan:
    """Return the bytes of the rejected value, or of the innermost value around it that the text contains.

    >>> from structkit.generate.output.json_reader import read_values
    >>> rejected = Rejected(("age",), "too young", ValueError("too young"))
    >>> span = locate_rejected(rejected, read_values(b'{"age": 3}'))
    >>> span.start, span.end, span.path
    (8, 9, ('age',))

    Args:
        rejected: Why the text was rejected.
        values: The values in the text; the first is the complete text.
    """
    fields = {value.path: value for value in values}
    path = rejected.path
    while path and path not in fields:
        path = path[:-1]
    return RejectedSpan(rejected, fields[path].start, fields[path].end, path)


def text_values(target: Target[object], generated: GeneratedTokens, text: str) -> list[Field]:
    """Return the values in a complete text; in one that is not JSON, those of its parts that are."""
    fields = generated.values(is_json=target.is_json)
    if target.is_json:
        return fields
    data = bytes(generated.text)
    return fields + [
        replace(
            field, path=(*part.path, *field.path), start=part.start + field.start, end=part.start + field.end
        )
        for part in target.json_parts(text)
        for field in read_values(data[part.start : part.end])
    ]


def retry_prompt(prompt: Prompt, text: str, message: str) -> Prompt:
    r"""Return the prompt of another attempt, with the rejected answer and the errors.

    >>> retry_prompt("How old?", "-1", "it is negative")
    'How old?\n\nThe answer -1 is wrong: it is negative. Give another.'
    >>> print(retry_prompt("Who?", "{}", "name: unknown\nage: it is negative"))
    Who?
    <BLANKLINE>
    The answer {} is wrong:
    - name: unknown
    - age: it is negative
    Give another.

    Args:
        prompt: The prompt of the rejected answer.
        text: The rejected answer.
        message: The errors, one in each line.
    """
    return with_rejections(prompt, [(text, message)])


def with_rejections(prompt: Prompt, rejected: Iterable[tuple[str, str]]) -> Prompt:
    """Return the prompt of another attempt after several rejected answers, each with its errors; see `retry_prompt`."""
    if isinstance(prompt, str):
        answers = (
            f"\n\nThe answer {display_text(text)} is wrong:{_reason(message)}Give another."
            for text, message in rejected
        )
        return prompt + "".join(answers)
    messages = [*prompt]
    for text, message in rejected:
        messages.append(Message(role="assistant", content=display_text(text)))
        wrong = f"This answer is wrong:{_reason(message)}Give another."
        messages.append(Message(role="user", content=wrong))
    return Conversation(tuple(messages), prompt.tools) if isinstance(prompt, Conversation) else messages


def _reason(message: str) -> str:
    """Return the errors of a rejected answer as they stand in a prompt."""
    lines = message.strip().splitlines() or ["it is not valid"]
    if len(lines) == 1:
        return f" {lines[0].rstrip('.')}. "
    return "".join(f"\n- {line}" for line in lines) + "\n"
