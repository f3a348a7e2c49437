"""A picture drawn as HTML: one element with its own style, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from structkit.trace.picture import Note, Picture, SpanKind, Step, TraceSpan, join_spans
from structkit.trace.visible import visible

__all__ = ["draw_html", "draw_page"]

_MEANINGS: dict[SpanKind, str] = {
    "sampled": "a token that the model chose among the allowed ones",
    "accepted": "text of a reply that belongs to the answer",
    "chosen": "the most likely text that can follow where a reply was cut",
    "forced": "the only text that can follow; the model did not write it",
    "completed": "text that completes the value without the model",
    "healed": "text that the request left out, so that the model can begin a token with it",
    "skipped": "text of a reply that does not belong to the answer, such as prose",
    "repeated": "text that the answer had before, or has again",
    "refused": "text of a reply that cannot follow",
    "withdrawn": "text that was part of the answer and was taken back",
}

_MAX_PART = 20_000
"""Characters of a span that a page has."""

_STYLE = """
.sk-trace { --ink: #16302b; --page: #ffffff; --line: #c8d6d2; --soft: #55726b;
  --model: #d6ecf7; --forced: #e4eae8; --bad: #f9d9d3; --closed: #fbe9c2;
  color: var(--ink); background: var(--page); font: 14px/1.5 system-ui, sans-serif; padding: 1em; max-width: 70em; }
@media (prefers-color-scheme: dark) { .sk-trace { --ink: #e3efec; --page: #14201d; --line: #3a4d48; --soft: #9db5af;
  --model: #1d4a60; --forced: #2d3b37; --bad: #6b2c22; --closed: #5f4a14; } }
.sk-trace h2 { font-size: 1.05em; margin: 0 0 .6em; }
.sk-trace table { border-collapse: collapse; width: 100%; }
.sk-trace td { padding: .1em .8em .1em 0; vertical-align: top; text-align: left; }
.sk-trace .first td { border-top: 1px solid var(--line); }
.sk-trace .label, .sk-trace .note { color: var(--soft); white-space: nowrap; }
.sk-trace .note { white-space: pre-wrap; overflow-wrap: anywhere; }
.sk-trace .text { font: 13px/1.7 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; width: 100%; }
.sk-trace .text span, .sk-trace .legend span { border-radius: 3px; padding: 1px 0; unicode-bidi: isolate; }
.sk-trace .sampled, .sk-trace .accepted { background: var(--model); }
.sk-trace .forced { background: var(--forced); }
.sk-trace .chosen { background: var(--model); box-shadow: inset 0 -2px 0 var(--soft); }
.sk-trace .completed { background: var(--closed); }
.sk-trace .refused, .sk-trace .withdrawn { background: var(--bad); text-decoration: line-through; }
.sk-trace .skipped, .sk-trace .repeated, .sk-trace .healed { color: var(--soft); border: 1px dotted var(--line); }
.sk-trace .token { box-shadow: inset 1px 0 0 var(--page); }
.sk-trace .legend span { margin-right: .8em; padding: 1px .4em; text-decoration: none; }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def draw_html(picture: Picture) -> str:
    """Draw a picture as an element of a page or a notebook. Every text is escaped.

    >>> spans = (TraceSpan("refused", "<script>"),)
    >>> draw_html(Picture(title="a model", spans=spans)).count("<script>")
    0
    """
    rows = []
    if picture.prompt is not None:
        rows.append(_row("prompt", _shown(TraceSpan("skipped", picture.prompt)), is_first=True))
    for step in picture.steps:
        rows += _step_rows(step)
    rows.append(_row("answer", "".join(map(_shown, picture.spans)), is_first=True))
    rows += [_row(note.label, _safe(note.text), kind="note") for note in picture.notes]
    used = {span.kind for step in picture.steps for span in step.spans if span.text}
    used |= {span.kind for span in picture.spans}
    legend = "".join(
        f'<span class="{kind}" title="{escape(meaning)}">{kind}</span>'
        for kind, meaning in _MEANINGS.items()
        if kind in used
    )
    return (
        f'<div class="sk-trace"><style>{_STYLE}</style><h2>{_safe(picture.title)}, {picture.seconds:.3f} s</h2>'
        f'<table>{"".join(rows)}</table><p class="legend">{legend}</p></div>'
    )


def draw_page(picture: Picture) -> str:
    """Draw a picture as a complete page, which forbids itself to load or run anything."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        f'<meta name="viewport" content="width=device-width"><title>{_safe(picture.title)}</title></head>'
        f'<body style="margin: 0">{draw_html(picture)}</body></html>\n'
    )


def _step_rows(step: Step) -> Sequence[str]:
    """Return the rows of a step: one for each note and span."""
    notes = list(step.ended)
    if step.seconds:
        notes.append(Note("took", f"{step.seconds:.3f} s"))
    cells = [(note.label, _safe(note.text), "note") for note in step.asked]
    cells += [(span.kind, _shown(span), "text") for span in join_spans(step.spans)]
    cells += [(note.label, _safe(note.text), "note") for note in notes]
    return [
        _row(label, cell, step.title if not number else "", is_first=not number, kind=kind)
        for number, (label, cell, kind) in enumerate(cells)
    ]


def _row(label: str, cell: str, title: str = "", *, is_first: bool = False, kind: str = "text") -> str:
    row = '<tr class="first">' if is_first else "<tr>"
    return (
        f'{row}<td class="label">{_safe(title)}</td><td class="label">{_safe(label)}</td>'
        f'<td class="{kind}">{cell}</td></tr>'
    )


def _shown(span: TraceSpan) -> str:
    hidden = len(span.text) - _MAX_PART
    more = f" ... {hidden:,} more characters" if hidden > 0 else ""
    classes = f"{span.kind} token" if span.detail else span.kind
    title = f"{span.kind}: {span.detail or _MEANINGS[span.kind]}"
    return f'<span class="{classes}" title="{_safe(title)}">{_safe(span.text[:_MAX_PART])}{more}</span>'


def _safe(text: str) -> str:
    """Escape a text for content and attributes."""
    return escape(visible(text))
