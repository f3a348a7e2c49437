"""From a target and a vocabulary to a guide: the left half of the pipeline, put together."""

from __future__ import annotations

import time
from typing import Literal

from structkit.automaton.link import link
from structkit.guide.guide import Guide
from structkit.limits import Limits
from structkit.targets import AnyTarget, read_target
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["compile"]


def compile(
    target: AnyTarget,
    vocabulary: Vocabulary,
    *,
    whitespace: Literal["spaced", "compact"] = "spaced",
    defaults: Literal["always", "may_omit"] = "always",
    order: Literal["declared", "any"] = "declared",
    limits: Limits = Limits(),  # noqa: B008
    precompute: bool = False,
    cache: bool = True,
) -> Guide:
    """Compile a target to a guide over a vocabulary.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        vocabulary: The tokens.
        whitespace: `"spaced"` writes JSON as `json.dumps` does, `"compact"` without spaces.
        defaults: `"always"` writes fields that have a default too; `"may_omit"` leaves that to the model.
        order: `"declared"` writes keys as the target lists them; `"any"` lets the model choose, each key at most once
            (but in unique items, and in objects whose keys are counted besides, where it would be ambiguous).
        limits: What may be built.
        precompute: Make all masks now instead of when they are first asked for.
        cache: Keep masks on disk, in `STRUCTKIT_CACHE_DIR` or the platform's cache folder.

    Returns:
        The guide.

    Raises:
        SchemaError: The target cannot be described, or not be enforced, or no value satisfies it.
        PatternError: A pattern that no regular language can say.
        VocabularyError: The vocabulary cannot spell any value.
        LimitExceeded: The target is too large.

    >>> from structkit.testing import byte_vocabulary
    >>> cursor = compile(bool, byte_vocabulary()).cursor()
    >>> cursor.advance(ord("f"))
    >>> cursor.forced_bytes()
    b'alse'
    """
    begin = time.perf_counter()
    read = read_target(target, defaults=defaults, limits=limits)
    rules = read.rules(whitespace=whitespace, order=order, limits=limits)
    guide = Guide(link(rules, limits), vocabulary, cache=cache)
    if precompute:
        guide.precompute()
    guide.compile_seconds = time.perf_counter() - begin
    return guide
