"""Properties of a Lark grammar that its author may not expect, such as texts that it loses."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, get_args

from structkit.errors import GrammarError
from structkit.grammar.findings.finding import FindingKind, GrammarFinding
from structkit.grammar.findings.lost import LostSentences
from structkit.grammar.findings.sentences import Sentence, Sentences
from structkit.grammar.findings.table import Conflict, Reduction, Stack, Table
from structkit.grammar.findings.texts import Names, by_length, joined, tightened, written_rule
from structkit.grammar.findings.words import (
    Budget,
    begins,
    hiding,
    shortest_word,
    word_beyond,
    word_with_prefix,
    words_by_start,
)
from structkit.grammar.rules.lexing import LexerClass, lexing_of
from structkit.grammar.syntax.grammar_errors import GrammarErrors
from structkit.grammar.syntax.lalr import basic_scanner, first_state

if TYPE_CHECKING:
    from structkit.grammar.syntax.lark_grammar import LarkGrammar

__all__ = ["NARROWED", "findings_of", "misread_terminal"]

NARROWED = (
    "whether such a text ends the terminal depends on everything that follows, which takes too many rules; "
    "pass a larger Limits(work=...) to allow it"
)
"""Why texts of a terminal are left out."""

_MAX_SENTENCES = 20
"""Maximum number of sentences that are tried for one finding."""

_MAX_OVERLAPS = 3
"""Maximum number of sentences that are tried for a terminal at whose place another one may match."""

_MAX_WORDS = 8
"""Maximum number of words of a terminal that are tried."""

_MAX_GAPS = 2
"""Maximum number of places between terminals at which each combination of texts is tried."""

_MAX_PARSES = 5_000
"""Maximum number of texts that Lark parses for one grammar."""

_MAX_EXAMPLE = 100
"""Maximum number of characters of an example."""

_MAX_WORD_STEPS = 500_000
"""Maximum number of steps through the automata of terminals, for all words of one grammar."""

_MAX_CONFLICT_STEPS = 3_000
"""Maximum number of steps of the search for a text that one conflict loses."""

_MAX_ALL_CONFLICT_STEPS = 100_000
"""Maximum number of such steps for one grammar."""

_MAX_SHORT_STEPS = 1_000
"""Maximum number of steps of the search for the shortest sentences of a grammar."""

_MAX_COMPARED = 200
"""Maximum number of texts for which two lexers differ that are compared."""

_MAX_LEXER_FINDINGS = 5
"""Maximum number of findings of the kind `"lexer"`."""


def findings_of(grammar: LarkGrammar, narrowed: Iterable[str]) -> tuple[GrammarFinding, ...]:
    """Return what the author of a grammar may not expect, in the order of `FindingKind`; those with examples first.

    The searches are bounded by the constants of this folder; a finding notes where a bound has ended one.

    Args:
        grammar: The grammar.
        narrowed: The terminals that lack some of their texts.
    """
    search = _Search(grammar)
    found = [*(search.finding("narrowed", name, NARROWED) for name in narrowed), *search.findings()]
    kinds = get_args(FindingKind)
    return tuple(
        sorted(found, key=lambda each: (kinds.index(each.kind), each.example is None, each.line or 0))
    )


def misread_terminal(grammar: LarkGrammar) -> GrammarFinding | None:
    """Return a terminal of a short text of the rules that the lexer reads otherwise; `None` if none is found."""
    return _Search(grammar).misread_terminal()


class _Search:
    """The search in one grammar."""

    def __init__(self, grammar: LarkGrammar) -> None:
        self.grammar = grammar
        self.parses_left = _MAX_PARSES
        self.budget = Budget(_MAX_WORD_STEPS)
        self.is_cut_off = False
        self.words: dict[str, str] = {}
        self.indenting = grammar.options.indenter
        self.is_lalr = grammar.options.parser == "lalr"
        self._shown = Names(grammar).shown

    def findings(self) -> Iterator[GrammarFinding]:
        """Yield the findings."""
        grammar, rules = self.grammar, self.grammar.lark.rules
        if grammar.is_dynamic:
            productive = grammar.cfg.productive
        else:
            self._read_grammar()
            productive = frozenset(self.sentences.shortest)
            yield from self._with_a_lexer()
        for name in dict.fromkeys(str(rule.origin.name) for rule in rules):
            if name not in productive and not name.startswith("__"):
                yield self.finding("no text", name, "no text ends this rule: each alternative needs itself")
        for name in grammar.unused:
            yield self.finding("unused", name, "no text uses it")

    def misread_terminal(self) -> GrammarFinding | None:
        self._read_grammar()
        for sentence in islice(self.sentences.shortest_first(_MAX_SHORT_STEPS), _MAX_SENTENCES):
            text = self._shortest_text(sentence, {}, self._is_refused)
            if text is None:
                continue
            place, read = 0, [*self.grammar.tokens(text), ("", "")]
            for expected, (name, value) in zip(sentence, read, strict=False):
                if name != expected:
                    is_read = value and text.startswith(value, text.find(self.words[expected], place))
                    other = f"reads {value!r} as {self._shown(name)}" if is_read else "ignores or refuses it"
                    reason = f"the lexer {other} where the rules have it"
                    return self.finding("hidden terminal", expected, reason, text)
                place = text.find(value, place) + len(value)
        return None

    def _read_grammar(self) -> None:
        grammar = self.grammar
        self._read_words()
        # A terminal whose word the search has not found counts as one of a letter.
        lengths = dict.fromkeys(self.lexing.automata, 1)
        lengths |= {name: len(word) for name, word in self.words.items()}
        first = first_state(grammar.lark, grammar.options.start, grammar.limits, lookaheads=self.is_lalr)
        self.table = Table(first)
        self.sentences = Sentences(self.table, grammar.lark.rules, lengths)
        if self.table.may_loop():
            self.parses_left = 0

    def _with_a_lexer(self) -> Iterator[GrammarFinding]:
        if self.is_lalr:
            yield from self._conflicts()
        yield from self._hidden_terminals()
        yield from self._keywords()
        if self.table.may_loop():
            yield self.finding("incomplete", self.grammar.options.start, _LOOP)
            return
        if self.grammar.lark.options.lexer == "contextual":
            yield from self._lexer_differences()
        if self.budget.left <= 0 or self.is_cut_off or self.parses_left <= 0:
            reason = "the search for examples was cut off at its bound; findings may be missing"
            yield self.finding("incomplete", self.grammar.options.start, reason)

    def _read_words(self) -> None:
        """Find a shortest text of each terminal, and those that can stand between two others."""
        lexing = self.grammar.cfg.lexing
        if lexing is None:
            raise ValueError("the grammar has no lexer")
        self.lexing = lexing
        for name, automaton in lexing.automata.items():
            word = shortest_word(automaton, self.budget)
            if word is not None:
                self.words[name] = word
        if self.indenting is not None:
            # The postlex makes these.
            self.words |= dict.fromkeys((self.indenting.indent, self.indenting.dedent), "")
            self.words[self.indenting.newline] = "\n"
        ignored = {self.words.get(name, "") for name in self.grammar.lark.ignore_tokens}
        self.gaps = sorted({"", *ignored}, key=by_length)[:3]

    def _conflicts(self) -> Iterator[GrammarFinding]:
        merged: dict[tuple[Reduction, Reduction | None, str], list[Conflict]] = {}
        for conflict in self.table.conflicts():
            merged.setdefault((conflict.lost, conflict.chosen, conflict.terminal), []).append(conflict)
        total = sum(map(len, merged.values())) or 1
        search = LostSentences(self.sentences, min(_MAX_CONFLICT_STEPS, _MAX_ALL_CONFLICT_STEPS // total))
        harmless: dict[tuple[Reduction, Reduction | None, bool], list[str]] = {}
        for (lost, chosen, terminal), conflicts in merged.items():
            texts, is_cut_off = [], False
            for conflict in conflicts:
                text = self._lost_text(search, conflict)
                is_cut_off |= search.is_cut_off
                texts += [] if text is None else [text]
            if texts:
                reason = f"{self._resolved(lost, chosen, [terminal])}; this loses texts"
                yield self.finding("conflict", written_rule(lost.rule), reason, min(texts, key=by_length))
            else:
                harmless.setdefault((lost, chosen, is_cut_off), []).append(terminal)
        for (lost, chosen, is_cut_off), terminals in harmless.items():
            reason = f"{self._resolved(lost, chosen, terminals)}; no text was found that this loses"
            reason += f", in {search.steps:,} steps" if is_cut_off else ""
            yield self.finding("conflict", written_rule(lost.rule), reason)

    def _lost_text(self, search: LostSentences, conflict: Conflict) -> str | None:
        """Return a short text that the rules contain, and the parser refuses because of a conflict."""
        best: str | None = None
        for number, sentence in enumerate(search.of(conflict)):
            if number == _MAX_SENTENCES or (best is not None and sentence.cost >= len(best)):
                break
            kept = sentence.read[: sentence.kept]

            def is_lost(text: str, kept: Sentence = kept) -> bool:
                # The lexer reads what the parser keeps, so that the conflict is the cause.
                return self._tokens(text)[: len(kept)] == kept and self._is_refused(text)

            text = self._shortest_text(sentence.read, {}, is_lost)
            best = min(filter(None, (best, text)), key=by_length, default=None)
        return best

    def _tokens(self, text: str) -> tuple[str, ...]:
        """Return the terminals that Lark reads in a text, with the one that its parser refuses."""
        if self.parses_left <= 0:
            return ()
        self.parses_left -= 1
        return tuple(name for name, _ in self.grammar.tokens(text))

    def _hidden_terminals(self) -> Iterator[GrammarFinding]:
        names = dict.fromkeys(name for lexer in self.lexing.classes for name in lexer)
        for name in names:
            lexers = [lexer for lexer in self.lexing.classes if name in lexer]
            found = [self._hiding(lexer, name) for lexer in lexers]
            if any(each is None for each in found):
                yield from self._overlap(name, lexers)
                continue
            others = dict.fromkeys(other for each in found for other in each or ())
            words = [self.words[name]] if name in self.words else []
            example = self._text_lost_by_the_lexer(name, words, self.lexing.automata.keys() - {name})
            above = " or ".join(map(self._shown, others))
            reason = f"it never matches, since {above} is tried first and matches where it does"
            yield self.finding("hidden terminal", name, reason, example)

    def _overlap(self, name: str, lexers: Sequence[LexerClass]) -> Iterator[GrammarFinding]:
        """Yield a text with a terminal at whose place the lexer finds another one, whatever is between them."""
        automata = self.lexing.automata
        others = dict.fromkeys(
            other for lexer in lexers for way in lexer[name] for other in sorted(way.above)
        )
        longer = (word_beyond(automata[name], automata[other], self.budget) for other in others)
        words = [*filter(None, (self.words.get(name), *longer))][:_MAX_WORDS]
        example = self._text_lost_by_the_lexer(name, words, others, in_all_ways=True)
        if example is not None:
            first = next(self._shown(other) for other in self._tokens(example) if other in others)
            reason = f"at its place the lexer finds {first}, which is tried first, and cannot go on behind it"
            yield self.finding("overlap", name, reason, example)

    def _hiding(self, lexer: LexerClass, name: str) -> list[str] | None:
        """Return the terminals that match wherever a terminal does; `None` if it has a text."""
        found: list[str] = []
        for way in lexer[name]:
            above = {each: self.lexing.automata[each] for each in sorted(way.above)}
            others = hiding(self.lexing.automata[name], above, self.budget)
            if others is None:
                return None
            found += others
        return found

    def _keywords(self) -> Iterator[GrammarFinding]:
        """Yield a text for each terminal whose texts may be those of keywords."""
        keywords: dict[str, dict[str, str]] = {}
        for lexer in self.lexing.classes:
            for name, ways in lexer.items():
                for way in ways:
                    if way.renamed is not None and name in self.words:
                        keywords.setdefault(way.scanned, {})[name] = self.words[name]
        for name, own in keywords.items():
            words = sorted(own.values(), key=by_length)
            example = self._text_lost_by_the_lexer(name, words[:_MAX_WORDS], own)
            if example is not None:
                listed = ", ".join(map(repr, words[:3])) + (", ..." if len(words) > 3 else "")
                is_basic = self.grammar.lark.options.lexer == "basic" or not self.is_lalr
                where = "" if is_basic else " where the parser accepts it"
                reason = (
                    f"a token with the text of a keyword is the keyword{where}; the keywords are {listed}"
                )
                yield self.finding("keyword", name, reason, example)

    def _text_lost_by_the_lexer(
        self, name: str, words: Iterable[str], others: Collection[str], *, in_all_ways: bool = False
    ) -> str | None:
        """Return a short text that the rules contain with a word as a terminal that others read instead.

        Args:
            name: The terminal.
            words: Its words.
            others: The other terminals.
            in_all_ways: Whether the text is lost with each of the texts that can be between its terminals.
        """
        found: list[str] = []
        for sentence in self.sentences.through(name, _MAX_OVERLAPS if in_all_ways else _MAX_SENTENCES):
            if self.is_lalr and not self._is_sentence(sentence):
                continue  # a conflict is the cause
            before = sentence[: sentence.index(name)]

            def is_lost(text: str, before: Sentence = before) -> bool:
                read = self._tokens(text)[: len(before) + 1]
                is_other = len(read) > len(before) and read[-1] in others
                return is_other and read[:-1] == before and self._is_refused(text)

            for word in words:
                ways = self._ways(sentence, name, word) if in_all_ways else ()
                automata = [self.lexing.automata[each] for each in others] if in_all_ways else []
                if not all(begins(automata, rest) and is_lost(text) for text, rest in ways):
                    continue
                text = self._shortest_text(sentence, {name: word}, is_lost)
                found += [] if text is None else [text]
            if found:
                break
        return min(found, key=by_length, default=None)

    def _is_sentence(self, sentence: Sentence) -> bool:
        """Return whether the parser accepts some terminals."""
        stack: Stack | None = (0,)
        for terminal in sentence:
            stack = None if stack is None else self.table.read(stack, terminal)
        return stack is not None and self.table.accepts(stack)

    def _lexer_differences(self) -> Iterator[GrammarFinding]:
        """Yield texts for which the two lexers differ, the shortest first; one for each two terminals."""
        basic = replace(self.grammar, options=replace(self.grammar.options, lexer="basic"))
        (lexer,) = lexing_of([basic_scanner(self.grammar.lark)], self.lexing.automata)[0].classes

        def differs(text: str) -> bool:
            answers = [self._accepts(self.grammar, text), self._accepts(basic, text)]
            return None not in answers and answers[0] != answers[1]

        found: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
        for name, sentence, words in self._candidates(lexer):
            if self.parses_left < _MAX_PARSES // 10:
                self.is_cut_off = True  # the rest is for shorter texts of what was found
                break
            for word in words:
                parts, gaps = self._wanted(sentence, {name: word}, differs)
                if parts:
                    found.setdefault(joined(parts, gaps), (parts, gaps))
        shown: dict[tuple[str, str], GrammarFinding] = {}
        for text in sorted(found, key=by_length)[:_MAX_COMPARED]:
            if (
                self._key(lexer, *self._difference(basic, text)[:2]) in shown
                or len(shown) == _MAX_LEXER_FINDINGS
            ):
                continue
            example = tightened(*found[text], differs)
            name, other, reason = self._difference(basic, example)
            shown.setdefault(self._key(lexer, name, other), self.finding("lexer", name, reason, example))
        yield from shown.values()

    def _candidates(self, lexer: LexerClass) -> Iterator[tuple[str, Sentence, list[str]]]:
        """Yield sentences with texts of one of their terminals, for which two lexers may differ."""
        names = [name for name in lexer if name in self.words]
        special = {name: self._special_words(lexer, name) for name in names}
        for name in names:
            for sentence in self.sentences.through(name, _MAX_WORDS)[:3]:
                yield name, sentence, special[name]
        starts = {name: self._words_by_start(lexer, name) for name in names}
        for sentence in self.sentences.shortest_first(_MAX_SHORT_STEPS):
            for name in dict.fromkeys(sentence):
                if name in special:
                    yield name, sentence, [*special[name], *starts[name]]

    @staticmethod
    def _key(lexer: LexerClass, name: str, other: str) -> tuple[str, str]:
        """Return a key for two terminals, the same one for all keywords of a terminal."""
        return name, "" if any(other in way.words for way in lexer.get(name, ())) else other

    def _difference(self, basic: LarkGrammar, text: str) -> tuple[str, str, str]:
        """Return the terminals of the first token of a text in which two lexers differ, and what this means."""
        accepts = "basic" if self._accepts(self.grammar, text) is False else "contextual"
        for (name, value), (other, other_value) in zip(
            self.grammar.tokens(text), basic.tokens(text), strict=False
        ):
            if (name, value) != (other, other_value):
                reason = (
                    f"the contextual lexer reads {value!r} as {self._shown(name)}, the basic lexer {other_value!r} as "
                    f"{self._shown(other)}; only the {accepts} one accepts the example"
                )
                return name, other, reason
        return "", "", f"only the {accepts} lexer accepts the example"

    def _special_words(self, lexer: LexerClass, name: str) -> list[str]:
        """Return texts of a terminal: a shortest one, keywords, and some that begin with texts of others."""
        found = [self.words[name]]
        for way in lexer[name]:
            found += [self.words[word] for word in way.words if word in self.words]
            for other in sorted(way.above):
                automata = self.lexing.automata
                word = word_with_prefix(automata[name], automata[other], self.budget)
                found += [] if word is None else [word]
        return list(dict.fromkeys(found))[:_MAX_WORDS]

    def _words_by_start(self, lexer: LexerClass, name: str) -> list[str]:
        automata = self.lexing.automata
        if name not in automata:
            return []
        found = words_by_start(
            automata[name], [automata[each] for each in lexer if each in automata], self.budget
        )
        return [word for word in found if word.isascii()][:_MAX_WORDS]

    def _shortest_text(
        self, sentence: Sentence, words: Mapping[str, str], is_wanted: Callable[[str], bool]
    ) -> str | None:
        """Return a text of some terminals that is wanted, with few texts between them; `None` if none is found."""
        parts, gaps = self._wanted(sentence, words, is_wanted)
        return tightened(parts, gaps, is_wanted) if parts else None

    def _wanted(
        self, sentence: Sentence, words: Mapping[str, str], is_wanted: Callable[[str], bool]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return the texts of terminals, and of what is between them, that together are wanted; nothing if none are."""
        indenting = self.indenting
        if indenting is not None and not {indenting.indent, indenting.dedent}.isdisjoint(sentence):
            return (), ()  # columns decide which tokens such a text has
        own = {**self.words, **words}
        if not own.keys() >= set(sentence):
            return (), ()
        parts = [own[name] for name in sentence]
        places = max(len(parts) - 1, 0)
        for gap in self.gaps:
            for gaps in product(("", gap), repeat=places) if 1 < places <= _MAX_GAPS else [(gap,) * places]:
                text = joined(parts, gaps)
                if len(text) <= _MAX_EXAMPLE and is_wanted(text):
                    return parts, gaps
        return (), ()

    def _ways(self, sentence: Sentence, name: str, word: str) -> Iterator[tuple[str, str]]:
        """Yield texts with a word as a terminal, one for each text that can be in between, and their rests from it."""
        own = {**self.words, name: word}
        if own.keys() >= set(sentence):
            parts, place = [own[each] for each in sentence], sentence.index(name)
            yield from ((gap.join(parts), gap.join(parts[place:])) for gap in self.gaps)

    def _is_refused(self, text: str) -> bool:
        """Return whether Lark refuses a text, and accepts it where the lexer and the conflicts do not matter."""
        if self._accepts(self.grammar, text) is not False:
            return False
        if self.indenting is not None:
            return True  # the terminals of a sentence are its texts; Lark has no such parser with a postlex
        return self._accepts(self._rules, text) is True

    @cached_property
    def _rules(self) -> LarkGrammar:
        """The grammar for Lark's parser of all context-free grammars, with all ways to find terminals."""
        options = replace(self.grammar.options, parser="earley", lexer="dynamic_complete")
        return replace(self.grammar, options=options)

    def _accepts(self, grammar: LarkGrammar, text: str) -> bool | None:
        """Return whether Lark accepts a text; `None` if it has parsed enough, or a postlex fails."""
        if self.parses_left <= 0:
            return None
        self.parses_left -= 1
        try:
            return grammar.rejection(text) is None
        except (GrammarError, AssertionError, LookupError):
            return None

    def finding(
        self, kind: FindingKind, name: str, reason: str, example: str | None = None
    ) -> GrammarFinding:
        grammar = self.grammar
        errors = GrammarErrors(grammar.text, grammar.path, grammar.options.start)
        shown = self._shown(name)
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", grammar.text):
            place = errors.at_name(reason, name)
        elif shown != name and shown in grammar.text:
            place = errors.at_text(reason, shown)
        else:
            return GrammarFinding(kind, shown, reason, example=example)
        return GrammarFinding(kind, shown, reason, place.line, place.column, example)

    def _resolved(self, lost: Reduction, chosen: Reduction | None, terminals: Sequence[str]) -> str:
        """Return what the parser does in a conflict."""
        before = " or ".join(map(self._shown, sorted(terminals)))
        rule = self._shown(lost.rule)
        winner = (
            "the parser shifts" if chosen is None else f"{self._shown(chosen.rule)} has a higher priority"
        )
        return f"before {before}, {rule} does not end with `{self._written(lost)}`, since {winner}"

    def _written(self, end: Reduction) -> str:
        return " ".join(map(self._shown, end.symbols)) or "nothing"


_LOOP = "Lark's parser may reduce without end, so that no example is tried"
