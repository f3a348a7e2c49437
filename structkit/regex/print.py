"""Rules as text: one regex for Python's `re`, or one line for each rule if rules are recursive."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import TypeAlias

from structkit.errors import LimitExceeded, SchemaError
from structkit.limits import Limits
from structkit.regex.charset import ANY, DIGIT, char_class, complement, union
from structkit.regex.decimal_fraction import fraction_of
from structkit.regex.labels import without_labels
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
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
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    Substring,
    choice,
    seq,
)
from structkit.regex.walk import is_recursive

__all__ = ["format_regex"]

_CHOICE, _SEQUENCE, _REPEATED, _ATOM = range(4)
"""Precedence of a printed node; a node of lower precedence than its context needs a group."""

_Piece: TypeAlias = "tuple[str, int]"
_NOTHING: _Piece = ("", _SEQUENCE)

_LEADING = char_class([(0x31, 0x39)])

_MULTIPLES = "the printed regex of `multipleOf`"

_INTEGRAL_ENDINGS = MappingProxyType({0: ""})
"""A multiple ends at remainder 0, without further digits."""

_NAMED_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\v": r"\v"}


def format_regex(rules: Rules, limits: Limits = Limits()) -> str:  # noqa: B008
    r"""Print rules as a regex.

    Without recursion the text is a pattern for `re.fullmatch` that accepts exactly the language (of texts without
    surrogates). Recursive rules have no such pattern: every rule is printed on a line of its own, with `<name>` for a
    call, for human readers.

    >>> start = seq(LiteralText("[1, "), RuleRef("digits"), LiteralText("]"))
    >>> print(format_regex(Rules(start, {"digits": Repeat(CharClass(((48, 57),)), 1, 3)})))
    \[1, [0-9]{1,3}\]

    Raises:
        LimitExceeded: The text is longer than `limits.regex_nodes`.
        SchemaError: The rules contain keys in any order or quotes of a source.
    """
    rules = without_labels(rules)
    if not is_recursive(rules):
        return _Printer(rules, limits, inline=True).text(rules.start)
    printer = _Printer(rules, limits, inline=False)
    lines = [("start", rules.start), *rules.rules.items()]
    return "\n".join(f"{name} = {printer.text(node)}" for name, node in lines)


class _Printer:
    """Prints nodes as text with a precedence; calls are inlined or printed as names."""

    def __init__(self, rules: Rules, limits: Limits, *, inline: bool) -> None:
        self.rules = rules.rules
        self.limits = limits
        self.inline = inline
        self.inlined: dict[str, _Piece] = {}
        self.groups = 0

    def text(self, node: Node) -> str:
        return self.piece(node)[0]

    def piece(self, node: Node) -> _Piece:
        """Return the text of a node and its precedence."""
        match node:
            case LiteralText(value):
                return _literal(value), _ATOM if len(value) == 1 else _SEQUENCE
            case CharClass():
                return _class(node), _ATOM
            case Seq(parts):
                piece = "".join(self.parenthesize(part) for part in parts), _SEQUENCE
            case Choice():
                piece = self.choice(node)
            case Repeat():
                piece = self.repeat(node)
            case Intersection(left, right, negate, end):
                lookahead = "(?!" if negate else "(?="
                piece = (
                    f"{lookahead}{self.parenthesize(right)}{end}){self.parenthesize(left)}",
                    _SEQUENCE,
                )
            case MultipleOf(of, places):
                piece = self.decimals(of, places) if places else self.multiple(of), _CHOICE
            case SeparatedList():
                piece = self.separated_list(node)
            case RuleRef(rule):
                piece = self.rule_ref(rule)
            case Substring():
                raise SchemaError(
                    "quotes of a source cannot be printed as a regex; remove the fields with Quote"
                )
            case AnyOrder():
                raise SchemaError("keys in any order cannot be printed as a regex; use order='declared'")
            case Network():
                piece = self.network(node)
            case Distinct(inner):
                piece = self.piece(inner)
        if len(piece[0]) > self.limits.regex_nodes:
            raise LimitExceeded("regex_nodes", self.limits.regex_nodes, "the printed regex")
        return piece

    def parenthesize(self, node: Node) -> str:
        """Return the text of a node as a part of a sequence, in a group if necessary."""
        text, own = self.piece(node)
        return text if own >= _SEQUENCE else f"(?:{text})"

    def network(self, node: Network) -> _Piece:
        """Return the paths of an automaton, by eliminating one state after another (Brzozowski and McCluskey 1963)."""
        start, end = -1, -2
        edges: dict[int, dict[int, _Piece]] = {start: {0: _NOTHING}, 1: {end: _NOTHING}}
        for source, part, target in node.moves:
            _add_edge(edges, source, target, _NOTHING if part == EMPTY else self.piece(part))
        entering: dict[int, dict[int, None]] = {}
        for source, targets in edges.items():
            for target in targets:
                entering.setdefault(target, {})[source] = None
        size = sum(len(text) for targets in edges.values() for text, _ in targets.values())

        def cost(state: int) -> int:
            return len(entering.get(state, ())) * len(edges.get(state, ()))

        pending = set(range(node.size))
        queue = [(cost(state), state) for state in pending]  # with outdated costs, too
        heapify(queue)
        while queue:
            known, state = heappop(queue)
            if state not in pending or known != cost(state):
                continue
            pending.remove(state)
            neighbors = {*entering.get(state, ()), *edges.get(state, ())} & pending
            leaving = edges.pop(state, {})
            size -= sum(len(text) for text, _ in leaving.values())
            for target in leaving:
                del entering[target][state]
            loop = leaving.pop(state, None)
            repeated = _NOTHING if loop is None or loop == _NOTHING else _suffixed(loop, "*")
            for source in entering.pop(state, ()):
                targets = edges[source]
                size -= len(targets[state][0])
                before = _joined(targets.pop(state), repeated)
                for target, after in leaving.items():
                    size -= len(targets[target][0]) if target in targets else 0
                    _add_edge(edges, source, target, _joined(before, after))
                    entering.setdefault(target, {})[source] = None
                    size += len(targets[target][0])
            if size > self.limits.regex_nodes:
                raise LimitExceeded("regex_nodes", self.limits.regex_nodes, "the printed regex")
            for neighbor in neighbors:
                heappush(queue, (cost(neighbor), neighbor))
        return edges[start].get(end, ("(?!)", _ATOM))

    def choice(self, node: Choice) -> _Piece:
        if node is NEVER:
            return "(?!)", _ATOM
        single = [
            part
            for part in node.parts
            if isinstance(part, CharClass) or (isinstance(part, LiteralText) and len(part.value) == 1)
        ]
        rest = [part for part in node.parts if part not in single and part != EMPTY]
        merged = union(
            part if isinstance(part, CharClass) else CharClass(((ord(part.value),) * 2,)) for part in single
        )
        pieces = [self.piece(part) for part in rest]
        if merged.ranges:
            pieces.insert(0, self.piece(merged))
        piece = pieces[0] if len(pieces) == 1 else ("|".join(text for text, _ in pieces), _CHOICE)
        return _suffixed(piece, "?") if EMPTY in node.parts else piece

    def repeat(self, node: Repeat) -> _Piece:
        if node.max_count == 0:
            return "", _SEQUENCE
        piece = self.piece(node.part)
        min_count, max_count = node.min_count, node.max_count
        if min_count == max_count:
            return piece if min_count == 1 else _suffixed(piece, f"{{{min_count}}}")
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        return _suffixed(
            piece,
            short.get((min_count, max_count), f"{{{min_count},{'' if max_count is None else max_count}}}"),
        )

    def rule_ref(self, rule: str) -> _Piece:
        if not self.inline:
            return f"<{rule}>", _ATOM
        piece = self.inlined.get(rule)
        if piece is None:
            piece = self.piece(self.rules[rule])
            if "(?P<" not in piece[0]:  # group names must be unique
                self.inlined[rule] = piece
        return piece

    def separated_list(self, node: SeparatedList) -> _Piece:
        parts = [part for part in node.parts if part.max_count != 0]
        if not parts:
            return "", _SEQUENCE
        items = self.nonempty_list(parts, LiteralText(node.separator))
        return items if any(part.min_count for part in parts) else _suffixed(items, "?")

    def nonempty_list(self, parts: Sequence[ListPart], separator: LiteralText) -> _Piece:
        """Return the list with at least one item; the text has size n log n in the size of the parts."""
        if len(parts) == 1:
            (part,) = parts
            more = ListPart(
                part.node, max(part.min_count - 1, 0), None if part.max_count is None else part.max_count - 1
            )
            distinct = self.distinct(part.node, separator) if more.max_count != 0 else ""
            return (
                f"{distinct}{self.parenthesize(part.node)}{self.list_continuation(more, separator, False)}",
                _SEQUENCE,
            )
        front, back = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        beginning = self.grouped(self.nonempty_list(front, separator)) + "".join(
            self.list_continuation(part, separator, True) for part in back
        )
        if any(part.min_count for part in front):
            return beginning, _SEQUENCE
        return f"{beginning}|{self.nonempty_list(back, separator)[0]}", _CHOICE

    def list_continuation(self, part: ListPart, separator: LiteralText, first: bool) -> str:
        """Return the part after earlier items; `first` if these are items of other parts only."""
        if part.max_count == 0:
            return ""
        entry = seq(separator, part.node)
        distinct = self.distinct(part.node, separator, separator) if first and part.max_count != 1 else ""
        return distinct + self.grouped(self.repeat(Repeat(entry, part.min_count, part.max_count)))

    def grouped(self, piece: _Piece) -> str:
        return piece[0] if piece[1] >= _SEQUENCE else f"(?:{piece[0]})"

    def distinct(self, entry: Node, separator: LiteralText, before: Node = EMPTY) -> str:
        """Return a lookahead that rejects equal `Distinct` texts in the items that follow; empty without `Distinct`."""
        parts = entry.parts if isinstance(entry, Seq) else (entry,)
        index = next((i for i, part in enumerate(parts) if isinstance(part, Distinct)), None)
        if index is None:
            return ""
        self.groups += 1
        name, comma = f"unique{self.groups}", _literal(separator.value)
        head, tail = seq(*parts[:index]), seq(*parts[index + 1 :])
        skip, between = (f"(?:{self.parenthesize(entry)}{comma})*" for _ in range(2))
        # Printed separately, so that the group names inside differ.
        first, second = (
            f"{self.parenthesize(head)}{group}{self.parenthesize(tail)}"
            for group in (f"(?P<{name}>{self.text(parts[index])})", f"(?P={name})")
        )
        return rf"(?!{self.text(before)}{skip}{first}{comma}{between}{second}(?:{comma}|[\]}}]))"

    def multiple(self, of: int) -> str:
        """Return the multiples of `of`: by their last digits if these decide, otherwise by remainders."""
        rest = of
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == of:
            return self.remainders(of, _INTEGRAL_ENDINGS)
        if rest > 1:
            return (
                f"(?=(?:{self.remainders(rest, _INTEGRAL_ENDINGS)})(?![0-9]))(?:{self.multiple(of // rest)})"
            )
        size = next((size for size in range(6) if 10**size % of == 0), None)
        if size is None:
            return self.remainders(of, _INTEGRAL_ENDINGS)
        short = [LiteralText(str(value)) for value in range(0, 10**size, of)]
        tails = choice(LiteralText(f"{value:0{size}}" if size else "") for value in range(0, 10**size, of))
        return self.text(choice([*short, seq(_LEADING, Repeat(DIGIT), tails)]))

    def decimals(self, of: int, places: int) -> str:
        """Return the multiples of `of / 10 ** places`: by the remainder before the point and the matching fractions."""
        units = 10**places
        if units > self.limits.regex_nodes:
            raise LimitExceeded("regex_nodes", self.limits.regex_nodes, _MULTIPLES)
        parts: dict[int, list[Node]] = {}
        for part in range(units):
            parts.setdefault(-part % of, []).append(fraction_of(part, places))
        modulus = of // math.gcd(of, units)
        needed = {remainder: parts.get(remainder * units % of) for remainder in range(modulus)}
        return self.remainders(
            modulus, {key: self.text(choice(each)) for key, each in needed.items() if each}
        )

    def remainders(self, of: int, ends: Mapping[int, str]) -> str:
        """Return the automaton of remainders as a regex, by state elimination (Kleene 1956).

        `ends` maps a remainder to the text that completes a number after it.
        """
        paths: dict[tuple[int, int], str] = {}
        for remainder in range(of):
            for digit in range(10):
                key = remainder, (10 * remainder + digit) % of
                paths[key] = paths.get(key, "") + str(digit)
        starts: dict[int, str] = {}
        for digit in range(1, 10):
            starts[digit % of] = starts.get(digit % of, "") + str(digit)
        paths = {key: _digits(digits) for key, digits in paths.items()}
        starts = {remainder: _digits(digits) for remainder, digits in starts.items()}
        paths |= {(remainder, of): end for remainder, end in ends.items()}
        for eliminated in range(of - 1, 0, -1):
            self.eliminate(eliminated, starts, paths)
        # The digit 0 leads from remainder 0 back to remainder 0.
        zero_path = f"{_group(starts[0])}{_group(paths[0, 0])}*{_group(paths[0, of])}"
        return _either(starts.get(of), f"0{_group(ends[0])}|{zero_path}")

    def eliminate(self, eliminated: int, starts: dict[int, str], paths: dict[tuple[int, int], str]) -> None:
        """Replace the paths through the remainder `eliminated` by direct paths."""
        loop = paths.pop((eliminated, eliminated), None)
        loops = f"{_group(loop)}*" if loop else ""
        leaving = [(key[1], paths.pop(key)) for key in list(paths) if key[0] == eliminated]
        entering = [(key[0], paths.pop(key)) for key in list(paths) if key[1] == eliminated]
        start = starts.pop(eliminated, None)
        for target, outgoing in leaving:
            if start is not None:
                starts[target] = _either(starts.get(target), f"{_group(start)}{loops}{_group(outgoing)}")
            for source, incoming in entering:
                path = _either(paths.get((source, target)), f"{_group(incoming)}{loops}{_group(outgoing)}")
                if len(path) * len(paths) > self.limits.regex_nodes:
                    raise LimitExceeded("regex_nodes", self.limits.regex_nodes, _MULTIPLES)
                paths[source, target] = path


def _either(left: str | None, right: str) -> str:
    return right if left is None else f"{left}|{right}"


def _group(digits: str) -> str:
    single = len(digits) < 2 or (digits[0] == "[" and digits.find("]") == len(digits) - 1)
    return digits if single else f"(?:{digits})"


def _digits(digits: str) -> str:
    return digits if len(digits) == 1 else f"[{digits}]"


def _add_edge(edges: dict[int, dict[int, _Piece]], source: int, target: int, piece: _Piece) -> None:
    """Add a move to an automaton of printed regexes, beside the one that is there."""
    targets = edges.setdefault(source, {})
    known = targets.get(target)
    if known is None or known == piece:
        targets[target] = piece
    elif _NOTHING in (known, piece):
        text, precedence = known if piece == _NOTHING else piece
        is_optional = precedence == _REPEATED and text.endswith(("?", "*"))
        targets[target] = (text, precedence) if is_optional else _suffixed((text, precedence), "?")
    else:
        targets[target] = f"{known[0]}|{piece[0]}", _CHOICE


def _joined(first: _Piece, second: _Piece) -> _Piece:
    if _NOTHING in (first, second):
        return second if first == _NOTHING else first
    texts = [text if precedence >= _SEQUENCE else f"(?:{text})" for text, precedence in (first, second)]
    return "".join(texts), _SEQUENCE


def _suffixed(piece: _Piece, suffix: str) -> _Piece:
    text, precedence = piece
    return (text if precedence == _ATOM else f"(?:{text})") + suffix, _REPEATED


def _literal(text: str) -> str:
    return "".join(_character(ord(character), r".^$*+?{}[]\|()") for character in text)


def _class(node: CharClass) -> str:
    """Print a class, negated if that is shorter."""
    if node == ANY:
        return "(?s:.)"
    if len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]:
        return _literal(chr(node.ranges[0][0]))
    if not node.ranges:
        return "(?!)"
    if node.ranges[-1][1] == ANY.ranges[-1][1]:
        return f"[^{_ranges(complement(node))}]"
    return f"[{_ranges(node)}]"


def _ranges(node: CharClass) -> str:
    return "".join(_range(first, last) for first, last in node.ranges)


def _range(first: int, last: int) -> str:
    special = r"^[]\-&~|"
    ends = _character(first, special), _character(last, special)
    return ends[0] if first == last else "".join(ends) if last == first + 1 else "-".join(ends)


def _character(code: int, special: str) -> str:
    character = chr(code)
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    if 0x20 <= code < 0x7F:
        return f"\\{character}" if character in special else character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
