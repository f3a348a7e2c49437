"""A scanner that replaces the text between groups by placeholders, so that only the structure remains to parse.

Each sequence of literals, classes, escapes and anchors, with their quantifiers, becomes one private-use character. The
rest are groups, their quantifiers and `|`: the part of the syntax that is the same in all regex engines.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn, TypeAlias

from structkit.errors import PatternError
from structkit.regex.charset import ANY, char_class, single_char
from structkit.regex.nodes import NEVER, CharClass, LiteralText
from structkit.regex.pattern.classes import read_class_of_rust
from structkit.regex.pattern.resolve import (
    Anchor,
    AnchoredNode,
    UnsupportedAnchor,
    anchored_repeat,
    anchored_seq,
)
from structkit.regex.pattern.syntax import (
    UNSUPPORTED_REFERENCE,
    Flags,
    Syntax,
    match_quantifier,
    unsupported_group_message,
)
from structkit.regex.pattern.unicode import Dialect, UncertainClass, dot, property_class, shorthand

__all__ = ["LookaroundMarker", "Part", "Scan", "scan"]

_MAX_NESTING = 50
"""Maximum nesting of groups. Each level takes about a dozen stack frames of the parser."""

_MAX_COUNT = 2**32 - 2
"""Largest count of a quantifier, as in Python's `re`."""

_FIRST_PLACEHOLDER = 0xF0000
_LAST_PLACEHOLDER = 0x10FFFD

_QUANTIFIERS = "*+?{"
"""The characters with which a quantifier can begin."""

_SHORTHAND = re.compile(r"\\[dDwWsS]")

_ASCII_SPACE = " \t\n\r\v\f"
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = re.compile(r"\(\?([A-Za-z]*)(?:-([A-Za-z]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z0-9_]*)>")
_LOOKAROUND_PREFIXES = ("(?=", "(?!", "(?<=", "(?<!")
_NEGATIVE = ("(?!", "(?<!")


@dataclass(frozen=True, slots=True)
class LookaroundMarker:
    """The column of a lookaround, stored as the first placeholder inside it."""

    column: int


Part: TypeAlias = AnchoredNode | LookaroundMarker
"""What a placeholder stands for."""


@dataclass(slots=True)
class Scan:
    """The result of a scan.

    Attributes:
        text: The structure: groups `(`, `(?=`, `(?!`, `(?<=`, `(?<!` with their quantifiers, `|`, and placeholders.
        parts: What each placeholder stands for.
        max_depth: The column of the most deeply nested group.
    """

    text: str
    parts: dict[str, Part]
    max_depth: int


def scan(pattern: str, dialect: Dialect, syntax: Syntax | None = None) -> Scan:
    """Replace what is between the groups of a pattern by placeholders.

    Args:
        pattern: The pattern.
        dialect: The engine that defines the classes of characters.
        syntax: The engine that reads the pattern, by default that of `dialect`, or `shared` if this is `rust`.

    >>> found = scan("(?P<name>ab{2})+?", "python")
    >>> [(placeholder, part)] = found.parts.items()
    >>> found.text.replace(placeholder, "_"), len(part.parts)
    ('(_)+', 2)

    Raises:
        PatternError: The pattern has a syntax error, or is not a regular expression in the formal sense.
        UnsupportedAnchor: The pattern has word boundaries, anchors of lines, or atomic parts.
    """
    scanner = _Scanner(pattern, dialect, syntax or ("shared" if dialect == "rust" else dialect))
    scanner.run()
    return Scan("".join(scanner.out), scanner.parts, scanner.max_depth)


@dataclass(slots=True)
class _Scanner:
    pattern: str
    dialect: Dialect
    syntax: Syntax
    position: int = 0
    out: list[str] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)
    atoms: list[AnchoredNode] = field(default_factory=list)
    """The atoms since the last structural character, with their quantifiers."""
    flags: Flags = field(default_factory=Flags)
    groups: list[tuple[int, Flags, str | None]] = field(default_factory=list)
    excluded: bool = False
    """Whether the position is inside an odd number of negative lookarounds."""
    max_depth: int = 0
    max_level: int = 0
    repeat_error: str | None = None
    """Why a quantifier is not allowed at this position; `None` if it is allowed."""

    def run(self) -> None:
        self.repeat_error = "there is nothing to repeat"
        while True:
            self.skip_spaces()
            if self.position >= len(self.pattern):
                break
            match self.pattern[self.position]:
                case "\\":
                    self.escape()
                case "[":
                    self.add(self.side(self.bracket()))
                case "(":
                    self.open()
                case ")":
                    self.close()
                case "|":
                    self.structure("|")
                    self.position += 1
                    self.repeat_error = "there is nothing to repeat"
                case "^" | "$" as anchor:
                    self.position += 1
                    self.anchor(start=anchor == "^", is_dollar=anchor == "$")
                case ".":
                    self.position += 1
                    self.add(ANY if self.flags.dot_all else dot(self.dialect))
                case character:
                    if character not in _QUANTIFIERS or not self.quantifier():
                        self.position += 1
                        self.add(self.side(self.fold(_exactly(character))))
        if self.groups:
            self.fail("this group is not closed", self.groups[-1][0])
        self.structure("")

    def fail(self, message: str, column: int | None = None) -> NoReturn:
        column = self.position if column is None else column
        raise PatternError(message, pattern=self.pattern, column=column)

    def leave(self, message: str, column: int) -> NoReturn:
        """Leave the pattern to the threads; the message is for what they do not support either."""
        raise UnsupportedAnchor(message, column)

    def leave_atomic(self, part: str, remedy: str, column: int) -> NoReturn:
        """Leave an atomic part to the threads; only `re` has such parts."""
        if self.syntax == "python":
            self.leave(f"this {part} is too large, or repeats what may be empty; {remedy}", column)
        self.fail(f"only Python's `re` has this {part}; {remedy}", column)

    def skip_spaces(self) -> None:
        """Skip white space and comments if the pattern is verbose."""
        while self.flags.verbose and (character := self.pattern[self.position : self.position + 1]):
            if character == "#":
                end = self.pattern.find("\n", self.position)
                self.position = len(self.pattern) if end < 0 else end + 1
            elif character in _ASCII_SPACE:
                self.position += 1
            elif character.isspace() and not character.isascii() and self.syntax != "python":
                self.fail("only Rust ignores this space in a verbose pattern; write it as `\\u`")
            else:
                break

    def fold(self, span: UncertainClass) -> UncertainClass:
        """Return a class without case distinctions where the flags say so."""
        if not self.flags.ignore_case:
            return span
        return span.with_case(self.dialect, ascii_only=self.flags.ascii_only)

    def add(self, atom: CharClass | Anchor) -> None:
        self.atoms.append(_leaf(atom))
        self.repeat_error = None

    def structure(self, text: str) -> None:
        """Add structural characters; a placeholder for the atoms before them comes first."""
        if self.atoms:
            self.placeholder(anchored_seq(self.atoms))
            self.atoms.clear()
        self.out.append(text)

    def placeholder(self, part: Part) -> None:
        code = _FIRST_PLACEHOLDER + len(self.parts)
        if code > _LAST_PLACEHOLDER:
            self.fail("the pattern has too many groups and alternatives")
        self.parts[chr(code)] = part
        self.out.append(chr(code))

    def anchor(self, *, start: bool, is_dollar: bool = False) -> None:
        if is_dollar and self.excluded and self.dialect == "rust" and self.syntax != "rust":
            what = "`$` is not supported here, because `re` also matches it before a line break"
            self.leave(f"{what}; write `\\Z`", self.position - 1)
        self.add(Anchor(start))
        self.repeat_error = "an anchor cannot be repeated"

    def side(self, span: UncertainClass) -> CharClass:
        """Return the certain characters of a class; the possible ones where a lookaround excludes them."""
        return span.possible if self.excluded else span.certain

    def open(self) -> None:
        column, rest = self.position, self.pattern[self.position : self.position + 4]
        outer, lookaround = (
            self.flags,
            next((opening for opening in _LOOKAROUND_PREFIXES if rest.startswith(opening)), None),
        )
        if lookaround is not None:
            self.position += len(lookaround)
            self.structure(lookaround)
            self.placeholder(LookaroundMarker(column))
        elif not rest.startswith("(?"):
            self.position += 1
            self.structure("(")
        elif rest.startswith("(?#"):
            end = self.pattern.find(")", self.position)
            if end < 0:
                self.fail("this comment is not closed", column)
            self.position = end + 1
            return
        elif rest.startswith("(?>"):
            self.leave_atomic("atomic group", "write `(?:` instead", column)
        elif named := _NAMED.match(self.pattern, self.position):
            self.position = named.end()
            self.structure("(")
        elif flags := _FLAGS.match(self.pattern, self.position):
            self.position = flags.end()
            self.set_flags(flags[1], flags[2] or "", column, ends=flags[3] == ")")
            if flags[3] == ")":
                if not flags[1] and not flags[2]:
                    self.fail("this group has no flags", column)
                return
            self.structure("(")
        else:
            self.fail(unsupported_group_message(rest), column)
        self.groups.append((column, outer, lookaround))
        self.excluded ^= lookaround in _NEGATIVE
        if len(self.groups) > self.max_level:
            self.max_depth, self.max_level = column, len(self.groups)
        if len(self.groups) > _MAX_NESTING:
            what = f"groups are nested more than {_MAX_NESTING} levels deep"
            self.fail(f"{what}; write the pattern with fewer levels", column)
        self.repeat_error = "there is nothing to repeat"

    def close(self) -> None:
        if not self.groups:
            self.fail("this parenthesis has no matching `(`")
        _, self.flags, lookaround = self.groups.pop()
        self.structure(")")
        self.position += 1
        self.excluded ^= lookaround in _NEGATIVE
        self.repeat_error = "a lookaround cannot be repeated; wrap it in a group" if lookaround else None

    def set_flags(self, added: str, removed: str, column: int, *, ends: bool) -> None:
        """Set flags, for the rest of the group if the group of the flags ends here."""
        for letter in added + removed:
            if letter == "m" and letter in added:
                self.leave("the flag `m` is not supported here; match line breaks explicitly", column)
            if letter not in "ismauUx" or (letter == "u" and letter in removed):
                self.fail(f"the flag `{letter}` is not supported; remove it", column)
            if letter == "x" and ends and self.syntax != "rust" and (self.out or self.atoms):
                self.fail("the flag `x` must be at the start; write `(?x:` for a part of the pattern", column)
        self.flags = Flags(
            ignore_case=("i" in added or self.flags.ignore_case) and "i" not in removed,
            dot_all=("s" in added or self.flags.dot_all) and "s" not in removed,
            ascii_only=("a" in added or self.flags.ascii_only) and "a" not in removed and "u" not in added,
            verbose=("x" in added or self.flags.verbose) and "x" not in removed,
        )

    def quantifier(self) -> bool:
        """Read a quantifier and return whether there is one; a `{` without a valid count is a literal."""
        found = match_quantifier(self.pattern, self.position, self.syntax)
        if found is None:
            return False
        min_text, comma, max_text = found.groups()
        if self.repeat_error is not None:
            self.fail(self.repeat_error)
        text = found[0]
        low, high = int(text == "+"), 1 if text == "?" else None
        if text[0] == "{":
            low, high = int(min_text[:20] or 0), int(max_text[:20] or 0) if max_text else None
            if max(low, high or 0) > _MAX_COUNT:
                self.fail("this count is too large")
            if high is not None and high < low:
                self.fail("the minimum count is greater than the maximum")
            text = f"{{{low}{comma}{'' if high is None else high}}}"
            high = high if comma else low
        if self.atoms:
            self.atoms[-1] = anchored_repeat(self.atoms[-1], low, high)
        else:
            self.out.append(text)
        self.position = found.end()
        following = self.pattern[self.position : self.position + 1]
        if following == "?":  # a lazy quantifier has the same language
            self.position += 1
        elif following == "+":
            self.leave_atomic("possessive quantifier", "remove its `+`", self.position)
        self.repeat_error = "a quantifier cannot follow another; wrap the first in a group"
        return True

    def escape(self) -> None:
        """Read an escape outside brackets."""
        column, letter = self.position, self.pattern[self.position + 1 : self.position + 2]
        if letter in ("A", "Z", "z"):
            self.position += 2
            self.anchor(start=letter == "A")
        elif letter in ("b", "B"):
            what = f"a word boundary `\\{letter}` is not supported here"
            self.leave(f"{what}; match the adjacent characters explicitly", column)
        elif letter in ("k", "g") or (letter in "123456789" and letter and not self.is_octal()):
            self.fail(UNSUPPORTED_REFERENCE, column)
        else:
            is_folded = self.at_shorthand()
            self.add(self.side(self.escaped() if is_folded else self.fold(self.escaped())))

    def is_octal(self) -> bool:
        return (
            self.syntax == "python"
            and re.match(r"\\[0-3][0-7]{2}", self.pattern[self.position : self.position + 4]) is not None
        )

    def at_shorthand(self) -> bool:
        r"""Return whether a class such as `\w` is next, which is the same in any case."""
        return self.dialect != "ecma" and _SHORTHAND.match(self.pattern, self.position) is not None

    def escaped(self) -> UncertainClass:
        """Read an escape of one character or a class, inside or outside brackets."""
        column = self.position
        self.position += 2
        letter = self.pattern[column + 1 : self.position]
        if not letter:
            self.fail("the pattern ends with a backslash", column)
        if letter in "dDwWsS":
            return shorthand(letter, self.dialect, ascii_only=self.flags.ascii_only)
        if letter in "pP":
            return self.property(letter, column)
        if letter in "<>" and self.syntax in ("rust", "shared"):
            self.fail(f"`\\{letter}` is a word boundary in Rust; write `{letter}` for the character", column)
        if letter == "N" and self.syntax == "python":
            return UncertainClass.exactly(self.named_character(column))
        if letter in "xuU":
            return UncertainClass.exactly(self.code_point(letter, column))
        if letter in "01234567":
            octal = re.compile("[0-7]{1,3}").match(self.pattern, column + 1)
            digits = octal[0] if octal else letter
            self.position = column + 1 + len(digits)
            return UncertainClass.exactly(char_class([(int(digits, 8),) * 2]))
        if (
            letter == "c"
            and (control := self.pattern[self.position : self.position + 1]).isalpha()
            and control.isascii()
        ):
            self.position += 1
            return UncertainClass.exactly(single_char(chr(ord(control) & 31)))
        if letter.isalnum() and letter.isascii() and letter not in _CONTROLS:
            self.fail(f"the escape `\\{letter}` is not supported", column)
        return UncertainClass.exactly(single_char(_CONTROLS.get(letter, letter)))

    def property(self, letter: str, column: int) -> UncertainClass:
        found = re.compile(r"\{(\^?)([^{}]*)\}|()([A-Za-z])").match(self.pattern, self.position)
        if found is None:
            self.fail("`\\p` needs the name of a category in braces", column)
        self.position = found.end()
        name = found[2] or found[4] or ""
        try:
            span = property_class(name, self.dialect)
        except KeyError:
            what = f"`\\p` supports general categories only, not {name!r}"
            self.fail(f"{what}; write ranges of characters", column)
        if self.dialect == "rust":  # which adds the other cases before the complement
            span = self.fold(span)
        return span.negated() if (letter == "P") is not bool(found[1]) else span

    def code_point(self, letter: str, column: int) -> CharClass:
        r"""Read `\\xHH`, `\\uHHHH`, `\\UHHHHHHHH`, or one of them with braces; a surrogate pair is one character."""
        length = {"x": 2, "u": 4, "U": 8}[letter]
        found = re.compile(rf"([0-9A-Fa-f]{{{length}}})|\{{([0-9A-Fa-f]{{1,8}})\}}").match(
            self.pattern, self.position
        )
        if found is None:
            self.fail(f"`\\{letter}` needs {length} hexadecimal digits", column)
        self.position = found.end()
        code = int(found[1] or found[2], 16)
        if code > 0x10FFFF:
            self.fail("this code point does not exist", column)
        second = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})").match(self.pattern, self.position)
        if 0xD800 <= code <= 0xDBFF and second is not None:
            self.position = second.end()
            code = 0x10000 + ((code & 0x3FF) << 10) + (int(second[1], 16) & 0x3FF)
        return CharClass(((code, code),))

    def named_character(self, column: int) -> CharClass:
        r"""Read the rest of `\N{name}`."""
        found = re.compile(r"\{([^{}]+)\}").match(self.pattern, self.position)
        try:
            character = unicodedata.lookup(found[1] if found is not None else "")
        except KeyError:
            self.fail("`\\N` needs the name of a character in braces", column)
        self.position = found.end() if found is not None else self.position
        return single_char(character)

    def bracket(self) -> UncertainClass:
        """Read a class in brackets."""
        if self.syntax == "rust":
            return read_class_of_rust(self)
        column = self.position
        self.position += 1
        negate = self.pattern.startswith("^", self.position)
        self.position += negate
        items, shorthands = list[UncertainClass](), list[UncertainClass]()
        first = True
        while True:
            if self.position >= len(self.pattern):
                self.fail(
                    "this class is not closed; end it with `]`, or write `\\[` for the character", column
                )
            if self.pattern[self.position] == "]" and not (first and self.dialect != "ecma"):
                self.position += 1
                break
            first = False
            (shorthands if self.at_shorthand() else items).append(self.item())
        span = UncertainClass.union([self.fold(UncertainClass.union(items)), *shorthands])
        return span.negated() if negate else span

    def item(self) -> UncertainClass:
        """Read a character, an escape or a range of a class."""
        column = self.position
        if self.syntax == "shared" and self.pattern.startswith("--", column):
            self.fail("engines read `--` in a class differently; escape it")
        low = self.member()
        if not self.pattern.startswith("-", self.position) or self.pattern[
            self.position + 1 : self.position + 2
        ] in ("]", ""):
            return low
        if self.syntax == "shared" and self.pattern.startswith("--", self.position):
            self.fail("Rust reads `--` in a class as a set difference, and `re` does not; escape it")
        first = low.single
        if first is None and self.dialect == "ecma":
            return low  # the `-` is a literal
        self.position += 1
        high = self.member()
        last = high.single
        if first is None or last is None:
            if self.dialect == "ecma":
                return UncertainClass.union([low, high, UncertainClass.exactly(single_char("-"))])
            self.fail("a range needs a single character on each side", column)
        if first > last:
            self.fail("the start of this range is greater than its end", column)
        return UncertainClass.exactly(char_class([(first, last)]))

    def member(self) -> UncertainClass:
        character = self.pattern[self.position]
        if character == "\\":
            if self.pattern.startswith("b", self.position + 1):
                self.position += 2
                return UncertainClass.exactly(single_char("\b"))
            return self.escaped()
        if self.flags.verbose and self.syntax != "python" and character in f"#{_ASCII_SPACE}":
            self.fail("Rust ignores this in a class of a verbose pattern, and `re` does not; escape it")
        if self.syntax == "shared" and (
            character == "[" or self.pattern[self.position : self.position + 2] in ("&&", "~~")
        ):
            self.fail(f"`{character}` in a class has a special meaning in Rust, and not in `re`; escape it")
        self.position += 1
        return UncertainClass.exactly(CharClass(((ord(character), ord(character)),)))


@lru_cache(maxsize=256)
def _exactly(character: str) -> UncertainClass:
    return UncertainClass.exactly(single_char(character))


@lru_cache(maxsize=1024)
def _leaf(atom: CharClass | Anchor) -> AnchoredNode:
    if isinstance(atom, Anchor):
        return atom
    atom = char_class(atom.ranges)  # an escape can name a surrogate, as an end of a range
    if not atom.ranges:
        return NEVER
    (first, last), *others = atom.ranges
    return LiteralText(chr(first)) if first == last and not others else atom
