"""Short and lost sentences of small random grammars beside a plain search through the same tables."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import pytest
from lark import Lark

import structkit as sk
from structkit.grammar.findings.lost import LostSentence, LostSentences
from structkit.grammar.findings.sentences import Prefix, Sentence, Sentences
from structkit.grammar.findings.table import Conflict, Stack, Table
from structkit.grammar.syntax.lalr import first_state
from tests.grammar.test_findings import conflict_grammar

MOST = 6
"""The length of the texts that are compared."""

DEPTH = 7
"""The number of states on a stack of the plain search."""

SEEDS = [7, 23, 53, 61, 74, 97, 104, 113, 166, 281]
"""Grammars that Lark takes, with conflicts that lose sentences."""


class Case(NamedTuple):
    """A grammar, the lengths of its terminals, and its sentences."""

    rules: Any
    lengths: Mapping[str, int]
    sentences: Sentences


@cache
def case(seed: int) -> Case:
    choose = random.Random(seed)
    lark = Lark(conflict_grammar(choose), parser="lalr", lexer="basic")
    first = first_state(lark, "start", sk.Limits(), lookaheads=True)
    lengths = {"A": 1, "B": choose.randint(1, 2), "C": choose.randint(1, 3)}
    if seed % 4 == 0:
        del lengths["C"]  # a terminal without a text
    return Case(lark.rules, lengths, Sentences(Table(first), lark.rules, lengths))


def cost(lengths: Mapping[str, int], read: Sentence) -> int:
    return sum(lengths[each] for each in read)


def rests(known: Case, prefix: Prefix, most: int) -> Iterator[Prefix]:
    """Yield the ways to end from a stack, the shortest first: each move reads a terminal or ends any rule."""
    lengths, table = known.lengths, known.sentences.table
    empty = {rule.origin.name for rule in known.rules if not rule.expansion}
    pending, seen = [prefix], set[tuple[Stack, Sentence]]()
    while pending:
        prefix = heapq.heappop(pending)
        if (prefix.stack, prefix.read) in seen or prefix.cost > most or len(prefix.stack) > DEPTH:
            continue
        seen.add((prefix.stack, prefix.read))
        for name, target in table.shifts[prefix.stack[-1]].items():
            if name in lengths:
                longer = prefix.cost + lengths[name], (*prefix.stack, target), (*prefix.read, name)
                heapq.heappush(pending, Prefix(*longer))
        for name in table.gotos[prefix.stack[-1]].keys() & empty:
            stack = (*prefix.stack, table.gotos[prefix.stack[-1]][name])
            heapq.heappush(pending, prefix._replace(stack=stack))
        for end, rest, is_whole in table.items[prefix.stack[-1]]:
            if not rest and is_whole:
                yield prefix
            elif not rest and (stack := table.reduced(prefix.stack, end)) is not None:
                heapq.heappush(pending, prefix._replace(stack=stack))


@pytest.mark.parametrize("seed", SEEDS)
def test_shortest_sentences_and_ways_to_end(seed: int) -> None:
    known = case(seed)
    _, lengths, sentences = known
    plain = [*dict.fromkeys(each.read for each in rests(known, Prefix(0, (0,), ()), MOST))]
    found = [*islice(sentences.shortest_first(400), 100)]
    costs = [cost(lengths, each) for each in found]
    assert costs and costs == sorted(costs)
    assert {each for each in plain if cost(lengths, each) < costs[-1]} <= {*found}
    assert {each for each in found if cost(lengths, each) <= MOST} <= {*plain}
    for state, bound in enumerate(sentences.bounds):
        for prefix in sentences.prefixes(state):
            whole = next(rests(known, prefix, prefix.cost + MOST), None)
            ended = sentences.ended(prefix)
            if whole is not None:
                assert ended is not None and ended[0] == cost(lengths, ended[1]) == whole.cost
                assert ended[1][: len(prefix.read)] == prefix.read
                assert bound <= whole.cost - prefix.cost


@pytest.mark.parametrize("seed", SEEDS)
def test_shortest_beginnings(seed: int) -> None:
    """The beginnings of a state are those of the cheapest stacks with it on top."""
    known = case(seed)
    _, lengths, sentences = known
    table, plain = sentences.table, dict[int, list[Prefix]]()
    pending = [Prefix(0, (0,), ())]
    for _ in range(1500):
        if not pending:
            break
        prefix = heapq.heappop(pending)
        top = prefix.stack[-1]
        plain.setdefault(top, []).append(prefix)
        for name, target in (table.shifts[top] | table.gotos[top]).items():
            added = ((lengths[name], (name,)) if name in lengths else None) or sentences.shortest.get(name)
            if added and sentences.bounds[target] < float("inf"):
                longer = prefix.cost + added[0], (*prefix.stack, target), (*prefix.read, *added[1])
                heapq.heappush(pending, Prefix(*longer))
    reached = min((each.cost for each in pending), default=MOST)
    for state in range(len(table.shifts)):
        costs = [each.cost for each in plain.get(state, ())][:4]
        found = sentences.prefixes(state)
        assert [each.cost for each in found if each.cost < reached] == [
            each for each in costs if each < reached
        ]
        assert len(found) <= 4 and all(cost(lengths, each.read) == each.cost for each in found)
    for terminal in lengths:
        readers = [state for state, moves in enumerate(table.shifts) if terminal in moves]
        every = sentences.through(terminal, len(readers))
        costs = [cost(lengths, each) for each in every]
        assert costs == sorted(costs) and len(every) <= len(readers)
        assert sentences.through(terminal, 1)[1:] == [] and {*sentences.through(terminal, 1)} <= {*every}
        whole = [each.read for each in rests(known, Prefix(0, (0,), ()), MOST)]
        least = [cost(lengths, each) for each in whole if terminal in each][:1]
        assert not least or costs[:1] == least
        assert all(terminal in each and (each in whole or cost(lengths, each) >= MOST) for each in every)


def lost(known: Case, conflict: Conflict, most: int) -> Iterator[tuple[int, Sentence]]:
    """Yield the sentences that a conflict loses with the beginnings of its state, the shortest first."""
    table, lengths = known.sentences.table, known.lengths
    found = list[tuple[int, Sentence]]()
    for prefix in known.sentences.prefixes(conflict.state):
        stack = table.reduced(prefix.stack, conflict.lost)
        parser = after(table, prefix.read)
        if stack is None or parser is None or conflict.terminal not in lengths:
            continue
        if conflict.state not in (each[-1] for each in table.before(parser, conflict.terminal)):
            continue
        begun = prefix._replace(stack=stack)
        for whole in rests(known, begun, most):
            read = whole.read[len(prefix.read) :]
            if read[:1] == (conflict.terminal,) and refused(table, whole.read):
                found.append((whole.cost, whole.read))
    yield from sorted(found)


def after(table: Table, read: Sentence) -> Stack | None:
    stack: Stack | None = (0,)
    for terminal in read:
        stack = None if stack is None else table.read(stack, terminal)
    return stack


def refused(table: Table, read: Sentence) -> bool:
    stack = after(table, read)
    return stack is None or not table.accepts(stack)


def kept(table: Table, read: Sentence) -> int:
    return max(count for count in range(len(read) + 1) if after(table, read[:count]) is not None)


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_sentences(seed: int) -> None:
    """Each is a sentence that the parser refuses; the first one is a shortest one."""
    known = case(seed)
    table, lengths = known.sentences.table, known.lengths
    for conflict in islice(table.conflicts(), 4):
        search = LostSentences(known.sentences, 2000)
        found = [*islice(search.of(conflict), 3)]
        plain = next(lost(known, conflict, MOST), None)
        first = min((each.cost for each in found), default=MOST + 1)
        assert [each.cost for each in found] == sorted(each.cost for each in found)
        assert len({each.read for each in found}) == len(found)
        for each in found:
            assert each == LostSentence(cost(lengths, each.read), each.read, kept(table, each.read))
            assert refused(table, each.read)
        if not search.is_cut_off:
            assert first > MOST if plain is None else first == plain[0]


@pytest.mark.parametrize("seed", [53, 104, 166, 281])
def test_a_search_says_whether_it_was_cut_off(seed: int) -> None:
    """These grammars have few derivations beside the parser: each is followed once."""
    sentences = case(seed).sentences
    for conflict in islice(sentences.table.conflicts(), 6):
        search = LostSentences(sentences, 2000)
        every = [*search.of(conflict)]
        assert not search.is_cut_off and len(every) <= 2
        search.steps = 0
        assert [*search.of(conflict)] == [] and search.is_cut_off
