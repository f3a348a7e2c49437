"""Errors of grammars with their places in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from structkit.arguments.names import closest_name
from structkit.errors import GrammarError, PatternError
from structkit.grammar.rules.cfg import Cfg, Production
from structkit.grammar.syntax.holes import Hole
from structkit.regex.pattern.syntax import check_syntax, parse_syntax

if TYPE_CHECKING:
    from lark.grammar import Rule

__all__ = ["GrammarErrors", "undefined_rule", "undefined_start"]


_EMPTY = re.compile(r"zero-width (?:regexps\W*TerminalDef\('(\w+)'|terminals\. \((\w+):)|Empty terminals are")
"""The messages of Lark about terminals that match the empty text; that about `""` names none."""

_FAULTS = [
    (re.compile(fault), message, place)
    for fault, message, place in [
        (
            r"inside terminals \(NonTerminal\('(\w+)'\) in __IGNORE",
            r"%ignore takes terminals, and \1 is a rule; write \1 as a terminal, in upper case",
            "%ignore",
        ),
        (
            r"inside terminals \(NonTerminal\('(\w+)'\) in (\w+)\)",
            r"the terminal \2 contains the rule \1; write \1 as a terminal, in upper case",
            r"\2",
        ),
        ("(Empty terminals are.*)", r"\1; leave it out, and write ? behind what is optional", '""'),
        (r"(Recursion in terminal '(\w+)').*", r"\1; write it as a rule, in lower case", r"\2"),
        (
            r"Rule (\w+) is marked for expansion .*\(alias=(\w+)\)",
            r"the rule \1 has an alias, but no place in trees, since it begins with `_`; remove the alias or the `_`",
            r"\1",
        ),
        (
            r"(Wrong number of template arguments used for (\w+).*)",
            r"\1; pass one for each parameter",
            r"\2{",
        ),
        (
            r"Bad Range for .*\((\d+)\.\.(\d+) ",
            r"the count ~\1..\2 is empty; write the smaller one first",
            r"~\1",
        ),
        (
            'process rule "range"|bad character range',
            'a range is of two characters in order; write it as in `"a".."z"`',
            "..",
        ),
        (
            r"(Reduce/Reduce collision) in Terminal\('(.*?)'\) [\s\S]*?<(\w+).*>\s*- <(\w+)",
            r"\1: before \2, the parser could end \3 or \4; give one of them a priority, as in `\3.2: ...`, or use "
            "parser='earley'",
            r"\3",
        ),
        (
            r"(Shift/Reduce conflict) for terminal (\S+)\.[\s\S]*?<(\w+)",
            r"\1: before \2, the parser could end \3 or go on; write the rules so that the next terminal decides, or "
            "leave out strict=True",
            r"\3",
        ),
        ("(invalid priority option: '.*?')", r"\1; write 'auto', 'normal', 'invert' or None", ""),
        (r"(Cannot override .* (\w+))$", r"\1; define it without %override, or import it", r"\2"),
        (r"(Can't extend \w+ (\w+) as .*)", r"\1; define it before, or import it", r"\2"),
        (
            r"(.*'(\w+)'.* were marked to ignore but were not defined)",
            r"\1; define it, or import it, such as `%import common.WS`",
            r"\2",
        ),
    ]
]
"""Messages of Lark, those in their place, and the name or text at which it is."""

_GENERATED = re.compile(r"^__(\w+)_(?:star|plus|repeat_\w+)_\d+$|{.*$")
"""The names that Lark gives to rules: those of repetitions, and those of templates."""

_IMPORTED = r"^[ \t]*%import[ \t]+(?:([\w.]+)\.(?:{0}|\w+[ \t]*->[ \t]*{0})|([\w.]+)[ \t]*\([^)]*\b{0}\b[^)]*\))[ \t]*(?://.*)?$"
"""A pattern of the line that imports a name, with the grammar that should define it."""

_REPEATED = re.compile(r"Rules defined twice:\s*\* <(\w+)\S* : (.*)>")
"""The message of Lark about alternatives that differ only in what a tree shows."""

_TWICE = re.compile(r"'(\w+)' defined more than once")
"""The message of Lark about a name with two definitions."""

_PATTERNS = re.compile(r"/((?:\\.|[^/\\\n])+)/([imslux]*)")
"""The patterns of a grammar, each with its flags."""

_COMMON = (
    "NUMBER SIGNED_NUMBER INT SIGNED_INT FLOAT SIGNED_FLOAT DECIMAL DIGIT HEXDIGIT ESCAPED_STRING LETTER LCASE_LETTER "
    "UCASE_LETTER WORD CNAME WS WS_INLINE NEWLINE CR LF SH_COMMENT CPP_COMMENT C_COMMENT SQL_COMMENT"
).split()
"""The terminals that `%import common.NAME` takes."""

_NO_PROPERTIES = (
    r"Lark reads patterns with `re`, which has no \p; write the characters, such as [^\W\d_] for letters or "
    r"[\u0370-\u03ff] for Greek ones"
)

_NEAR = 100
"""Characters on each side of a place that are examined."""

_LETTERS = ascii_letters + digits + "_"

_NOTATIONS = [
    (re.compile(before), re.compile(after), remedy)
    for before, after, remedy in [
        ("", "'", 'write texts in double quotation marks, "..."'),
        (r"\[\^?[^\]\s]*$", r"[-^\\]|\S*\]", "write a class of characters as a pattern, such as /[a-z]/"),
        (r"\w$", r"-\w", "write `_` in place of `-` in a name"),
        (r"^\s*\w+\s*$", r":?=|<?-|→", "write a rule as `name: ...`"),
        ("", ";", "remove the `;`; a rule ends with its line"),
        ("", "<", "write the name of a rule without `<` and `>`"),
        ("", "", "close a quotation mark or a pattern before it, or write this in quotation marks"),
    ]
]
"""What stands before and at unexpected input, and what to do; the first one applies."""


def _endless(cfg: Cfg) -> str:
    """Return a rule that needs itself, among those that the start needs; the start if each rule has texts.

    >>> _endless(Cfg("start", {"start": (("item",), ("list", "item")), "list": ((),), "item": (("list", "item"),)}))
    'item'
    """
    name, seen = cfg.start, set[object]()
    while name not in seen and name not in cfg.productive:
        seen.add(name)
        name = next(str(each) for each in cfg.rules[name][0] if each not in cfg.productive)
    return name


@dataclass(frozen=True)
class GrammarErrors:
    """Makes the errors of a Lark grammar.

    Attributes:
        text: The grammar.
        path: Its file, if it comes from one.
        start: The first rule.
        holes: The rules that are defined elsewhere.
    """

    text: str
    path: str | None
    start: str
    holes: tuple[Hole, ...] = ()

    def at_name(self, message: str, name: str, *, last: bool = False) -> GrammarError:
        """Return an error at the definition of a name in the grammar, the last one if `last`, or at its first use."""
        written = re.escape(name)
        # The lines of a grammar in a program may be indented; a priority or parameters stand before the colon.
        definition = rf"^[ \t]*(?P<name>[?!]*{written})(?:\.-?\d+|{{[^}}]*}})*\s*:"
        found = list(re.finditer(definition, self.text, re.MULTILINE))
        if not found:
            found = list(re.finditer(rf"^(?P<name>[?!]*{written})(?=[\s.:{{])", self.text, re.MULTILINE))
        if not found:
            uses = re.finditer(rf"(?<!\w)(?P<name>{written})(?!\w)", self.text)
            first = next((use for use in uses if not self._is_comment(use.start())), None)
            found = [] if first is None else [first]
        place = found[-1 if last else 0].start("name") if found else 0
        return self._in(message, place)

    def _is_comment(self, place: int) -> bool:
        """Return whether a place is in a comment, or behind a text with `//`."""
        return self.text.find("//", self.text.rfind("\n", 0, place) + 1, place) >= 0

    def without_text(self, start: str, rules: Iterable[Rule]) -> GrammarError:
        """Return the error of a first rule that no text ends, or that does not exist.

        Args:
            start: The first rule.
            rules: The productions of all rules, as Lark holds them.
        """
        called: dict[str, list[Production]] = {}
        for rule in rules:
            needed = tuple(symbol.name for symbol in rule.expansion if not symbol.is_term)
            called.setdefault(rule.origin.name, []).append(needed)
        if start in called:
            cfg = Cfg(start, {name: tuple(found) for name, found in called.items()})
            name = _GENERATED.sub(r"\1", _endless(cfg))
            return self.at_name(
                f"no text ends the rule `{name}`: each of its alternatives needs itself; add one that does not",
                name,
            )
        names = [name for name in self._names() if not name.isupper()]
        remedy = f"pass start={names[0]!r}, or write {start}: {names[0]}" if names else f"write {start}: ..."
        if start.isupper():
            remedy = f"a terminal cannot be the start; write start: {start}, and leave out start={start!r}"
        return self._in(f"the grammar has no rule `{start}`, where texts start; {remedy}", 0)

    def _names(self) -> list[str]:
        """Return the names of the rules and terminals that the grammar defines."""
        definition = r"^[ \t]*[?!]*([A-Za-z_]\w*)(?:\.-?\d+|{[^}]*})*\s*:"
        return re.findall(definition, self.text, re.MULTILINE)

    def at_text(self, message: str, text: str) -> GrammarError:
        """Return an error at the first place of a text in the grammar."""
        return self._in(message, max(self.text.find(text), 0))

    def _in(self, message: str, place: int) -> GrammarError:
        line = self.text.count("\n", 0, place) + 1
        return self.at(message, line, place - self.text.rfind("\n", 0, place))

    def at(self, message: str, line: int, column: int) -> GrammarError:
        """Return an error at a line and a column, from 1."""
        lines = self.text.splitlines() or [""]
        source = lines[min(line, len(lines)) - 1]
        return GrammarError(message, line=line, column=column, source=source, place=self.path)

    def of_lark(self, error: Exception) -> GrammarError:
        """Return the error of Lark with its place."""
        message = str(error).split("\n\n")[0].strip() or type(error).__name__
        found = (
            self._of_recursion(error)
            or self._of_zero_width(message)
            or self._of_repeated(message)
            or self._of_character(error)
        )
        if found is not None:
            return found
        message = self._with_remedy(message)
        return self._of_reading(error, message) or self._of_definition(message)

    def _of_recursion(self, error: Exception) -> GrammarError | None:
        """Return the error of a grammar that is too deep."""
        if not isinstance(getattr(error, "orig_exc", error), RecursionError):
            return None
        if "%import" in self.text:
            return self.at_name(
                "the grammar is nested too deeply, or files import each other; import each file from one side",
                "%import",
            )
        return self.at("the grammar is nested too deeply; write its inner groups as rules", 1, 1)

    def _of_zero_width(self, message: str) -> GrammarError | None:
        """Return the error of a terminal or a hole that matches the empty text."""
        if (empty := _EMPTY.search(message)) is None:
            return None
        for hole in (each for each in self.holes if each.can_be_empty):
            return self.at_name(
                f"the hole `{hole.rule}` can be empty, and Lark allows no zero-width terminals; let it have at "
                "least one character, and make it optional where it is used",
                hole.rule,
            )
        name = empty[1] or empty[2]
        return None if name is None else self._of_empty(name)

    def _of_repeated(self, message: str) -> GrammarError | None:
        """Return the error of a rule with two equal alternatives."""
        if (repeated := _REPEATED.match(message)) is None:
            return None
        rule = _GENERATED.sub(r"\1", repeated[1])
        return self.at_name(
            f"the rule `{rule}` has the alternative `{repeated[2]}` twice, with other names or with other parts "
            "absent; remove one, or an optional part",
            rule,
        )

    def _of_character(self, error: Exception) -> GrammarError | None:
        """Return the error of half a character, or of an escape."""
        if (surrogate := re.search(r"[\ud800-\udfff]", self.text)) is not None:
            fault = "the grammar contains half of a surrogate pair; decode its text as UTF-8"
            return self._in(fault, surrogate.start())
        causes = getattr(error, "orig_exc", error).args
        if len(causes) > 1 and isinstance(causes[1], SyntaxError):  # of the escapes of a text or a pattern
            fault = str(causes[1].msg).rpartition(": ")[2]
            return self.at_text(f"{fault} in `{causes[0]}`; write `\\\\` for a backslash", str(causes[0]))
        return None

    def _with_remedy(self, message: str) -> str:
        """Return a message about a name that is not defined, or defined twice, with what to do."""
        if (undefined := re.search(r"'(\w+)' used but not defined", message)) is not None:
            message = f"{message}; {self._remedy_of(undefined[1])}"
        if (twice := _TWICE.search(message)) is not None:
            is_hole = any(each.rule == twice[1] for each in self.holes)
            remedy = "leave out this one, or the hole" if is_hole else "join its definitions with |"
            message = message.replace(twice[0], f"{twice[0]}; {remedy}", 1)
        return message

    def _remedy_of(self, undefined: str) -> str:
        """Return what to do about a name that is not defined."""
        known = [*self._names(), *(each.rule for each in self.holes), *_COMMON]
        close = get_close_matches(undefined, [name for name in known if name != undefined], 1)
        imported = re.search(_IMPORTED.format(undefined), self.text, re.MULTILINE)
        if imported is None and undefined in _COMMON:
            return f"import it: `%import common.{undefined}`"
        if re.fullmatch("_*(IN|DE)DENT", undefined):
            return f"declare it for the postlex: `%declare {undefined}`"
        if imported is not None and not close:
            module = next(filter(None, imported.groups()))
            asked = re.search(rf"{re.escape(module)}\.(\w+)", imported[0])
            others = get_close_matches(asked[1], _COMMON, 1) if asked and module == "common" else []
            name = others[0] if others else "another name"
            return f"the grammar {module} does not define what is imported; import {name}"
        if close and close[0] in _COMMON and not re.search(rf"(?<!\w){close[0]}(?!\w)", self.text):
            return f"write {close[0]}, and import it: `%import common.{close[0]}`"
        return f"write {close[0]}" if close else "define it"

    def _of_reading(self, error: Exception, message: str) -> GrammarError | None:
        """Return the error of a text that Lark cannot read, of a file or of a pattern."""
        if place := re.search(r",? (?:at|in) line (\d+),? (?:col|column) (\d+)", message):
            return self._of_syntax(message[: place.start()].strip(), int(place[1]), int(place[2]))
        if isinstance(error, FileNotFoundError):
            message = f"{error.filename or 'a file'} is not found; pass its folder in import_paths"
            return self.at_name(message, "%import")
        # of `re` or of the package `regex`, or of Lark's lexers, which name the terminal alone
        is_pattern = isinstance(error, re.error) or type(error).__name__ == "error"
        return self._of_pattern() if is_pattern or message.startswith("Cannot compile token") else None

    def _of_definition(self, message: str) -> GrammarError:
        """Return the error of a rule or terminal, at the name that the message contains."""
        for pattern, written, where in _FAULTS:
            if (match := pattern.search(message)) is not None:
                name = _GENERATED.sub(r"\1", text := match.expand(where))
                fault = match.expand(written)
                return self.at_name(fault, name) if name.isidentifier() else self.at_text(fault, text)
        if "more than once" in message and _TWICE.search(message) is None:
            message = f"{message}; remove one, or write %override or %extend"
        names = re.findall(r"[A-Za-z_][A-Za-z0-9_]*", message)
        known = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text)]
        quoted = [name for name in known if re.search(rf"[('`]{re.escape(name)}[)'`]", message)]
        name = (quoted or known[-1:] or [self.start])[0]
        return self.at_name(message, name, last="more than once" in message)

    def _of_syntax(self, message: str, line: int, column: int) -> GrammarError:
        """Return the error of a text that is no grammar, with what other notations have at such a place."""
        lines = self.text.splitlines()
        source = lines[line - 1] if line <= len(lines) else ""
        before, rest = source[: column - 1][-_NEAR:], source[column - 1 :][:_NEAR]
        first = before[len(before.rstrip(_LETTERS)) :]
        name = first + rest[: len(rest) - len(rest.lstrip(_LETTERS))]
        if first and len(name) > len(first) and name not in (name.lower(), name.upper()):
            message = f"the name {name} mixes cases; write rules in lower case and terminals in upper case"
            column -= len(first)
        elif found := re.match(r"Unexpected token Token\('\w+', (['\"])(.*)\1\)$", message):
            message = f"Unexpected `{found[2]}`; remove it, or complete what stands before it"
        elif message == "Expecting rule or terminal definition":
            message = f"{message}; write a rule as `start: ...`, and a pattern alone as structkit.Regex"
        elif message.endswith("(missing colon)"):
            message = f"{message}; write a rule as `name: ...`"
        elif message == "Misplaced operator":
            message = f"{message}; write what it repeats before it, or an inner repetition in parentheses"
        elif message == "Alias expects lowercase name":
            message = f"{message}; write the alias in lower case"
        elif message == "Unexpected input":
            remedies = (remedy for at, after, remedy in _NOTATIONS if at.search(before) and after.match(rest))
            message = f"{message}; {next(remedies)}"
        return self.at(message, line, column)

    def _of_empty(self, name: str) -> GrammarError:
        """Return the error of a terminal that matches the empty text."""
        is_named = not name.startswith("__ANON")
        what = f"the terminal {name}" if is_named else "this pattern"
        message = (
            f"{what} matches the empty text, and Lark allows no zero-width terminals; let it match at least one "
            "character, and make it optional where it is used"
        )
        return self.at_name(message, name) if is_named else self._in(message, self._empty_pattern())

    def _empty_pattern(self) -> int:
        """Return the place of the first pattern that matches the empty text."""
        for found in _PATTERNS.finditer(self.text):
            with suppress(PatternError):
                if parse_syntax(found[1]).getwidth()[0] == 0:
                    return found.start()
        return 0

    def _of_pattern(self) -> GrammarError | None:
        """Return the error of the first pattern that `re` rejects, at the character that it rejects."""
        for found in _PATTERNS.finditer(self.text):
            pattern, flags = found.groups()
            opening = f"(?{flags}:" if flags else ""
            try:
                check_syntax(f"{opening}{pattern})" if flags else pattern)
            except PatternError as error:
                column = min(max(error.column - len(opening), 0), len(pattern))
                is_property = pattern.startswith((r"\p", r"\P"), column)
                return self._in(_NO_PROPERTIES if is_property else error.message, found.start(1) + column)
        return None


def undefined_rule(name: str, names: Iterable[str], before: str) -> str:
    """Return the message about a rule that is used but not defined, behind what comes before it in the grammar.

    >>> undefined_rule("nmae", ["name"], "root ::= ")
    'the rule `nmae` is used but not defined; write name'
    """
    if name == "i" and before.endswith(('"', "'")):
        return 'texts have no flag `i` in this notation; write both letters, such as ("a" | "A")'
    close = closest_name(name, names)
    return f"the rule `{name}` is used but not defined; {f'write {close}' if close else 'define it'}"


def undefined_start(start: str, names: Iterable[str]) -> str:
    """Return the message about a first rule that is not defined.

    >>> undefined_start("root", ["roott"])
    "the rule `root`, where texts start, is not defined; pass start='roott'"
    """
    first = next(iter(names), None)
    remedy = f"write {start} ::= ..." if first is None else f"pass start={first!r}"
    return f"the rule `{start}`, where texts start, is not defined; {remedy}"
