"""The page of the playground, and the headers that let it load nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PAGE", "PAGE_HEADERS"]

PAGE = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")


def _hashes(tag: str) -> str:
    """Return the hashes of the texts of a tag, by which a policy allows them."""
    texts = re.findall(rf"<{tag}>(.*?)</{tag}>", PAGE, flags=re.S)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Only the script and the style of the page run, only this server is asked, and no text becomes markup."""
