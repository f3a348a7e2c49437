"""Start and end tags of a model's thinking."""

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
"""Tags of published models, the most common first."""


def find_thinking_tags(
    given: tuple[str, str] | None, template: str | None, is_token: Callable[[str], bool]
) -> tuple[str, str]:
    """Return the start and end tags of a model's thinking.

    Args:
        given: Tags given by the user.
        template: The chat template.
        is_token: Whether the tokenizer has a token for a text.

    Returns:
        The given tags, else the tags whose end is in the template, else the tags whose end is a token, else the most
        common tags.

    Raises:
        TypeError: `given` is not a pair of strings.
        ValueError: The end tag is empty.

    >>> find_thinking_tags(None, "{% if think %}[THINK]...[/THINK]{% endif %}", lambda text: False)
    ('[THINK]', '[/THINK]')
    """
    if given is None:
        known = [pair for pair in _KNOWN_TAGS if pair[1] in (template or "")]
        known += [pair for pair in _KNOWN_TAGS if is_token(pair[1])]
        return (*known, *_KNOWN_TAGS)[0]
    pair: object = given
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(tag, str) for tag in pair):
        raise TypeError(
            f"thinking_tags must be two strings, such as ('<think>', '</think>'), not {given!r:.60}"
        )
    if not given[1]:
        raise ValueError("thinking_tags must contain an end tag; the second string is empty")
    return given
