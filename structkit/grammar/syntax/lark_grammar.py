"""Lark grammars as context-free grammars. One of the modules that import lark."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from structkit.errors import GrammarError, LimitExceeded, PatternError
from structkit.grammar.rules.cfg import Cfg, Production, Terminal
from structkit.grammar.rules.layout import UnbalancedIndent, with_blocks
from structkit.grammar.rules.lexing import Indenting, lexing_of
from structkit.grammar.syntax.derivation import Derivation, DerivationParser
from structkit.grammar.syntax.expansions import (
    bound_expansions,
    bound_templates,
    growing_template,
)
from structkit.grammar.syntax.expressions import Source
from structkit.grammar.syntax.files import Files
from structkit.grammar.syntax.grammar_errors import GrammarErrors
from structkit.grammar.syntax.holes import Hole, hole_terminal, lark_definitions
from structkit.grammar.syntax.indenter import indenter_fault, shared_indenter_of
from structkit.grammar.syntax.lalr import (
    NamedProduction,
    ParserTable,
    Token,
    basic_scanner,
    tokens_of,
    with_terminals,
)
from structkit.grammar.syntax.lark_parser import bounded_loading, build_parser, without_interegular
from structkit.limits import Limits
from structkit.regex.charset import char_class
from structkit.regex.nodes import EMPTY, CharClass
from structkit.regex.pattern.back_references import fault_beside, first_reference
from structkit.regex.pattern.parse import parse
from structkit.regex.pattern.program import prefers_longer, read_pattern
from structkit.regex.pattern.threads import build_terminal
from structkit.regex.size_bound import edges_if_unambiguous

if TYPE_CHECKING:
    from lark import Lark, Tree

__all__ = ["LarkGrammar", "LarkOptions", "Lexer", "Parser", "Priority", "TreeTransformer"]

Parser: TypeAlias = Literal["earley", "lalr"]
Lexer: TypeAlias = Literal["auto", "dynamic", "dynamic_complete", "basic", "contextual"]
Priority: TypeAlias = Literal["auto", "normal", "invert"]

_NOWHERE = Path("/structkit/no/folder/grammar.lark")
"""The place of a grammar without a file; Lark would otherwise import from the folder of the program."""

_MAX_TEMPLATES = 5_000
"""Maximum number of rules made of templates, and of the names in one of them; Lark takes about 0.1 ms for each."""

_MAX_PRODUCTIONS = 20_000
"""Maximum number of productions of a rule of an LALR grammar, which Lark writes out."""

_MAX_RULES = 2_000
"""Maximum number of productions of an LALR grammar: Lark's tables of more take seconds."""

_WORK_PER_STEP = 15
"""The work of an instruction of a terminal at which is looked; see `Limits.work`."""

_loading = Lock()

_PYTHON_ERRORS = (ValueError, OSError, AssertionError, LookupError, TypeError, RecursionError, SyntaxError)
"""What Lark raises for an invalid grammar, besides its own errors and those of patterns."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class TreeTransformer(Protocol[T_co]):
    """What turns a tree into a value, such as `lark.Transformer`."""

    def transform(self, tree: Any, /) -> T_co:
        """Return the value of a tree."""


def _lark_errors() -> tuple[type[Exception], ...]:
    """Return what Lark raises for an invalid grammar: its own errors, and those of Python and of patterns."""
    from lark.exceptions import LarkError

    # Lark measures patterns with the package regex, where that is installed.
    regex = sys.modules.get("regex")
    return (LarkError, re.error, getattr(regex, "error", re.error), *_PYTHON_ERRORS)


@dataclass(frozen=True)
class LarkOptions:
    """The arguments of `lark.Lark` that structkit takes; see its documentation."""

    start: str = "start"
    parser: Parser = "earley"
    lexer: Lexer = "auto"
    import_paths: tuple[str, ...] = ()
    priority: Priority | None = "auto"
    maybe_placeholders: bool = True
    g_regex_flags: int = 0
    strict: bool = False
    indenter: Indenting | None = None

    @classmethod
    def of(cls, values: Sequence[Any]) -> LarkOptions:
        """Return the options of their values as JSON stores them."""
        start, parser, lexer, folders, priority, *others, indenter = values
        if indenter is not None:
            newline, indent, dedent, opening, closing, tab_length = indenter
            indenter = Indenting(newline, indent, dedent, tuple(opening), tuple(closing), tab_length)
        placeholders, flags, strict = others
        return cls(start, parser, lexer, tuple(folders), priority, placeholders, flags, strict, indenter)


@dataclass(frozen=True)
class LarkGrammar:
    """A grammar that Lark has loaded.

    Attributes:
        text: The grammar.
        path: Its file, if it comes from one.
        options: The arguments of `lark.Lark`.
        limits: Bounds on sizes.
        holes: The rules that are defined elsewhere.
    """

    text: str
    path: str | None = None
    options: LarkOptions = LarkOptions()
    limits: Limits = field(default_factory=Limits)
    holes: tuple[Hole, ...] = ()

    @cached_property
    def lark(self) -> Lark:
        """The grammar as Lark holds it, without its parser.

        Raises:
            GrammarError: Lark refuses the grammar.
            LimitExceeded: The grammar is too large.
        """
        if (fault := self._unsupported()) is not None:
            raise self._errors.at(fault, 1, 1)
        if len(self.text) > self.limits.grammar_length:
            raise LimitExceeded("grammar_length", self.limits.grammar_length, "a grammar", place=self.path)
        try:
            with _loading:
                return self._loaded[0]
        except _lark_errors() as error:
            Source(self.text, self.path, self.limits)  # characters that Lark only calls unexpected
            raise self._errors.of_lark(error) from None

    def _unsupported(self) -> str | None:
        """Return why an option is not supported, and what to do; `None` if all are."""
        known = {"earley": ("dynamic", "dynamic_complete", "basic"), "lalr": ("contextual", "basic")}
        parser, lexer = self.options.parser, self.options.lexer
        if parser not in known:
            return f"parser={parser!r} is not supported; use parser='earley' or parser='lalr'"
        if lexer not in ("auto", *known[parser]):
            return (
                f"parser={parser!r} has no lexer={lexer!r}; use one of {', '.join(map(repr, known[parser]))}"
            )
        if self.options.indenter is not None and lexer in ("dynamic", "dynamic_complete"):
            return f"a postlex needs tokens, and lexer={lexer!r} has none; use lexer='basic' or parser='lalr'"
        if self.holes and not self.is_dynamic:
            return f"{parser=} with {lexer=} has no holes; use parser='earley' with lexer='dynamic'"
        return None

    @property
    def is_dynamic(self) -> bool:
        """Whether the parser decides which terminals are tried; otherwise the grammar has a lexer."""
        options = self.options
        return options.parser == "earley" and options.lexer != "basic" and options.indenter is None

    @cached_property
    def _loaded(self) -> tuple[Lark, Files]:
        return self._load([self.options.start])

    def _load(self, starts: list[str]) -> tuple[Lark, Files]:
        """Return a grammar without its parser, and the files in which Lark looked for its imports."""
        from lark import Lark
        from lark.lexer import BasicLexer
        from lark.load_grammar import load_grammar
        from lark.parser_frontends import EarleyRegexpMatcher

        class Unbuilt(Lark):
            """Lark without its parser, which takes longer than the rest, and which only values need."""

            def _build_parser(self) -> Any:
                if self.options.lexer in ("dynamic", "dynamic_complete"):
                    EarleyRegexpMatcher(self.lexer_conf)  # type: ignore[no-untyped-call]
                else:
                    with without_interegular():
                        BasicLexer(self.lexer_conf)

        options = self.options
        source = self.path or str(_NOWHERE)
        with bounded_loading(self.limits.grammar_length, source) as tried:
            text, folders = self.text + lark_definitions(self.holes), list(options.import_paths)
            grammar, used = load_grammar(text, source, folders, False)  # type: ignore[no-untyped-call]
        files = Files.of(tried, {str(path): digest for path, digest in used.items()})
        if (name := growing_template(grammar)) is not None:
            raise self.error(f"the template `{name}` calls itself with ever larger arguments", name)
        bound_templates(grammar, _MAX_TEMPLATES)
        is_lalr = options.parser == "lalr"
        most = _MAX_PRODUCTIONS if is_lalr else self.limits.grammar_length
        bound_expansions(grammar, most, keep_groups=is_lalr)
        parser = Unbuilt(
            grammar,
            start=starts,
            parser=options.parser,
            lexer=options.lexer,
            priority=options.priority,
            maybe_placeholders=options.maybe_placeholders,
            g_regex_flags=options.g_regex_flags,
            postlex=None if options.indenter is None else shared_indenter_of(options.indenter),
            propagate_positions=True,
            source_path=source,
        )
        return parser, files

    @property
    def files(self) -> Files:
        """The files that the grammar imports."""
        _ = self.lark
        return self._loaded[1]

    @cached_property
    def cfg(self) -> Cfg:
        """The grammar as rules and terminals, `%ignore` included.

        Raises:
            GrammarError: A terminal is not regular, or the grammar has no text.
        """
        lark = self.lark
        if self.options.parser == "lalr":
            _ = self._table  # a conflict is an error before a terminal is too large
        terminals = self._terminals()
        if not self.is_dynamic:
            return self._lexed(terminals)
        ignored = tuple(replace(terminals[name], is_ignored=True) for name in lark.ignore_tokens)
        rules: dict[str, list[Production]] = {}
        for rule in lark.rules:
            for s in rule.expansion:
                if s.is_term and s.name not in terminals:
                    raise self.error(
                        f"the terminal {s.name} is only declared; pass the postlex that makes it",
                        s.name,
                    )
            production = tuple(terminals[s.name] if s.is_term else s.name for s in rule.expansion)
            rules.setdefault(rule.origin.name, []).append(production)
        rules.update((hole.rule, [(hole_terminal(hole),)]) for hole in self.holes if hole.has_own_rules)
        whole, gap, start = "$text", "$gap", self.options.start
        rules[whole] = [(start, gap)]
        rules[gap] = [(), *((gap, terminal) for terminal in ignored)]
        ending: Literal["dynamic", "dynamic_complete"]
        ending = "dynamic_complete" if lark.options.lexer == "dynamic_complete" else "dynamic"
        cfg = Cfg(
            whole, {name: tuple(dict.fromkeys(found)) for name, found in rules.items()}, ignored, ending
        )
        if start not in cfg.productive:
            raise self._errors.without_text(start, lark.rules)
        return cfg

    def _check_strictly(self) -> None:
        """Let Lark refuse conflicts and terminals that collide; it compares terminals with interegular."""
        from lark import Lark

        _ = self._table if self.options.parser == "lalr" else None  # bounded, unlike Lark's own
        try:
            with _loading:
                lark = self._load([self.options.start])[0]
                lark.options.strict = lark.lexer_conf.strict = True
                Lark._build_parser(lark)
        except AttributeError:  # of interegular
            fault = "strict=True compares no terminals with anchors; leave it out"
            raise self.error(fault, self.options.start) from None
        except _lark_errors() as error:
            raise self._errors.of_lark(error) from None

    def _lexed(self, terminals: Mapping[str, Terminal]) -> Cfg:
        """Return the grammar of a parser with a lexer."""
        lark, start = self.lark, self.options.start
        if self.options.strict:
            self._check_strictly()
        automata = {}
        for name, terminal in terminals.items():
            if terminal.edges is None:
                raise self.error(f"the terminal {name} has counts that are too large for a lexer", name)
            automata[name] = terminal.edges
        indenting = self.options.indenter
        if indenting is not None:
            if (fault := indenter_fault(indenting, terminals)) is not None:
                raise self.error(*fault)
            empty = CharClass(())
            for name in (indenting.indent, indenting.dedent):
                terminals = {**terminals, name: Terminal(name, EMPTY, first=empty)}
        if self.options.parser == "lalr":
            table = self._table
            lexing, classes = lexing_of(table.scanners, automata)
            first, found = table.rules(classes)
            entry = classes[table.scanner_of[0]]
        else:
            lexing, (entry,) = lexing_of([basic_scanner(lark)], automata)
            first, found = start, dict[str, list[NamedProduction]]()
            for rule in lark.rules:
                symbols = tuple(Token(s.name, 0) if s.is_term else s.name for s in rule.expansion)
                found.setdefault(rule.origin.name, []).append(symbols)
        dropped = [*lark.ignore_tokens, *([] if indenting is None else [indenting.newline])]
        ignored = tuple(replace(terminals[name], is_ignored=True) for name in dict.fromkeys(dropped))
        rules = with_terminals(found, terminals)
        whole, gap = "$text", "$gap"
        rules[whole] = ((first, gap),)
        rules[gap] = ((), *((gap, terminal) for terminal in ignored))
        blocks: frozenset[str] = frozenset()
        if indenting is not None:
            rules, blocks = self._with_blocks(rules, indenting)
        lexing = replace(lexing, first=entry)
        cfg = Cfg(whole, rules, ignored, "dynamic", lexing, indenting=indenting, blocks=blocks)
        if first not in cfg.productive:
            names = {symbol.name for rule in lark.rules for symbol in rule.expansion if symbol.is_term}
            for name in sorted(names - terminals.keys()):
                raise self.error(
                    f"the terminal {name} is only declared; pass the postlex that makes it", name
                )
            raise self._errors.without_text(start, lark.rules)
        return cfg

    def _with_blocks(
        self, rules: Mapping[str, tuple[Production, ...]], indenting: Indenting
    ) -> tuple[dict[str, tuple[Production, ...]], frozenset[str]]:
        """Return the rules with indented blocks, and the names of the blocks."""
        try:
            return with_blocks(rules, indenting)
        except UnbalancedIndent as error:
            name = str(error).partition("#")[0]
            raise self.error(
                f"the rule `{name}` has {indenting.indent} without {indenting.dedent} in one alternative, or the "
                "other way round; write both into the same alternative",
                name,
            ) from None

    @cached_property
    def _table(self) -> ParserTable:
        options, lark = self.options, self.lark
        if len(lark.rules) > _MAX_RULES:
            raise LimitExceeded(
                "regex_nodes",
                _MAX_RULES,
                "the productions of an LALR grammar",
                place=self.path,
                is_fixed=True,
            )
        if not any(rule.origin.name == options.start for rule in lark.rules):
            raise self._errors.without_text(options.start, lark.rules)
        try:
            always = () if options.indenter is None else (options.indenter.newline,)
            contextual = lark.options.lexer == "contextual"
            return ParserTable(
                lark, options.start, self.limits, contextual=contextual, always_accepted=always
            )
        except _lark_errors() as error:
            raise self._errors.of_lark(error) from None

    def _terminals(self) -> dict[str, Terminal]:
        found, steps = {}, self.limits.work // _WORK_PER_STEP
        for definition in self.lark.terminals:
            found[definition.name] = terminal = self._terminal(definition, steps)
            if terminal.edges is not None:
                steps -= terminal.edges.threads.steps
        return found

    def _terminal(self, definition: Any, max_steps: int) -> Terminal:
        pattern, flags = definition.pattern.to_regexp(), self.options.g_regex_flags
        try:
            self._check_references(definition, pattern)
            automaton = build_terminal(read_pattern(pattern, flags), max_steps)
        except PatternError as error:
            name, raw = definition.name, definition.pattern.raw
            if name.startswith("__ANON") and raw:
                raise self._errors.at_text(
                    f"the pattern {raw} is not supported: {error.message}", raw
                ) from None
            raise self.error(f"the terminal {name} is not supported: {error.message}", name) from None
        except LimitExceeded as error:
            if (counted := _counted(definition.name, pattern, flags)) is None:
                what, place = f"the terminal {definition.name}, with those before it,", definition.name
                if error.value == max_steps:
                    raise LimitExceeded("work", self.limits.work, what, place=place) from None
                raise LimitExceeded(error.limit, error.value, what, place=place, is_fixed=True) from None
            return counted
        return Terminal(definition.name, automaton.node, automaton)

    def _check_references(self, definition: Any, pattern: str) -> None:
        """Check that Lark's lexer, which joins the terminals in one pattern, reads back-references as written."""
        others = (each.pattern.to_regexp() for each in self.lark.terminals if each is not definition)
        if self.lark.options.lexer in ("basic", "contextual") and (fault := fault_beside(pattern, others)):
            raise PatternError(fault, pattern=pattern, column=first_reference(pattern))

    @cached_property
    def _parser(self) -> Lark:
        lark = self.lark
        with _loading:
            return build_parser(lark, self.holes)

    def tokens(self, text: str) -> list[tuple[str, str]]:
        """Return the terminal and the text of each token that Lark reads, with the one that its LALR parser refuses."""
        return tokens_of(self._parser, text)

    def derivations(self, rules: Iterable[str]) -> DerivationParser:
        """Return a parser that gives derivations of texts of the start or of other rules."""
        _ = self.lark  # errors have their places
        with _loading:
            starts = [*dict.fromkeys([self.options.start, *rules])]
            return DerivationParser(build_parser(self._load(starts)[0], self.holes))

    def derive(self, parser: DerivationParser, text: str, rule: str) -> Derivation | None:
        """Return the derivation of a text; `None` if Lark finds none."""
        from lark.exceptions import LarkError

        try:
            return parser.parse(text, rule)
        except (LarkError, RuntimeError):  # lark-parser/lark#1576
            return None

    def tree(self, derivation: Derivation) -> Tree[Any]:
        """Return the tree of a rule, also where Lark leaves its node out because it has one child."""
        from lark import Tree

        result = derivation.result
        return result if isinstance(result, Tree) else Tree(derivation.rule, [result])

    def parse(self, text: str) -> Tree[Any]:
        """Return Lark's tree of a text.

        Raises:
            lark.exceptions.UnexpectedInput: The grammar does not contain the text.
        """
        return self._parser.parse(text)

    def find_tree(self, text: str) -> Tree[Any] | None:
        """Return Lark's tree of a text; `None` if Lark finds none."""
        from lark.exceptions import LarkError

        try:
            return self.parse(text)
        except (LarkError, RuntimeError):  # lark-parser/lark#1576
            return None

    def transform(self, tree: Tree[Any], transformer: TreeTransformer[T]) -> T:
        """Return what a transformer makes of a tree; its errors are raised as it raised them."""
        from lark.exceptions import VisitError

        try:
            return transformer.transform(tree)
        except VisitError as error:
            raise error.orig_exc from error

    def rejection(self, text: str) -> str | None:
        """Return why Lark rejects a text, `None` if it does not."""
        from lark.exceptions import LarkError

        try:
            self.parse(text)
        except LarkError as error:
            return str(error)
        except RuntimeError:  # lark-parser/lark#1576: Lark has read the text, and fails to choose a tree
            return None
        return None

    @cached_property
    def unused(self) -> tuple[str, ...]:
        """The rules and terminals of the text that no text uses."""
        names = re.findall(r"^[?!]*(\w+)(?:\.-?\d+)?\s*:", self.text, re.MULTILINE)
        used = {rule.origin.name for rule in self.lark.rules} | {each.name for each in self.lark.terminals}
        return tuple(name for name in dict.fromkeys(names) if name not in used)

    @cached_property
    def _errors(self) -> GrammarErrors:
        return GrammarErrors(self.text, self.path, self.options.start, self.holes)

    def error(self, message: str, name: str) -> GrammarError:
        """Return an error at the definition of a name in the grammar, or at its first use."""
        return self._errors.at_name(message, name)


def _counted(name: str, pattern: str, flags: int) -> Terminal | None:
    """Return a terminal with large counts, if its texts are all texts of its pattern: it is greedy and unambiguous."""
    if flags or not prefers_longer(pattern):
        return None
    node = parse(pattern, search=False, unicode=True)
    found = edges_if_unambiguous(node)
    if found is None:
        return None
    return Terminal(name, node, first=char_class(found[0]), extending=char_class(found[1]))
