"""Grammars of each syntax as rules of regexes."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from structkit.errors import GrammarError, LimitExceeded
from structkit.grammar.collection import collection_paused
from structkit.grammar.findings.finding import FindingKind, GrammarFinding
from structkit.grammar.findings.search import NARROWED, findings_of, misread_terminal
from structkit.grammar.product.constrain import UnseparatedTerminals
from structkit.grammar.product.network import rules_of
from structkit.grammar.rules.cfg import Cfg
from structkit.grammar.rules.layout import UnbalancedIndent
from structkit.grammar.syntax.files import Files
from structkit.grammar.syntax.gbnf import read_gbnf
from structkit.grammar.syntax.holes import Hole
from structkit.grammar.syntax.kbnf import read_kbnf
from structkit.grammar.syntax.lark_grammar import LarkGrammar, LarkOptions
from structkit.limits import Limits
from structkit.regex.nodes import NEVER, Rules

__all__ = ["GrammarSource", "Syntax"]

_log = logging.getLogger("structkit")

Syntax: TypeAlias = Literal["lark", "gbnf", "kbnf"]
"""The language in which a grammar is written."""

_REMEDIES: dict[FindingKind, str] = {
    "conflict": "use parser='earley', or write the rules so that the next terminal decides",
    "hidden terminal": "give it a higher priority, as in `NAME.1: ...`, or use lexer='contextual' or lexer='dynamic'",
}
"""What to do about findings without which a grammar may have texts."""


@dataclass(frozen=True)
class GrammarSource:
    """A grammar as the user gives it.

    Attributes:
        text: The grammar.
        path: Its file; `None` for a text.
        syntax: The language in which it is written.
        options: The arguments of Lark; other syntaxes only have `start`.
        holes: The rules that are defined elsewhere.
        limits: Bounds on the size of the grammar.
        labelled: Whether rules may end with labels; see `structkit.grammar.product.network.rules_of`.
        known_files: The files of a grammar that is known to be valid, which is read only when its rules are needed.
    """

    text: str
    path: str | None = None
    syntax: Syntax = "lark"
    options: LarkOptions = field(default_factory=LarkOptions)
    holes: tuple[Hole, ...] = ()
    limits: Limits = field(default_factory=Limits)
    labelled: bool = True
    known_files: Files | None = None

    @cached_property
    def lark(self) -> LarkGrammar:
        """The grammar as Lark reads it.

        Raises:
            GrammarError: Files that the grammar imports are not those that are known.
        """
        lark = LarkGrammar(self.text, self.path, self.options, self.limits, self.holes)
        if self.known_files is not None and self.known_files != lark.files:
            message = "files that the grammar imports have changed; create the grammar again"
            raise lark.error(message, self.options.start)
        return lark

    @cached_property
    def cfg(self) -> Cfg:
        """The grammar as rules and terminals.

        Raises:
            GrammarError: The grammar is invalid, or a terminal is not regular.
        """
        if self.syntax == "gbnf":
            return read_gbnf(self.text, self.options.start, path=self.path, limits=self.limits)
        if self.syntax == "kbnf":
            return read_kbnf(self.text, self.options.start, path=self.path, limits=self.limits)
        return self.lark.cfg

    @cached_property
    def rules(self) -> Rules:
        """The language.

        Raises:
            GrammarError: The grammar is invalid, or no text is in the language.
            LimitExceeded: The grammar is too large.
        """
        try:
            with collection_paused():
                rules = rules_of(self.cfg, self.limits, labelled=self.labelled)
        except (UnseparatedTerminals, UnbalancedIndent) as error:
            raise self.error(str(error)) from None
        except LimitExceeded as error:
            error.place = self._line(error.place or self.options.start)
            raise
        if rules.start is NEVER:
            raise self._without_texts()
        if rules.narrowed:
            _log.warning(
                "some texts of the terminals %s of a grammar are left out: %s",
                ", ".join(rules.narrowed),
                NARROWED,
            )
        return rules

    @property
    def is_read(self) -> bool:
        """Whether `rules` were asked for, so that the grammar is valid."""
        return "rules" in self.__dict__

    @property
    def named_tokens(self) -> frozenset[str]:
        """The names of the tokens that are terminals."""
        return self.cfg.named_tokens if self.syntax == "gbnf" else frozenset()

    def error(self, message: str) -> GrammarError:
        """Return an error at the first rule."""
        return self.lark.error(message, self.options.start)

    def _without_texts(self) -> GrammarError:
        """Return the error of a grammar without texts, at what loses a text of its rules, if that is found."""
        message = "no text is in the language"
        has_lexer = self.syntax == "lark" and not self.lark.is_dynamic
        found = [each for each in findings_of(self.lark, ()) if each.kind in _REMEDIES] if has_lexer else []
        if has_lexer and not any(each.example for each in found):
            found += filter(None, [misread_terminal(self.lark)])
        for each in found:
            if each.example is not None and each.line and each.column:
                reason = each.reason.replace("; ", ", ")
                text = f"{message}: {each.kind} {each.name}: {reason}, as in {each.example!r}"
                source = self.text.splitlines()[each.line - 1]
                return GrammarError(
                    f"{text}; {_REMEDIES[each.kind]}",
                    line=each.line,
                    column=each.column,
                    source=source,
                    place=self.path,
                )
        return self.error(f"{message}; check that each terminal leaves characters to those behind it")

    def _line(self, rule: str) -> str | None:
        """Return the line that defines a rule, with the file; the place as it is if no line of this text does.

        The names that Lark gives to terminals without one stand nowhere in the text: the place is that of their text.
        """
        if rule.startswith("__ANON"):
            texts = {each.name: each.pattern.raw for each in self.lark.lark.terminals}
            definition = re.escape(texts.get(rule) or "\0")
        elif self.syntax == "lark":
            definition = rf"^[ \t]*[?!]*{re.escape(rule)}(?=[\s.:{{])"
        else:
            definition = rf"^[ \t]*<?{re.escape(rule)}>?[ \t]*::="
        found = re.search(definition, self.text, re.MULTILINE)
        if found is None:
            return self.path if rule.startswith("__ANON") else rule
        line = f"line {self.text.count(chr(10), 0, found.start()) + 1}"
        return line if self.path is None else f"{self.path}, {line}"

    @property
    def unused(self) -> tuple[str, ...]:
        """The names that no text uses."""
        return self.lark.unused if self.syntax == "lark" else ()

    @property
    def findings(self) -> tuple[GrammarFinding, ...]:
        """What the author of a Lark grammar may not expect."""
        if self.syntax != "lark":
            return ()
        try:
            narrowed = self.rules.narrowed
        except (GrammarError, LimitExceeded):  # a grammar that is refused has findings too
            narrowed = ()
        return findings_of(self.lark, narrowed)

    @property
    def fingerprint(self) -> str:
        """A text that determines the language, with the contents of imported files."""
        return f"Grammar {self.syntax} {self.options!r} {self.files.imported!r} {self.text!r}"

    @property
    def files(self) -> Files:
        """The files that the grammar imports."""
        if self.known_files is not None:
            return self.known_files
        return self.lark.files if self.syntax == "lark" else Files()
