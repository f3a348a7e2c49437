"""Membership by Python's `re`, using the output of `format_regex`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from structkit.regex.nodes import Node, Rules
from structkit.regex.print import format_regex


@lru_cache(maxsize=512)
def _compiled(node: Node) -> re.Pattern[str]:
    return re.compile(format_regex(Rules(node, {})))


def holds(node: Node, text: str, rules: Mapping[str, Node] | None = None) -> bool:
    """Return whether the language of a node contains a text."""
    pattern = re.compile(format_regex(Rules(node, rules))) if rules else _compiled(node)
    return pattern.fullmatch(text) is not None
