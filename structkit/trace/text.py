"""A picture drawn with plain characters, for a terminal or a log file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence

from structkit.trace.picture import Note, Picture, SpanKind, Step, TraceSpan, join_spans, text_of
from structkit.trace.visible import columns, cut_middle, divide, visible

__all__ = ["draw_text", "line_width"]

_WIDTH = 100
"""Columns of a line where the output is not a terminal."""

_MIN_WIDTH = 40

_LABEL = 15
"""Columns before the text of a line."""

_MAX_ANSWER = 4_000
"""Characters of an answer that are drawn; the page has more."""

_SHOWN_SECONDS = 0.2
"""Shortest time that is drawn."""

_MARKS: dict[SpanKind, str] = {
    "forced": "=",
    "sampled": "-",
    "accepted": "-",
    "chosen": "+",
    "completed": "~",
}
_START = "^"
"""Mark of the first character of a token that was sampled."""


def line_width() -> int:
    """Return the columns of the terminal, or a fixed number where the output is not a terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return _WIDTH
    return max(_MIN_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)


def draw_text(picture: Picture, width: int) -> str:
    """Draw a picture as lines of at most `width` columns.

    >>> spans = (TraceSpan("accepted", "[1, "), TraceSpan("refused", "x]"))
    >>> print(draw_text(Picture(title="a model", steps=(Step(title="1", spans=spans),)), 40))
    a model
    <BLANKLINE>
      1  accepted   |[1, |
         refused    |x]|
    """
    seconds = f", {picture.seconds:.1f} s" if picture.seconds >= _SHOWN_SECONDS else ""
    lines = [*divide(visible(picture.title + seconds), width)]
    if picture.prompt is not None:
        lines += ["", f"{'     prompt':<{_LABEL + 1}}|{cut_middle(picture.prompt, width - _LABEL - 3)}|"]
    if picture.steps:
        lines.append("")
    for step in picture.steps:
        lines += _step_lines(step, width)
    if picture.spans:
        lines += ["", *_answer_lines(picture.spans, width)]
    if picture.notes:
        lines += [cut_middle(f"{note.label}: {note.text}", width) for note in picture.notes]
    return "\n".join(lines)


def _step_lines(step: Step, width: int) -> Iterator[str]:
    title = step.title
    for label, text, is_text in _step_rows(step):
        edge = "|" if is_text else ""
        yield f"{title:>3}  {label:<{_LABEL - 5}} {edge}{cut_middle(text, width - _LABEL - 3)}{edge}"
        title = ""


def _step_rows(step: Step) -> Iterator[tuple[str, str, bool]]:
    """Yield the label and the text of each line of a step, and whether the text is of the answer or a reply."""
    for note in step.asked:
        yield (*note, False)
    for span in join_spans(step.spans):
        yield (span.kind, span.text, True)
    notes = list(step.ended)
    if step.seconds >= _SHOWN_SECONDS:
        notes.append(Note("took", f"{step.seconds:.1f} s"))
    for note in notes:
        yield (*note, False)


def _answer_lines(spans: Sequence[TraceSpan], width: int) -> Iterator[str]:
    """Yield the answer with a mark below each character, and the meaning of the marks."""
    text, marks, left = "", "", _MAX_ANSWER
    for span in spans:
        shown = visible(span.text[:left])
        left -= len(span.text[:left])
        mark = _MARKS.get(span.kind, " ") * columns(shown)
        is_token = span.kind == "sampled" and span.detail and mark
        text, marks = text + shown, marks + (_START + mark[1:] if is_token else mark)
    start = 0
    for line in divide(text, width):
        yield line
        yield marks[start : start + columns(line)]
        start += columns(line)
    hidden = len(text_of(spans)) - (_MAX_ANSWER - left)
    if hidden:
        yield f"... {hidden:,} more characters"
    used = dict.fromkeys(span.kind for span in spans if span.text)
    signs = {**_MARKS, "sampled": f"{_START}{_MARKS['sampled']}"}
    yield from divide("   ".join(f"{signs[kind]} {kind}" for kind in used if kind in signs), width)
