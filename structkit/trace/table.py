"""Tables as HTML, for notebooks: one element with its own style, without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from structkit.trace.visible import visible

__all__ = ["draw_details", "draw_table"]

_STYLE = """
.sk-table { --ink: #16302b; --page: #ffffff; --line: #c8d6d2; --soft: #55726b;
  color: var(--ink); background: var(--page); font: 14px/1.5 system-ui, sans-serif;
  padding: .6em 1em; max-width: 70em; }
@media (prefers-color-scheme: dark) { .sk-table { --ink: #e3efec; --page: #14201d; --line: #3a4d48; --soft: #9db5af; } }
.sk-table table { border-collapse: collapse; }
.sk-table th, .sk-table td { padding: .15em .9em .15em 0; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.sk-table th, .sk-table p { color: var(--soft); font-weight: normal; }
.sk-table td:first-child { font: 13px/1.6 ui-monospace, monospace; }
.sk-table h2 { font-size: 1.05em; margin: 0 0 .4em; }
"""

_MAX_ROWS, _MAX_CELL = 200, 500


def draw_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "", more: str = ""
) -> str:
    """Draw a table as an element of a notebook. Every text except `more` is escaped.

    Args:
        title: The title.
        header: The names of the columns.
        rows: The texts of the cells; of more than 200 rows the first are drawn.
        note: A line below the table.
        more: HTML below the note, such as that of `draw_details`.

    >>> draw_table("A title", ["field"], [["<b>"]]).count("<b>")
    0
    """
    rows = [*rows]
    left = len(rows) - _MAX_ROWS
    if left > 0:
        rows[_MAX_ROWS:] = [[f"... {left:,} more"]]
    head = "".join(f"<th>{_safe(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><tr>{head}</tr>{body}</table>" if rows else ""
    below = f"<p>{_safe(note)}</p>" if note else ""
    return f'<div class="sk-table"><style>{_STYLE}</style><h2>{_safe(title)}</h2>{table}{below}{more}</div>'


def draw_details(html: str) -> str:
    """Return the HTML of a trace, which is shown after a click."""
    return f"<details><summary>trace</summary>{html}</details>"


def _safe(text: str) -> str:
    cut = text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL // 2]} ... {text[-_MAX_CELL // 2 :]}"
    return escape(visible(cut))
