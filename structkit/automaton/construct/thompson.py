"""Thompson's construction: regex nodes to nondeterministic automata (Thompson 1968)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.construct.arithmetic import multiples
from structkit.automaton.construct.networks import MAX_DIRECT_RANGES, emit_network
from structkit.automaton.construct.nfa import Nfa
from structkit.automaton.construct.optional_parts import group_optional, optional_run
from structkit.automaton.construct.sizes import Sizes, repeats_letters
from structkit.automaton.construct.utf8 import byte_sequences, class_edges
from structkit.automaton.core.dfa import DEAD, ENTER, EXIT, NO_OP, Callee, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.errors import LimitExceeded, SchemaError
from structkit.limits import Limits
from structkit.regex.json_string import is_substring
from structkit.regex.nodes import (
    AnyOrder,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    MultipleOf,
    Network,
    Node,
    Repeat,
    ReturnLabel,
    RuleRef,
    SeparatedList,
    Seq,
    Substring,
    seq,
)
from structkit.regex.walk import has_distinct

__all__ = ["build_nfa"]

_MAX_SEPARATE_TEXTS = 8
"""Maximum number of alternative literals that are emitted one by one; more share a trie."""

_MIN_COPIED_STATES = 20
"""Minimum number of copied states for which shifting the rows of the first copy is faster than emitting each copy."""


CompilePart: TypeAlias = Callable[[Intersection | Substring], Dfa]
"""Compiles an intersection, a difference or a quote to a deterministic automaton with inlined calls."""


def build_nfa(
    node: Node,
    compile_part: CompilePart,
    *,
    count: bool,
    limits: Limits,
    rules: Mapping[str, Node] | None = None,
) -> Nfa:
    """Build the automaton of a node.

    Args:
        node: The language.
        compile_part: Compiles the parts of the node that are embedded as deterministic automata.
        count: Whether one large repetition may use the counter.
        limits: Bounds `nfa_states`.
        rules: The rules to inline, for an automaton that takes part in a product; then no repetition is counted. With
            `None`, calls are kept, and further large repetitions become calls.

    Raises:
        LimitExceeded: The automaton would be larger than `limits.nfa_states`.
    """
    builder = _Builder(limits, rules, compile_part, count=count and rules is None)
    parts = node.parts if isinstance(node, Seq) else (node,)
    state = 0
    inlined = _inlined_repetitions(parts, builder) if rules is None else set()
    for place, part in enumerate(parts):
        if isinstance(part, Repeat) and place in inlined:
            state = builder.repeat_inline(part, state)
        else:
            state = builder.emit(part, state)
    builder.nfa.final = state
    if builder.exit_state is not None:
        builder.nfa.set_operation(builder.nfa.epsilon_closure([builder.exit_state]), EXIT)
    return builder.nfa


def _inlined_repetitions(parts: Sequence[Node], builder: _Builder) -> set[int]:
    """Return the places of the repetitions that may use the counter: the large ones, else the first one of letters."""
    large = {at for at, part in enumerate(parts) if isinstance(part, Repeat) and builder.is_large(part)}
    letters = (at for at, part in enumerate(parts) if repeats_letters(part))
    return large or set(islice(letters, 1))


class _Builder:
    """Adds fragments to an automaton; each emitting method returns the end state of its fragment."""

    def __init__(
        self, limits: Limits, rules: Mapping[str, Node] | None, compile_part: CompilePart, *, count: bool
    ) -> None:
        self.nfa = Nfa()
        self.compile_part = compile_part
        self.counter_allowed = count
        self.exit_state: int | None = None
        self.limits = limits
        self.max_states = limits.nfa_states
        self.rules = rules
        self.open_rules: list[str] = []
        self.has_calls = rules is None
        self.wide_states = 0
        self.is_large = Sizes(limits).is_large

    def state(self) -> int:
        state = self.nfa.size
        if state >= self.max_states:
            raise LimitExceeded("nfa_states", self.max_states, "the automaton of a rule")
        self.nfa.size = state + 1
        return state

    def emit(self, node: Node, start: int) -> int:
        if type(node) is LiteralText:  # fast paths for the most frequent nodes
            return self.text(node.value, start)
        if type(node) is RuleRef:
            return self.rule_ref(node.rule, start)
        if type(node) is Seq:  # a loop here, because a call for it would halve the depth that can be emitted
            for part in node.parts:
                if type(part) is LiteralText:
                    start = self.text(part.value, start)
                elif type(part) is RuleRef:
                    start = self.rule_ref(part.rule, start)
                else:
                    start = self.emit(part, start)
            return start
        match node:
            case CharClass(ranges):
                return self.chars(ranges, start)
            case Choice(parts):
                return self.alternatives(parts, start)
            case Repeat():
                return self.repeat(node, start)
            case SeparatedList(parts, separator):
                return self.separated_list(parts, separator, start)
            case Distinct(inner):
                return self.call_rule(node, start) if self.rules is None else self.emit(inner, start)
            case AnyOrder():
                return self.any_order(node, start)
            case Intersection() if self.rules is None and is_substring(node):
                return self.call_rule(node, start)
            case Substring() if self.rules is None:
                return self.call_rule(node, start)
            case Intersection(right=Repeat() as length, negate=False) if self.rules is None and self.is_large(
                length
            ):
                return self.call_rule(node, start)
            case Intersection() | Substring():
                return self.embed(self.compile_part(node), start)
            case MultipleOf(of, places):
                return multiples(self, of, places, start)
            case Network():
                return emit_network(self, node, start)
            case ReturnLabel():
                return self.call_rule(node, start)

    def link(self, source: int, target: int) -> None:
        self.nfa.epsilon.extend((source, target))

    def edge(self, source: int, byte: int, target: int) -> None:
        self.nfa.edges.extend((source, byte, byte, target, NO_OP))

    def edges(
        self, sources: NDArray[np.int32], symbols: NDArray[np.int32], targets: NDArray[np.int32]
    ) -> None:
        moves = np.stack([sources, symbols, symbols, targets, np.full_like(sources, NO_OP)], axis=1)
        self.nfa.edges.frombytes(moves.tobytes())

    def text(self, value: str, start: int) -> int:
        return self.byte_run(value.encode(errors="surrogateescape"), start) if value else start

    def byte_run(self, text: bytes, start: int) -> int:
        """Add a path of consecutive new states; return the last one."""
        nfa = self.nfa
        first, length = nfa.size, len(text)
        end = nfa.size = first + length
        if end > self.max_states:
            raise LimitExceeded("nfa_states", self.max_states, "the automaton of a rule")
        nfa.runs.extend((start, first, length))
        nfa.run_bytes += text
        return end - 1

    def alternatives(self, parts: tuple[Node, ...], start: int) -> int:
        """Emit a choice; if there are many literals, they share a trie."""
        end = self.state()
        texts = [part.utf8 for part in parts if isinstance(part, LiteralText)]
        if shared := len(texts) > _MAX_SEPARATE_TEXTS:
            texts.sort()
            root = self.state()
            self.link(start, root)
            self.trie(texts, root, end)
        for part in parts:
            if not shared or not isinstance(part, LiteralText):
                self.link(self.emit(part, start), end)
        return end

    def trie(self, texts: list[bytes], root: int, end: int) -> None:
        """Emit the trie of sorted texts: each text branches from the previous one where they differ."""
        previous, path = b"", [root]
        for text in texts:
            shared = _common_prefix(text, previous)
            del path[shared + 1 :]
            if shared < len(text):
                first = self.nfa.size
                self.byte_run(text[shared:], path[-1])
                path += range(first, self.nfa.size)
            self.link(path[-1], end)
            previous = text

    def chars(self, ranges: tuple[tuple[int, int], ...], start: int) -> int:
        """Emit a character class; encodings with equal suffixes share states, so that large classes stay small."""
        nfa, end = self.nfa, self.state()
        if len(ranges) <= MAX_DIRECT_RANGES:
            states: dict[tuple[tuple[int, int], ...], int] = {(): end}
            for sequence in byte_sequences(ranges):
                target = end
                for position in range(len(sequence) - 1, 0, -1):
                    rest = sequence[position:]
                    if rest not in states:
                        states[rest] = self.state()
                        nfa.edges.extend((states[rest], *rest[0], target, NO_OP))
                    target = states[rest]
                nfa.edges.extend((start, *sequence[0], target, NO_OP))
            return end
        size, edges = class_edges(ranges)
        offset = nfa.size
        nfa.size += size
        if nfa.size > self.max_states:
            raise LimitExceeded("nfa_states", self.max_states, "the automaton of a rule")
        numbers = np.concatenate([np.arange(offset, offset + size), [end, start]])
        rows = edges.copy()
        rows[:, [0, 3]] = numbers[edges[:, [0, 3]]]
        nfa.edges.frombytes(rows.tobytes())
        return end

    def rule_ref(self, rule: str, start: int) -> int:
        if self.rules is None:
            return self.call_rule(rule, start)
        if rule in self.open_rules:
            raise SchemaError(
                "a recursive value cannot be combined with a pattern or a negation; remove one of the two"
            )
        self.open_rules.append(rule)
        end = self.emit(self.rules[rule], start)
        self.open_rules.pop()
        return end

    def repeat(self, node: Repeat, start: int) -> int:
        if self.rules is not None or not self.is_large(node):
            return self.unroll(node, start)
        if has_distinct(node.part):  # a separate rule would have its own set of seen texts
            return self.repeat_inline(node, start)
        return self.call_rule(node, start)

    def call_rule(self, key: Callee, start: int) -> int:
        end = self.state()
        self.nfa.call(start, key, end, NO_OP)
        return end

    def repeat_inline(self, node: Repeat, start: int) -> int:
        """Emit a large repetition without a call: counted if the counter is free, else unrolled."""
        counted = self.count(node, start) if self.counter_allowed and self.exit_state is None else None
        if counted is None:
            return self.unroll(node, start)
        self.exit_state = counted
        return counted

    def unroll(self, node: Repeat, start: int) -> int:
        part, min_count, max_count = node.part, node.min_count, node.max_count
        copies = min_count if max_count is not None else max(min_count - 1, 0)
        start = self.emit_copies(lambda entry: self.emit(part, entry), start, copies)
        if max_count is None:
            loop = self.state()
            self.link(start, loop)
            end = self.emit(part, loop)
            self.link(end, loop)
            return end if min_count else loop
        end = self.state()

        def emit_optional(entry: int) -> int:
            self.link(entry, end)
            inner = self.state()
            self.link(entry, inner)
            return self.emit(part, inner)

        self.link(self.emit_copies(emit_optional, start, max_count - min_count), end)
        return end

    def emit_copies(self, emit: Callable[[int], int], start: int, count: int) -> int:
        """Emit a fragment `count` times in sequence; return the end of the last copy."""
        nfa = self.nfa
        for more in range(count - 1, -1, -1):
            first, lengths, exit_state = nfa.size, nfa.table_lengths, self.exit_state
            end = emit(start)
            fragment = range(first, nfa.size)
            # If the fragment took the rule's counter, the next copy differs.
            if (
                more * len(fragment) >= _MIN_COPIED_STATES
                and end in fragment
                and self.exit_state == exit_state
            ):
                if nfa.size + more * len(fragment) > self.limits.nfa_states:
                    raise LimitExceeded("nfa_states", self.limits.nfa_states, "the automaton of a rule")
                nfa.append_copies(lengths, fragment, (start, end), more)
                return end + more * len(fragment)
            start = end
        return start

    def count(self, node: Repeat, start: int) -> int | None:
        """Emit the repetition as a loop with the rule's counter; `None` if its iterations are ambiguous."""
        loop, first, exit_state = self.state(), self.state(), self.state()
        self.link(start, loop)
        end = self.emit(node.part, first)
        nfa = self.nfa
        entry_states = nfa.epsilon_closure([first])
        if end in entry_states or nfa.is_entered(entry_states, excluded=entry_states):
            return None
        nfa.set_operation(entry_states, ENTER)
        self.link(loop, first)
        self.link(end, loop)
        self.link(loop, exit_state)
        nfa.min_count = node.min_count
        nfa.max_count = (
            None if node.max_count is None or node.max_count > self.limits.iterations else node.max_count
        )
        return exit_state

    def separated_list(self, parts: tuple[ListPart, ...], separator: str, start: int) -> int:
        """Emit two parallel paths, before and after the first written part, so that the size is linear."""
        none_written: int | None = start
        some_written: int | None = None
        for run in group_optional([part for part in parts if part.max_count != 0]):
            if len(run) > 1:
                some_written = optional_run(self, run, separator, none_written, some_written)
                continue
            part = run[0]
            if part.max_count == 1 and some_written is not None:
                end = self.list_item(part.node, separator, none_written, some_written)
            elif part.max_count == 1 and none_written is not None:
                end = self.emit(part.node, none_written)
            else:
                entry = self.state()
                if none_written is not None:
                    self.link(none_written, entry)
                if some_written is not None:
                    self.link(self.text(separator, some_written), entry)
                end = self.list_part(part, separator, entry)
            if part.min_count:
                none_written = None
            elif some_written is not None:
                if not self.ends_in_new_state(part):
                    inner, end = end, self.state()
                    self.link(inner, end)
                self.link(some_written, end)
            some_written = end
        end = self.state()
        for state in (none_written, some_written):
            if state is not None:
                self.link(state, end)
        return end

    def list_item(self, node: Node, separator: str, none_written: int | None, some_written: int) -> int:
        """Emit a part of a list that is written at most once, behind other parts."""
        if none_written is not None:
            entry = self.text(separator, some_written) if separator else self.state()
            self.link(none_written, entry)
            if not separator:
                self.link(some_written, entry)
            return self.emit(node, entry)
        match node:
            case Seq((LiteralText(key), *rest)):  # one path with the separator
                end = self.text(separator + key, some_written)
                for part in rest:
                    end = self.emit(part, end)
                return end
        return self.emit(node, self.text(separator, some_written))

    def ends_in_new_state(self, part: ListPart) -> bool:
        """Return whether the last state of a part is new and has no moves, so that other paths may join there."""
        node = part.node.parts[-1] if type(part.node) is Seq and part.node.parts else part.node
        if part.max_count != 1:
            return False
        return node.value != "" if type(node) is LiteralText else type(node) is RuleRef and self.rules is None

    def any_order(self, node: AnyOrder, start: int) -> int:
        """Emit a loop over the entries with the rule's counter; keys are distinct texts, so none is repeated."""
        if self.rules is not None or not self.counter_allowed or self.exit_state is not None:
            raise SchemaError(
                "keys in any order cannot be combined with a pattern or a negation; pass order='declared'"
            )
        # With a maximum all entries count, and a separator counts the one behind it: after the last, none is allowed.
        at_separator = node.max_count is not None
        first, after, exit_state = self.state(), self.state(), self.state()
        later = self.state() if at_separator else first
        self.link(start, first)
        for each in node.entries:
            key_end = self.state()
            self.nfa.call(first, each.key, key_end, ENTER if each.counted else NO_OP)
            if at_separator:
                self.nfa.call(later, each.key, key_end, NO_OP)
            self.link(self.emit(each.value, key_end), after)
        counting = self.state()
        self.nfa.edges.extend(
            (after, *node.separator[:1].encode() * 2, counting, ENTER if at_separator else NO_OP)
        )
        self.link(self.text(node.separator[1:], counting), later)
        self.link(start, exit_state)
        self.link(after, exit_state)
        self.nfa.min_count, self.nfa.max_count = node.min_count, node.max_count
        self.exit_state = exit_state
        return exit_state

    def list_part(self, part: ListPart, separator: str, entry: int) -> int:
        """Emit a part of a list and its repetitions."""
        end = self.emit(part.node, entry)
        if part.min_count <= 1 and part.max_count is None:
            self.link(self.text(separator, end), entry)
        elif part.max_count != 1:
            max_count = None if part.max_count is None else part.max_count - 1
            following = seq(LiteralText(separator), part.node)
            end = self.repeat(Repeat(following, max(part.min_count - 1, 0), max_count), end)
        return end

    def embed(self, dfa: Dfa, start: int) -> int:
        """Embed a deterministic automaton, with an edge for each run of bytes of one class."""
        end = self.state()
        if dfa.is_empty:
            return end
        nfa, offset = self.nfa, self.nfa.size
        nfa.size += len(dfa.final)
        if nfa.size > self.max_states:
            raise LimitExceeded("nfa_states", self.max_states, "the automaton of a rule")
        self.link(start, offset)
        starts = np.flatnonzero(np.diff(dfa.classes, prepend=-1))  # uint8 and -1 give int64
        lasts = np.append(starts[1:], 256) - 1
        targets = dfa.targets[:, dfa.classes[starts]]
        sources, runs = np.nonzero(targets != DEAD)
        after = targets[sources, runs] >> OPERATION_BITS
        rows = [offset + sources, starts[runs], lasts[runs], offset + after, np.full(len(runs), NO_OP)]
        nfa.edges.frombytes(np.column_stack(rows).astype(np.int32).tobytes())
        for state in np.flatnonzero(dfa.final).tolist():
            self.link(offset + state, end)
        return end


def _common_prefix(left: bytes, right: bytes) -> int:
    """Return the length of the common prefix of two texts.

    >>> _common_prefix(b"abc", b"abdef"), _common_prefix(b"ab", b"abc"), _common_prefix(b"", b"a")
    (2, 2, 0)
    """
    length = min(len(left), len(right))
    # The highest bit that differs is in the first byte that differs.
    different = int.from_bytes(left[:length], "big") ^ int.from_bytes(right[:length], "big")
    return length - (different.bit_length() + 7) // 8
