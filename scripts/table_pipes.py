r"""Show `|` in the code of a cell on the site: pages have `\|`, which Markdown shows as it is, and GitHub as `|`."""

from __future__ import annotations

import re

__all__ = ["on_page_content"]


def on_page_content(html: str, **_: object) -> str:
    r"""Return the page that the site shows.

    >>> on_page_content(r"<td><code>int \| None</code></td><p><code>\|</code></p>")
    '<td><code>int | None</code></td><p><code>\\|</code></p>'
    """
    return re.sub(r"<td\b.*?</td>", lambda cell: cell[0].replace(r"\|", "|"), html, flags=re.S)
