"""The texts between which models think."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["find_thinking_tags"]

_KNOWN_TAGS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
)
"""Those of models that were published, the usual ones first."""


def find_thinking_tags(
    given: tuple[str, str] | None, template: str | None, is_token: Callable[[str], bool]
) -> tuple[str, str]:
    """The texts that begin and end the thoughts of a model.

    Args:
        given: What a user says they are.
        template: The chat template.
        is_token: Whether the tokenizer has a token for a text.

    Returns:
        Those that are given, else those whose end the template knows, else those whose end is a token, else the usual.

    Raises:
        TypeError: What is given is no pair of texts.
        ValueError: The end is empty.

    >>> find_thinking_tags(None, "{% if think %}[THINK]...[/THINK]{% endif %}", lambda text: False)
    ('[THINK]', '[/THINK]')
    """
    if given is None:
        known = [pair for pair in _KNOWN_TAGS if pair[1] in (template or "")]
        known += [pair for pair in _KNOWN_TAGS if is_token(pair[1])]
        return (*known, *_KNOWN_TAGS)[0]
    pair: object = given
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(mark, str) for mark in pair):
        raise TypeError(
            f"thinking_marks must be two texts, such as ('<think>', '</think>'), not {given!r:.60}"
        )
    if not given[1]:
        raise ValueError("thinking_marks must say what ends the thoughts; the second text is empty")
    return given
