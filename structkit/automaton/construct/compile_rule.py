"""Compilation of regex nodes to deterministic automata: subset construction (Rabin and Scott 1959) and products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from structkit.automaton.construct import determinize
from structkit.automaton.construct.nfa import Nfa
from structkit.automaton.construct.sizes import is_large
from structkit.automaton.construct.suffix import suffix_dfa
from structkit.automaton.construct.thompson import build_nfa
from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import (
    DEAD,
    ENTER,
    EXIT,
    NO_OP,
    Dfa,
    append_text,
    exclude_texts,
    first_rows,
    intersection,
    iterations_to_end,
    trim,
)
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.lru_cache import LruCache
from structkit.regex.json_string import is_substring
from structkit.regex.nodes import Choice, Intersection, LiteralText, Node, Seq, Substring

__all__ = [
    "AmbiguousIteration",
    "allows",
    "build_rule",
    "intersect_lengths",
    "known_dfa",
    "nfa_of",
    "regular_dfa",
    "rule_dfa",
]


def rule_dfa(node: Node, limits: Limits) -> Dfa:
    """Return the result of `build_rule`, cached across targets: many share rules such as the text of strings.

    Raises:
        LimitExceeded: The automaton would be too large.
    """
    # Automata of quotes are specific to one prompt and may be large.
    if is_substring(node):
        return build_rule(node, limits)
    dfa = known_dfa(node, limits)
    if dfa is None:
        dfa = build_rule(node, limits)
        _built.put(node, (limits, dfa))
    return dfa


def known_dfa(node: Node, limits: Limits) -> Dfa | None:
    """Return the result of `build_rule` if it is cached."""
    known = _built.get(node)
    return known[1] if known is not None and allows(limits, known[0]) else None


_MAX_CACHED_BYTES = 1 << 26
"""Maximum size of the automata that a cache keeps, across targets."""

_built: LruCache[Node, tuple[Limits, Dfa]] = LruCache(1024, _MAX_CACHED_BYTES, lambda built: built[1].nbytes)
"""Automata of rules, with the limits under which they were built."""


def allows(limits: Limits, built: Limits) -> bool:
    """Return whether what was built under some limits is also built under others."""
    return limits.iterations == built.iterations and all(
        getattr(built, name) <= getattr(limits, name)
        for name in ("states", "transitions", "nfa_states", "product_states", "work")
    )


def build_rule(node: Node, limits: Limits) -> Dfa:
    """Build the automaton of one rule; calls stay calls, large repetitions are counted.

    Raises:
        LimitExceeded: The automaton would be too large.
    """
    if isinstance(node, Substring):
        return suffix_dfa(node, limits)
    if isinstance(node, Intersection) and not node.negate and is_large(node.right, limits):
        is_quote = is_substring(node)
        return intersect_lengths(regular_dfa(node.left, limits), node.right, limits, is_quote=is_quote)
    if isinstance(node, Intersection):
        return product(node, limits, None)
    if (found := _product_and_text(node, limits, None)) is not None:
        return found
    try:
        return _determinize(nfa_of(node, limits, count=True), limits)
    except AmbiguousIteration:
        return _determinize(nfa_of(node, limits), limits)


def nfa_of(
    node: Node, limits: Limits, rules: Mapping[str, Node] | None = None, *, count: bool = False
) -> Nfa:
    """Return the nondeterministic automaton of a node; for the arguments see `build_nfa`.

    Raises:
        LimitExceeded: The automaton would be too large.
    """

    def compile_part(part: Intersection | Substring) -> Dfa:
        return product(part, limits, rules) if isinstance(part, Intersection) else regular_dfa(part, limits)

    return build_nfa(node, compile_part, count=count, limits=limits, rules=rules)


def regular_dfa(node: Node, limits: Limits = Limits(), rules: Mapping[str, Node] | None = None) -> Dfa:  # noqa: B008
    """Return the automaton of a node without recursion, with calls inlined and repetitions unrolled.

    Raises:
        LimitExceeded: The automaton would be too large.
        SchemaError: The node is recursive.
    """
    if is_substring(node):
        return _uncounted(node, limits, {})
    return _uncounted(node, limits, rules) if rules else _cached_regular(node, limits)


def _uncounted(node: Node, limits: Limits, rules: Mapping[str, Node]) -> Dfa:
    if isinstance(node, Substring):
        return suffix_dfa(node, limits)
    if isinstance(node, Intersection):
        return product(node, limits, rules)
    if (found := _product_and_text(node, limits, rules)) is not None:
        return found
    return _determinize(nfa_of(node, limits, rules), limits)


def _cached_regular(node: Node, limits: Limits) -> Dfa:
    """Return the automaton of a node without calls."""
    known = _regular.get((node, limits))
    if known is None:
        known = _uncounted(node, limits, {})
        _regular.put((node, limits), known)
    return known


_regular: LruCache[tuple[Node, Limits], Dfa] = LruCache(256, _MAX_CACHED_BYTES, lambda dfa: dfa.nbytes)


def product(node: Intersection, limits: Limits, rules: Mapping[str, Node] | None) -> Dfa:
    """Return the automaton of an intersection or a difference."""
    if not node.negate:
        found = regular_dfa(node.left, limits, rules)
        if not found.is_empty:
            right = regular_dfa(node.right, limits, rules)
            found = _intersection(found, right, limits, is_quote=is_substring(node))
        return found
    subtrahends = tuple(_subtrahends(node.right))
    if rules or is_substring(node):
        return _subtract(node, regular_dfa(node.left, limits, rules), subtrahends, limits, rules)
    # The names that match some patterns and no other are separated pattern by pattern: each query subtracts one more.
    key = node.left, subtrahends, limits
    known = _differences.get(key)
    if known is None:
        most = _differences.get((node.left, subtrahends[:-1], limits))
        left, rest = (
            (regular_dfa(node.left, limits), subtrahends) if most is None else (most, subtrahends[-1:])
        )
        known = _subtract(node, left, rest, limits, rules)
        if known.targets.nbytes <= _MAX_KEPT_BYTES:
            _differences.put(key, known)
    return known


_differences: LruCache[tuple[Node, tuple[Node, ...], Limits], Dfa] = LruCache(max_size=256)
"""Automata of differences, by the minuend and the subtrahends."""

_MAX_KEPT_BYTES = 1 << 18
"""Largest automaton of a difference that is kept."""


def _subtract(
    node: Intersection,
    found: Dfa,
    subtrahends: Iterable[Node],
    limits: Limits,
    rules: Mapping[str, Node] | None,
) -> Dfa:
    for right in subtrahends:
        if found.is_empty:
            break
        texts = _texts(right)
        others = None if texts is None else exclude_texts(found, texts, limits.product_states)
        if others is None:
            right_dfa = regular_dfa(right, limits, rules)
            others = _intersection(found, right_dfa, limits, negate=True, is_quote=is_substring(node))
        found = others
    return found


def _texts(node: Node) -> list[bytes] | None:
    """Return the texts of a text or a choice of texts, otherwise `None`."""
    parts = node.parts if isinstance(node, Choice) else (node,)
    texts = [part.utf8 for part in parts if isinstance(part, LiteralText)]
    return texts if len(texts) == len(parts) else None


def _subtrahends(node: Node) -> list[Node]:
    """Return nodes whose union is the given one, to be subtracted one after another.

    After a difference no text of the subtrahend is left to follow. The automaton of a union also follows the
    alternatives after one of them has accepted everything, so that it can be much larger. Texts share a trie.
    """
    if not isinstance(node, Choice):
        return [node]
    texts = tuple(part for part in node.parts if isinstance(part, LiteralText))
    others: list[Node] = [part for part in node.parts if not isinstance(part, LiteralText)]
    return [Choice(texts), *others] if texts else others


def _product_and_text(node: Node, limits: Limits, rules: Mapping[str, Node] | None) -> Dfa | None:
    """Return the automaton of a product and a text behind it, such as a string's closing quote.

    Appending the text to the product is faster than a subset construction. The result is `None` for other nodes, and
    where the product may continue with the first byte of the text.
    """
    match node:
        case Seq((Intersection() as part, LiteralText(str(value)) as text)) if value and not is_substring(
            part
        ):
            # A large product with a counter is a rule of its own, which the NFA calls.
            if rules is None and not part.negate and is_large(part.right, limits):
                return None
            return append_text(product(part, limits, rules), text.utf8, limits.states, limits.transitions)
    return None


def _intersection(
    left: Dfa, right: Dfa, limits: Limits, *, negate: bool = False, is_quote: bool = False
) -> Dfa:
    # Even the automaton of a quote without a pattern has many states.
    max_states = max(limits.product_states, limits.states) if is_quote else limits.product_states
    result = intersection(left, right, max_states, negate=negate)
    if result is None and is_quote:
        building = (
            "a quote with a pattern or a minimum length (remove it, or quote from a part of the source)"
        )
        raise LimitExceeded("product_states", max_states, building)
    if result is None:
        raise LimitExceeded("product_states", max_states, "the combination of two patterns")
    return result


def intersect_lengths(left: Dfa, lengths: Node, limits: Limits, *, is_quote: bool = False) -> Dfa:
    """Return the intersection of an automaton without calls and counter with a repetition, counted if it is large.

    Raises:
        LimitExceeded: The automaton would be too large.
    """
    if is_large(lengths, limits):
        right = _unroll_min_count(rule_dfa(lengths, limits), limits)
        found = _count_required_iterations(_intersection(left, right, limits, is_quote=is_quote))
        if found is not None:
            return found
    return _intersection(left, regular_dfa(lengths, limits), limits, is_quote=is_quote)


def _unroll_min_count(dfa: Dfa, limits: Limits) -> Dfa:
    """Unroll the required iterations into states, so that the counter has no minimum."""
    states, min_count = len(dfa.targets), dfa.min_count
    if states * (min_count + 1) > limits.states:
        raise LimitExceeded("states", limits.states, "the minimum length of a pattern")
    started = np.arange(min_count + 1, dtype=np.int32)[:, None, None]
    operation, after = dfa.targets & OPERATION_MASK, dfa.targets >> OPERATION_BITS
    next_started = np.where(operation == ENTER, np.minimum(started + 1, min_count), started)
    allowed = (dfa.targets != DEAD) & ((operation != EXIT) | (started == min_count))
    remaining = np.where(operation == EXIT, NO_OP, operation)
    targets = np.where(allowed, next_started * states + after << OPERATION_BITS | remaining, DEAD).astype(
        np.int32
    )
    final = np.zeros((min_count + 1, states), bool)
    final[min_count] = dfa.final
    return Dfa(dfa.classes, targets.reshape(-1, targets.shape[2]), final.ravel(), max_count=dfa.max_count)


def _count_required_iterations(dfa: Dfa) -> Dfa | None:
    """Count iterations as soon as they become unavoidable, so that no path to an end exceeds the maximum.

    The counter is the number of started iterations plus the minimum that must follow. This sum never decreases, and at
    the end it is the number of started iterations.

    Returns:
        The automaton, or `None` if one byte requires more iterations than a transition can encode.
    """
    required = iterations_to_end(dfa)
    max_count = None if dfa.max_count is None else dfa.max_count - int(required[0])
    if max_count is not None and max_count < 0:
        return trim(Dfa(dfa.classes, dfa.targets, np.zeros_like(dfa.final)))
    targets = dfa.targets.copy()
    most = kernels.count_required(targets, required) if max_count is not None else 0
    if most >= EXIT:
        return None
    if most == 0:
        max_count, targets = None, np.where(targets == DEAD, DEAD, targets & ~OPERATION_MASK).astype(np.int32)
    return Dfa(dfa.classes, targets, dfa.final, max_count=max_count)


_MEMBERS_PER_CAPACITY = 8
"""Half as many members of subsets as `Limits.transitions` may be made: each takes as long as several transitions."""

_VISITS_PER_STEP = 4
"""States of an NFA that the subset construction visits in a step of `Limits.work`."""


class AmbiguousIteration(Exception):
    """The iterations of a counted repetition cannot be distinguished byte by byte."""


def _determinize(nfa: Nfa, limits: Limits) -> Dfa:
    """Subset construction. Subsets contain only the NFA states that have an edge or a call, or are final."""
    tables = nfa.edge_table, nfa.run_table, nfa.run_text, nfa.epsilon_table, nfa.call_table
    edges = np.empty((len(tables[0]) + len(tables[2]), 5), np.int32)
    epsilon, calls = np.empty(tables[3].shape, np.int32), np.empty(tables[4].shape, np.int32)
    classes, first = np.zeros(256, np.uint8), np.zeros((3, nfa.size + 2), np.int32)
    determinize.sort_moves(*tables, classes, first, edges, epsilon, calls)
    width = int(classes[255]) + 1
    max_states = min(limits.states, limits.transitions // width)
    capacity = nfa.size + 64
    while True:
        rows = min(capacity, max_states + 1)
        scratch, items = (
            np.zeros((5, nfa.size + 1), np.int32),
            np.empty((5, width + len(calls) + 2), np.int32),
        )
        moves, members = np.empty(4 * capacity, np.int32), np.empty(4 * capacity, np.int32)
        slots, subsets = np.empty(2 << rows.bit_length(), np.int32), np.zeros((rows + 1, 2), np.int64)
        targets, ends = np.empty((rows, width), np.int32), np.empty(rows, np.bool_)
        dfa_calls, numbers = np.empty((capacity, 4), np.int32), np.empty((3, len(nfa.callees)), np.int32)
        states, call_count, callee_count = determinize.determinize(
            first, edges, epsilon, calls, nfa.final, max_states, _VISITS_PER_STEP * limits.work,
            scratch, items, moves, slots, subsets, members, targets, ends, dfa_calls, numbers,
        )  # fmt: skip
        if states != kernels.FULL:
            break
        if capacity >= limits.transitions // _MEMBERS_PER_CAPACITY:
            raise LimitExceeded("transitions", limits.transitions, "the automaton of a rule")
        capacity = min(4 * capacity, limits.transitions // _MEMBERS_PER_CAPACITY)
    if states == determinize.BUSY:
        raise LimitExceeded("work", limits.work, "the automaton of a rule")
    if states == determinize.AMBIGUOUS:
        raise AmbiguousIteration
    if states == kernels.TOO_MANY:
        limit = "states" if max_states == limits.states else "transitions"
        raise LimitExceeded(limit, getattr(limits, limit), "the automaton of a rule")
    targets, final, work = first_rows(targets, states), first_rows(ends, states), int(subsets[states, 0])
    if not call_count:
        return trim(Dfa(classes, targets, final, min_count=nfa.min_count, max_count=nfa.max_count, work=work))
    keys = tuple(nfa.callees)
    callees = tuple([keys[number] for number in numbers[1, :callee_count].tolist()])
    return Dfa(
        classes, targets, final, dfa_calls[:call_count].copy(), callees, nfa.min_count, nfa.max_count, work
    )
