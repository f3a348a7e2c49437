"""What must come next, compared with all that can."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.regex.nodes import LiteralText, Node, Repeat, RuleRef, Rules, Seq, choice
from tests.languages import linked, recursive_rules


@given(recursive_rules, st.text('ab0é",[]()', max_size=8))
def test_a_sole_byte_is_the_only_one_that_can_come_next(rules: Rules, text: str) -> None:
    automaton = linked(rules)
    if automaton is None:
        return
    frames = automaton.epsilon_closure([automaton.frame(automaton.start_state(0))])
    for byte in (*text.encode(), None):
        following = set(automaton.next_bytes(frames))
        assert automaton.sole_byte(frames) == (next(iter(following)) if len(following) == 1 else None)
        reads = {each for each in range(256) if automaton.step(frames, each)}
        assert reads <= following and (reads == following or automaton.has_distinct)
        if byte not in following:
            break
        frames = automaton.step(frames, byte)


@given(st.text("aé", max_size=4), st.integers(0, 3), st.booleans())
def test_a_sole_text_is_the_only_text_of_a_rule(text: str, count: int, has_other: bool) -> None:
    node: Node = Seq((LiteralText(text), Repeat(LiteralText("b"), count, count)))
    if has_other:
        node = choice([node, LiteralText(text + "c")])
    automaton = link(Rules(Seq((LiteralText("["), RuleRef("r"), LiteralText("]"))), {"r": node})).build_all()
    rule = next((number for number in range(len(automaton.start)) if number), 0)
    expected = f"{text}{'b' * count}" if rule else f"[{text}{'b' * count}]"
    assert automaton.sole_text(rule) == (None if has_other else expected.encode())
