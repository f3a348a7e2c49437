"""Patterns of Python's `re` as programs: `instructions.py` has what they consist of."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from structkit.errors import LimitExceeded, PatternError
from structkit.regex.charset import ANY, complement, intersection, single_char
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.back_references import without_references
from structkit.regex.pattern.classes import Item, class_of
from structkit.regex.pattern.instructions import Char, End, Instruction, Look, Program, Split
from structkit.regex.pattern.syntax import UNSUPPORTED_REFERENCE, parse_syntax
from structkit.regex.pattern.unicode import Dialect, UncertainClass, shorthand

if TYPE_CHECKING or sys.version_info < (3, 11):
    import sre_constants
    import sre_parse
else:
    from re import _constants as sre_constants
    from re import _parser as sre_parse

__all__ = ["prefers_longer", "read_pattern"]

_MAX_INSTRUCTIONS = 20_000
"""Maximum size of the program of a pattern; repetitions are unrolled."""

_MAX_NESTING = 50
"""Maximum nesting of groups."""


@lru_cache(maxsize=1024)
def read_pattern(
    pattern: str,
    flags: int = 0,
    *,
    dialect: Dialect = "python",
    strict_end: bool = False,
    search: bool = False,
) -> Program:
    """Return the program of a pattern as `re.compile(pattern, flags)` reads it.

    Args:
        pattern: The pattern.
        flags: The flags of `re`.
        dialect: The engine that defines the classes of characters.
        strict_end: Whether `$` is the end of the text only, never the place before a final line break.
        search: Whether any text may come before and after the match.

    Raises:
        PatternError: `re` rejects the pattern, or the pattern is not regular (some back-references, and conditionals),
            or it looks behind inside a lookaround.
        LimitExceeded: The pattern is too large.
    """
    parsed = parse_syntax(without_references(pattern, dialect, flags), flags)
    reader = _Reader(pattern, dialect, strict_end=strict_end)
    flags = parsed.state.flags
    end = reader.anything(0) if search else 0
    start = reader.sequence(parsed, flags, end, 0)
    reader.program.start = reader.anything(start) if search else start
    return reader.program


Items: TypeAlias = Iterable[Item]


class _Reader:
    """Builds a program from its end: each method returns the instruction of a part that continues at `after`."""

    def __init__(self, pattern: str, dialect: Dialect, *, strict_end: bool) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.strict_end = strict_end
        self.program = Program()
        self.in_look = ""  # "ahead" or "behind" inside a lookaround
        self.excluded = False  # inside an odd number of negative lookarounds
        # Copies of a repeated part often look for the same: equal instructions have one number, and so have equal
        # lookarounds.
        self._numbers: dict[Instruction, int] = {}
        self._loops: dict[tuple[int, bool, int, int, bool], int] = {}
        self._counted: dict[tuple[int, bool, int, int, bool], int] = {}
        # The items of an atomic part are read twice; without this, nested parts would be read exponentially often.
        self._atomic: dict[tuple[int, int, int, str, bool], int] = {}

    def add(self, instruction: Instruction) -> int:
        number = self._numbers.get(instruction)
        if number is None:
            number = self._numbers[instruction] = self._append(instruction)
        return number

    def _append(self, instruction: Instruction) -> int:
        instructions = self.program.instructions
        if len(instructions) >= _MAX_INSTRUCTIONS:
            raise LimitExceeded(
                "nfa_states", _MAX_INSTRUCTIONS, f"the terminal /{self.pattern:.40}/", is_fixed=True
            )
        instructions.append(instruction)
        return len(instructions) - 1

    def anything(self, after: int) -> int:
        """Add a loop over all characters."""
        loop = self._append(Split(()))
        self.program.instructions[loop] = Split((self.add(Char(ANY, loop)), after), after)
        return loop

    def class_of(self, operation: str, argument: object, flags: int) -> CharClass:
        return class_of(operation, argument, flags, self.dialect, possible=self.excluded)

    def fail(self, what: str) -> NoReturn:
        raise PatternError(what, pattern=self.pattern, column=0)

    def sequence(self, items: Items, flags: int, after: int, depth: int) -> int:
        if depth > _MAX_NESTING:
            self.fail(f"groups are nested more than {_MAX_NESTING} levels deep")
        items = list(items)
        for position in range(len(items) - 1, -1, -1):
            operation, argument = items[position]
            if self.in_look == "ahead" and str(operation) == "AT" and after == 0:
                after = self.end_of_look(str(argument), items[:position], flags)
            else:
                after = self.item(str(operation), argument, flags, after, depth)
        return after

    def item(self, operation: str, argument: Any, flags: int, after: int, depth: int) -> int:
        match operation, argument:
            case (("LITERAL" | "NOT_LITERAL" | "ANY" | "IN" | "RANGE" | "CATEGORY"), _):
                return self.add(Char(self.class_of(operation, argument, flags), after))
            case "BRANCH", (_, list(branches)):
                parts = [self.sequence(branch, flags, after, depth + 1) for branch in branches]
                return self.add(Split(tuple(parts)))
            case "SUBPATTERN", (_, int(added), int(removed), body):
                return self.sequence(body, (flags | added) & ~removed, after, depth + 1)
            case (("MAX_REPEAT" | "MIN_REPEAT"), (low, high, body)):
                greedy = operation == "MAX_REPEAT"
                return self.repeat(body, *_rounds(body, low, high), greedy, flags, after, depth)
            case (("ASSERT" | "ASSERT_NOT"), (direction, body)):
                return self.look(body, direction > 0, operation == "ASSERT_NOT", flags, after, depth)
            case "AT", where:
                return self.at(str(where), flags, after)
            case (("GROUPREF" | "GROUPREF_EXISTS"), _):
                self.fail(UNSUPPORTED_REFERENCE)
            case (("ATOMIC_GROUP" | "POSSESSIVE_REPEAT"), _):
                key = id(argument), flags, after, self.in_look, self.excluded
                if key not in self._atomic:
                    self._atomic[key] = self.atomic(operation, argument, flags, after, depth)
                return self._atomic[key]
            case _:
                self.fail(f"{operation.lower()} is not supported")

    def repeat(
        self, body: Items, low: int, high: int | None, greedy: bool, flags: int, after: int, depth: int
    ) -> int:
        key = id(body), greedy, flags, after, self.excluded
        if high is None:
            loop = self._loops.get(key)
            if loop is None:
                loop = self._loops[key] = self._append(Split(()))  # known before its body
                start = self.sequence(body, flags, loop, depth + 1)
                ways = (start, after) if greedy else (after, start)
                self.program.instructions[loop] = Split(ways, after, loop)
            after = loop
        else:
            end = after
            loop = self._counted.setdefault(key, -1 - len(self._counted))
            leave = (end, loop) if high - low > 1 else ()
            for _ in range(high - low):
                start = self.sequence(body, flags, after, depth + 1)
                after = self.add(Split((start, end) if greedy else (end, start), *leave))
        for _ in range(low):
            after = self.sequence(body, flags, after, depth + 1)
        return after

    def atomic(self, operation: str, argument: Any, flags: int, after: int, depth: int) -> int:
        """Read an atomic group or a possessive repetition."""
        if operation == "ATOMIC_GROUP":
            return self.first_way(argument, flags, after, 0, depth + 1)[0]
        low, high, body = argument
        return self.possessive(body, *_rounds(body, low, high), flags, after, depth)

    def possessive(self, body: Items, low: int, high: int | None, flags: int, after: int, depth: int) -> int:
        """Read a possessive repetition as `re` does: each round is an atomic group, and there are as many as can be."""
        place, end = after, after
        if high is None:
            self.check_not_empty(body)
            place = self._append(Split(()))
            start, matches = self.first_way(body, flags, place, 0, depth + 1)
            self.program.instructions[place] = Split((start, self.unless(matches, end)))
        else:
            for _ in range(high - low):
                start, matches = self.first_way(body, flags, place, 0, depth + 1)
                place = self.add(Split((start, self.unless(matches, end))))
        for _ in range(low):
            place, _ = self.first_way(body, flags, place, 0, depth + 1)
        return place

    def first_way(self, items: Items, flags: int, after: int, rest: int, depth: int) -> tuple[int, int]:
        """Read items of an atomic group, of whose ways to match only the first is taken.

        A way is taken if a lookahead shows that those before it do not match.

        Args:
            items: The items.
            flags: The flags of `re`.
            after: The instruction behind the group.
            rest: The instruction of a lookahead for what follows the items in the group.
            depth: The nesting of groups.

        Returns:
            The instruction that takes the first way, and that of a lookahead for any way, each with what follows.
        """
        if depth > _MAX_NESTING:
            self.fail(f"groups are nested more than {_MAX_NESTING} levels deep")
        if self.in_look == "behind":
            self.fail("an atomic part inside a lookbehind is not supported")
        for operation, argument in reversed(list(items)):
            match str(operation), argument:
                case "SUBPATTERN", (_, int(added), int(removed), body):
                    after, rest = self.first_way(body, (flags | added) & ~removed, after, rest, depth + 1)
                case "BRANCH", (_, list(branches)):
                    ways = [self.first_way(branch, flags, after, rest, depth + 1) for branch in branches]
                    after, rest = self.first_of(ways)
                case (("MAX_REPEAT" | "MIN_REPEAT") as kind, (low, high, body)):
                    rounds, greedy = _rounds(body, low, high), kind == "MAX_REPEAT"
                    after, rest = self.first_rounds(body, *rounds, greedy, flags, after, rest, depth)
                case _:
                    item = [(operation, argument)]
                    rest = self.inside_look(item, True, True, flags, rest, depth)
                    after = self.sequence(item, flags, after, depth)
        return after, rest

    def first_rounds(
        self,
        body: Items,
        low: int,
        high: int | None,
        greedy: bool,
        flags: int,
        after: int,
        rest: int,
        depth: int,
    ) -> tuple[int, int]:
        """Read a repetition in an atomic group, see `first_way`."""
        end = after, rest
        if high is None:
            self.check_not_empty(body)
            after, rest = self._append(Split(())), self._append(Split(()))
            ways = [self.first_way(body, flags, after, rest, depth + 1), end]
            first, other = ways if greedy else reversed(ways)
            self.program.instructions[after] = Split((first[0], self.unless(first[1], other[0])))
            self.program.instructions[rest] = Split((first[1], other[1]))
        else:
            for _ in range(high - low):
                ways = [self.first_way(body, flags, after, rest, depth + 1), end]
                after, rest = self.first_of(ways if greedy else ways[::-1])
        for _ in range(low):
            after, rest = self.first_way(body, flags, after, rest, depth + 1)
        return after, rest

    def first_of(self, ways: list[tuple[int, int]]) -> tuple[int, int]:
        """Join ways to match, each as `first_way` returns it, from the first to the last."""
        start = ways[-1][0]
        for way, matches in reversed(ways[:-1]):
            start = self.add(Split((way, self.unless(matches, start))))
        return start, self.add(Split(tuple(matches for _, matches in ways)))

    def unless(self, matches: int, after: int) -> int:
        """Continue at `after` if the text ahead does not match a program."""
        return self.add_look(matches, after, True, True) if matches else self.add(Split(()))

    def check_not_empty(self, body: Any) -> None:
        """Refuse a loop in an atomic part whose rounds may be empty, since `re` has special rules for its end."""
        if body.getwidth()[0] == 0:
            self.fail("a repeated part that may be empty inside an atomic part is not supported")

    def inside_look(self, items: Items, ahead: bool, negate: bool, flags: int, after: int, depth: int) -> int:
        """Read items inside a lookaround, behind which it continues at `after`."""
        outside = self.in_look, self.excluded
        self.in_look, self.excluded = "ahead" if ahead else "behind", self.excluded != negate
        start = self.sequence(items, flags, after, depth)
        self.in_look, self.excluded = outside
        return start

    def look(self, body: Items, ahead: bool, negate: bool, flags: int, after: int, depth: int) -> int:
        body = _without_groups(body)
        branches = [body]
        if len(body) == 1 and str(body[0][0]) == "BRANCH":
            branches = [_without_groups(branch) for branch in body[0][1][1]]
        at_edges = any(_is_edge(branch) or (ahead and _looks_behind_first(branch)) for branch in branches)
        if at_edges and not self.in_look:
            return self.look_at_edges(branches, ahead, negate, flags, after, depth)
        if self.in_look and not (ahead and self.in_look == "ahead"):
            self.fail(
                "a lookbehind inside a lookaround, or a lookaround inside a lookbehind, is not supported"
            )
        start = self.inside_look(body, ahead, negate, flags, 0, depth + 1)
        return self.add_look(start, after, ahead, negate)

    def look_at_edges(
        self, branches: list[list[Item]], ahead: bool, negate: bool, flags: int, after: int, depth: int
    ) -> int:
        r"""Read a lookaround with anchors as alternatives, such as `(?=,|$)`, as a choice of lookarounds.

        What looks behind at the start of a lookahead, such as in `(?=\b[a-z])`, looks behind before it.
        """
        first = [branch for branch in branches if _is_edge(branch) or (ahead and _looks_behind_first(branch))]
        others = [branch for branch in branches if branch not in first]
        other: list[Item] = others[0] if len(others) == 1 else [("BRANCH", (None, others))]
        if negate:
            for branch in first:
                parts = [self.negated(*branch[0], flags, after, depth)]
                if branch[1:]:
                    parts.append(self.look(branch[1:], ahead, True, flags, after, depth))
                after = self.add(Split(tuple(parts)))
            return self.look(other, ahead, True, flags, after, depth) if others else after
        parts = [self.look(other, ahead, False, flags, after, depth)] if others else []
        for branch in first:
            place = self.look(branch[1:], ahead, False, flags, after, depth) if branch[1:] else after
            parts.append(self.item(str(branch[0][0]), branch[0][1], flags, place, depth))
        return self.add(Split(tuple(parts)))

    def negated(self, operation: object, argument: Any, flags: int, after: int, depth: int) -> int:
        """Read the opposite of an anchor or a lookbehind."""
        if str(operation) != "AT":
            return self.look(argument[1], False, str(operation) == "ASSERT", flags, after, depth)
        where = str(argument)
        opposite = {"AT_BOUNDARY": "AT_NON_BOUNDARY", "AT_NON_BOUNDARY": "AT_BOUNDARY"}
        if where in opposite:
            return self.boundary(opposite[where], flags, after)
        return self.edge(where, flags, after, negate=False, is_strict=self.dialect != "rust")

    def add_look(self, start: int, after: int, ahead: bool, negate: bool) -> int:
        if not ahead and start not in self.program.lookbehinds:
            self.program.lookbehinds.append(start)
        return self.add(Look(start, after, ahead, negate))

    def at(self, where: str, flags: int, after: int) -> int:
        if self.in_look:
            self.fail("this anchor inside a lookaround is not supported")
        if where not in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
            return self.edge(where, flags, after, negate=True)
        place = self.boundary(where, flags, after)
        if where == "AT_BOUNDARY" or self.dialect == "ecma":
            return place
        # In `re` only since Python 3.14 `\B` matches the empty text.
        character = self.add(Char(ANY, 0))
        sides = (self.add_look(character, place, is_ahead, False) for is_ahead in (False, True))
        return self.add(Split(tuple(sides)))

    def boundary(self, where: str, flags: int, after: int) -> int:
        """Look for a word character on exactly one side, or on both or none."""
        word = _word(flags, self.dialect)
        sure, maybe = (self.add(Char(charset, 0)) for charset in (word.certain, word.possible))
        ahead = [self.add(Look(sure, after, True, False)), self.add(Look(maybe, after, True, True))]
        if where == "AT_BOUNDARY":
            ahead.reverse()
        behind = self.add_look(maybe, ahead[1], False, True)
        return self.add(Split((self.add_look(sure, ahead[0], False, False), behind)))

    def end_of_look(self, where: str, before: list[Item], flags: int) -> int:
        r"""Add an anchor at the end of a lookahead, such as in `(?!if\b)`."""
        end, word = self.add(End()), _word(flags, self.dialect)
        newline = single_char("\n")
        if where == "AT_END_STRING":
            return end
        if where == "AT_END":
            if flags & re.MULTILINE:
                return self.add(Split((end, self.add(Char(newline, 0)))))
            is_strict = self.strict_end and not (self.excluded and self.dialect == "rust")
            return end if is_strict else self.add(Split((end, self.add(Char(newline, end)))))
        is_word = self.ends_in_word(before, flags) if where in ("AT_BOUNDARY", "AT_NON_BOUNDARY") else None
        if is_word is None:
            self.fail("this anchor inside a lookaround is not supported")
        if is_word == (where == "AT_BOUNDARY"):
            other = word.certain if self.excluded else word.possible
            return self.add(Split((end, self.add(Char(complement(other), 0)))))
        return self.add(Char(word.possible if self.excluded else word.certain, 0))

    def ends_in_word(self, items: Items, flags: int, before: bool | None = None) -> bool | None:
        """Return whether each text of the items ends in a word character, or none does; otherwise `None`.

        Args:
            items: The items.
            flags: The flags of `re`.
            before: The same of the texts before the items.
        """
        for operation, argument in items:
            found = {before}
            match str(operation):
                case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN" as kind:
                    charset, word = self.class_of(kind, argument, flags), _word(flags, self.dialect)
                    inside = intersection(charset, word.certain) == charset
                    found = {inside if inside or not intersection(charset, word.possible).ranges else None}
                case "BRANCH":
                    found = {self.ends_in_word(branch, flags, before) for branch in argument[1]}
                case "SUBPATTERN":
                    inner = (flags | argument[1]) & ~argument[2]
                    found = {self.ends_in_word(argument[3], inner, before)}
                case "MAX_REPEAT" | "MIN_REPEAT":
                    found = {self.ends_in_word(argument[2], flags, before)}
                    found |= set() if argument[0] else {before}
                case "ASSERT" | "ASSERT_NOT" | "AT":
                    pass
                case _:
                    found = {None}
            before = found.pop() if len(found) == 1 else None
        return before

    def edge(self, where: str, flags: int, after: int, *, negate: bool, is_strict: bool = True) -> int:
        """Add a look for what must not be there at an edge of the text or of a line; see `strict_end`."""
        newline = single_char("\n")
        multiline = bool(flags & re.MULTILINE)
        if where in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            is_line = multiline and where == "AT_BEGINNING"
            start = self.add(Char(complement(newline) if is_line else ANY, 0))
            return self.add_look(start, after, False, negate)
        is_strict &= self.strict_end
        start = self.add(
            Char(complement(newline) if where == "AT_END" and (multiline or not is_strict) else ANY, 0)
        )
        if where == "AT_END" and not (multiline or is_strict):  # the end, or before a line break at the end
            start = self.add(Split((start, self.add(Char(newline, self.add(Char(ANY, 0)))))))
        return self.add_look(start, after, True, negate)


def _without_groups(items: Items) -> list[Item]:
    """Return items with those of a group at their start in place of the group."""
    items = list(items)
    while items and str(items[0][0]) == "SUBPATTERN" and not (items[0][1][1] or items[0][1][2]):
        inner = list(items[0][1][3])
        if len(inner) == 1 and str(inner[0][0]) == "BRANCH" and items[1:]:
            break
        items = inner + items[1:]
    return items


def _rounds(body: Any, low: Any, high: Any) -> tuple[int, int | None]:
    """Return the least and the most rounds of a repetition; `None` is no maximum.

    A part that reads no character is read once: more rounds look for the same.
    """
    if body.getwidth()[1] == 0:
        return min(int(low), 1), min(int(high), 1)
    return int(low), None if high is sre_constants.MAXREPEAT else int(high)


def _is_edge(branch: list[Item]) -> bool:
    return len(branch) == 1 and str(branch[0][0]) == "AT"


def _looks_behind_first(branch: list[Item]) -> bool:
    """Return whether items begin with an anchor or a lookbehind."""
    if not branch:
        return False
    operation, argument = str(branch[0][0]), branch[0][1]
    return operation == "AT" or (operation in ("ASSERT", "ASSERT_NOT") and argument[0] < 0)


def prefers_longer(pattern: str) -> bool:
    """Return whether a pattern is plain and greedy: `re` continues where it can, and nothing looks around.

    >>> prefers_longer("(a|b){1,100000}"), prefers_longer("a+?"), prefers_longer("(|a)b")
    (True, False, False)
    """
    try:
        pending: list[Any] = [sre_parse.parse(pattern)]
    except (re.error, OverflowError, RecursionError):
        return False
    while pending:
        for operation, argument in pending.pop():
            match str(operation):
                case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                    pass
                case "BRANCH":
                    if any(branch.getwidth()[0] == 0 for branch in argument[1][:-1]):
                        return False
                    pending += argument[1]
                case "SUBPATTERN":
                    pending.append(argument[3])
                case "MAX_REPEAT":
                    pending.append(argument[2])
                case _:
                    return False
    return True


def _word(flags: int, dialect: Dialect) -> UncertainClass:
    return shorthand("w", dialect, ascii_only=bool(flags & re.ASCII))
