"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
automaton Automaton __init__.is_unbounded=False
automaton Automaton frame.count=0
compile_rule intersect_lengths is_quote=False
compile_rule nfa_of count=False
dfa Dfa min_count=0
dfa Dfa work=0
dfa intersection negate=False
nfa Nfa final=0
nfa Nfa min_count=0
nfa Nfa size=1
short_texts ShortTexts first_new.start=0
stored StoredAutomata get.min_length=0
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("automaton") == DEFAULTS.strip().splitlines()
