"""What to do about a value that its type's own validators refuse: where it is wrong, and how to tell the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from structkit.generate.decode.config import Rejection
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.json_reader import Field, Path
from structkit.models.protocols import Conversation, Message
from structkit.vocabulary.control_tokens import display_text

__all__ = ["locate_rejection", "retry_prompt"]


def locate_rejection(error: Exception, values: Sequence[Field]) -> Rejection:
    """Where in a text the value is that an error names; the whole text, which comes first, if it names none.

    Args:
        error: Of pydantic or jsonschema, or any other.
        values: The values in the text that was refused.
    """
    places = {value.path: value for value in values}
    path = _path_of(_location(error), places)
    return Rejection(error, places[path].start, places[path].end, path)


def retry_prompt(prompt: Prompt, text: str, error: Exception) -> Prompt:
    r"""The prompt of another attempt: with the answer that was refused, and why.

    >>> retry_prompt("How old?", "-1", ValueError("it is negative"))
    'How old?\n\nThe answer -1 is wrong: it is negative. Give another.'
    """
    said = f"{error}".strip().rstrip(".")
    if isinstance(prompt, str):
        return f"{prompt}\n\nThe answer {display_text(text)} is wrong: {said}. Give another."
    wrong = Message(role="user", content=f"This answer is wrong: {said}. Give another.")
    told = (*prompt, Message(role="assistant", content=display_text(text)), wrong)
    return Conversation(told, prompt.tools) if isinstance(prompt, Conversation) else list(told)


def _path_of(location: Sequence[object], fields: Mapping[Path, Field]) -> Path:
    """The place of a value in the text that a location leads to.

    Between names and positions pydantic puts the names of types, such as the members of a union, and such a name may
    be that of a field too: so the path is the one that uses up most of the location.

    >>> from structkit.generate.output.json_reader import read_values
    >>> values = {value.path: value for value in read_values(b'{"pet": {"cat": "Tom", "age": 99}}')}
    >>> _path_of(("pet", "cat", "age"), values), _path_of(("pet", "[key]"), values)
    (('pet', 'age'), ())
    """
    if location and location[-1] == "[key]":  # a name of an object, after which it is named
        location = location[:-2]
    ends: dict[Path, int] = {(): 0}
    for count, step in enumerate(location, 1):
        if isinstance(step, (str, int)):
            ends.update({(*path, step): count for path in ends if (*path, step) in fields})
    return max(ends, key=lambda path: (ends[path], len(path)))


def _location(error: Exception) -> Sequence[object]:
    errors: Callable[[], list[dict[str, object]]] | None = getattr(error, "errors", None)
    if callable(errors):
        location = errors()[0].get("loc")
        return location if isinstance(location, tuple) else ()
    path: object = getattr(error, "path", None)
    return path if isinstance(path, tuple) else ()
