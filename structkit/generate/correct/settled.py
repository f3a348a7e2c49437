"""Which start of a text is unambiguous: a part of a key, a number or a choice is not."""

from __future__ import annotations

from collections.abc import Callable

from structkit.generate.decode.choice_scores import ChoicesAt
from structkit.generate.output.json_reader import Field, JsonReader
from structkit.schema.view.choices import OTHER

__all__ = ["SettledLength"]


class SettledLength:
    """Finds the length of a text without the key, number, literal or choice that it ends in.

    After `l` of `"light"`, only `low` may be left of two choices, although the model chose neither. So a reply that
    leaves the target inside such a word is cut before the word. A string is cut where it leaves the target.

    Args:
        choices: Returns the possible values at a path, if they can be listed.
        is_json: Whether the text is JSON; other text is one value.

    >>> settled = SettledLength(lambda path: ("low", "high") if path == ("level",) else None, is_json=True)
    >>> settled(b'{"level": "l'), settled(b'{"level": "low", "title": "A'), settled(b'{"lev')
    (10, 28, 1)
    """

    def __init__(self, choices: ChoicesAt, *, is_json: bool) -> None:
        self._choices = choices
        self._is_json = is_json
        self._reader = JsonReader()

    def __call__(self, text: bytes) -> int:
        """Return the length."""
        if not self._is_json:
            return 0 if self._is_choice(()) else len(text)
        start = self._open_word(text, lambda value: value.kind != "string" or self._is_choice(value.path))
        return len(text) if start is None else start

    def completed(self, text: bytes) -> int:
        """Return the length without the open key or value at the end, or of other text without its last line."""
        if not self._is_json:
            return text.rfind(b"\n") + 1
        start = self._open_word(text, lambda value: True)
        return len(text) if start is None else start

    def _open_word(self, text: bytes, is_word: Callable[[Field], bool]) -> int | None:
        """Return the start of the key that a text ends in, or of the value, unless it is a container or no word."""
        if not text.startswith(self._reader.text):
            self._reader = JsonReader()
        reader = self._reader.follow(bytearray(text))
        if reader.in_key:
            return reader.key_start
        value = reader.open_fields[-1] if reader.open_fields else None
        if value is None or value.kind in ("object", "array") or not is_word(value):
            return None
        return value.start

    def _is_choice(self, path: tuple[str | int, ...]) -> bool:
        choices = self._choices(path)
        return choices is not None and OTHER not in choices
