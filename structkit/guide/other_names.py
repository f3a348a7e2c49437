"""What other libraries call the attributes of guides and cursors, and what to write here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["OF_CURSORS", "OF_GUIDES"]

_MASKS = (
    "allowed_tokens",
    "compute_mask",
    "fill_next_token_bitmask",
    "get_mask",
    "get_next_instruction",
    "get_tokens",
)
_TOKENS = ("accept", "accept_token", "consume_token", "next_state", "try_advance")

OF_CURSORS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_MASKS, ".fill_mask(out)"),
        **dict.fromkeys(_TOKENS, ".advance(token_id)"),
        **dict.fromkeys(("clone", "copy", "deep_copy"), ".fork()"),
        **dict.fromkeys(("compute_ff_tokens", "find_jump_forward_string", "forced"), ".forced_bytes()"),
        **dict.fromkeys(("is_done", "is_final_state", "is_stopped"), ".is_finished"),
        "reset": ".guide.cursor()",
        "tokens": ".token_ids",
        "vocabulary": ".guide.vocabulary",
    }
)
"""Attributes of the matchers of xgrammar, llguidance and outlines."""

OF_GUIDES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("fill_mask", *_MASKS), ".cursor().fill_mask(out)"),
        **dict.fromkeys(("advance", *_TOKENS), ".cursor().advance(token_id)"),
        **dict.fromkeys(("get_initial_state", "initial_state", "matcher", "start"), ".cursor()"),
    }
)
"""Attributes of compiled grammars, and of their matchers."""
