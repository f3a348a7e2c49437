"""Whether a grammar contains a text, by its automaton."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.grammar.product.network import rules_of
from structkit.grammar.rules.cfg import Cfg

__all__ = ["expressions", "recognizer"]


def recognizer(cfg: Cfg) -> Callable[[str], bool]:
    """Return a function that tells whether a text is in the language of a grammar."""
    automaton = link(rules_of(cfg))

    def accepts(text: str) -> bool:
        frames = automaton.start_frames()
        for byte in text.encode(errors="surrogateescape"):
            frames = automaton.step(frames, byte)
        return bool(frames) and automaton.is_accepting(frames)

    return accepts


# An expression in the notation of a grammar, and as a pattern of `re`. The rules `x` and `y` are to be defined so that
# their texts over `a`, `b` and `c` are those of the patterns.
_ATOMS = st.sampled_from([("'a'", "a"), ("'ab'", "ab"), ("x", "(?:a|bc)"), ("y", "(?:c?)"), ("''", "")])


def _combined(
    parts: st.SearchStrategy[tuple[str, str]], repetitions: dict[str, str]
) -> st.SearchStrategy[tuple[str, str]]:
    several = st.lists(parts, min_size=1, max_size=3)
    repeated = st.tuples(parts, st.sampled_from(sorted(repetitions)))
    return st.one_of(
        several.map(lambda found: (" ".join(a for a, _ in found), "".join(b for _, b in found))),
        several.map(
            lambda found: (f"({' | '.join(a for a, _ in found)})", f"(?:{'|'.join(b for _, b in found)})")
        ),
        repeated.map(
            lambda found: (repetitions[found[1]].format(found[0][0]), f"(?:{found[0][1]}){found[1]}")
        ),
    )


def expressions(repetitions: dict[str, str]) -> st.SearchStrategy[tuple[str, str]]:
    """Return random expressions; `repetitions` has the form of each quantifier of `re`."""
    return st.recursive(_ATOMS, lambda parts: _combined(parts, repetitions), max_leaves=8)
