"""The work on a grammar grows about as its size."""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType

import pytest

from structkit.errors import LimitExceeded
from structkit.grammar.read import GrammarSource
from structkit.grammar.rules.cfg import Terminal
from structkit.grammar.rules.graph import Graph, Move, called_rules, coarsest, loop_back, minimal
from structkit.grammar.rules.inlining import kept_rules
from structkit.grammar.syntax.lark_grammar import LarkOptions, Lexer
from structkit.limits import Limits
from structkit.regex.nodes import Network
from structkit.regex.walk import components
from tests.grammar.recognize import recognizer


def calls(grammar: str, lexer: str) -> int:
    """Return the number of functions that are called to make the rules of an LALR grammar."""
    source = GrammarSource(grammar, options=LarkOptions(parser="lalr", lexer=lexer))
    _ = source.cfg  # Lark's own part, which its authors bound
    return counted(lambda: source.rules)


def counted(function: Callable[[], object]) -> int:
    count = 0

    def count_call(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def chain(size: int) -> str:
    rules = [f'r{n}: "a{n}" r{n + 1} | "b{n}"' for n in range(size)]
    return "\n".join(["start: r0", *rules, f'r{size}: "x"'])


def optional(size: int) -> str:
    names = [f"r{n}" for n in range(size)]
    return "\n".join(["start: " + " ".join(names), *(f'{name}: "{name}"*' for name in names)])


def test_a_chain_of_rules_is_not_inlined_at_each_link() -> None:
    assert calls(chain(100), "basic") < 3 * calls(chain(50), "basic")


def test_optional_rules_in_a_row_take_as_many_steps_as_they_have_pairs() -> None:
    assert calls(optional(50), "basic") < 6 * calls(optional(25), "basic")


def test_terminals_that_begin_differently_are_not_compared() -> None:
    def read(size: int) -> int:
        texts = " | ".join(f'"{n:03x}{"z" * 20}"' for n in range(size))
        source = GrammarSource(f"start: {texts}", options=LarkOptions(parser="lalr", lexer="basic"))
        _ = source.lark
        return counted(lambda: source.cfg)

    read(1)  # imports count, too
    assert read(200) < 3.2 * read(100)


@pytest.mark.parametrize("size", [50, 100])
def test_states_are_divided_in_linear_work(size: int) -> None:
    def divide(length: int) -> int:
        kinds = [0] * length + [1]
        moves = [[("a", state + 1)] for state in range(length)] + [[]]
        assert coarsest(kinds, moves) == [*range(length + 1)]
        return counted(lambda: coarsest(kinds, moves))

    assert divide(2 * size) < 2.5 * divide(size)


def test_levels_of_expressions_do_not_multiply_what_strings_require() -> None:
    levels = "".join(f'e{n}: e{n + 1} (("o{n}" | "p{n}") e{n + 1})*\n' for n in range(12))
    last = 'e12: NAME | STRING | "(" e0 ")" | "[" e0 ("," e0)* "]" | NAME "." NAME\n'
    string = r"""STRING: /"(\\.|.)*?"/ | /'(\\.|.)*?'/"""
    terminals = f"NAME: /[a-z]+/\n{string}\n%ignore /\\s+/\n"
    grammar = f'start: "do" e0 ("," e0)* ("if" e0)?\n{levels}{last}{terminals}'
    rules = GrammarSource(grammar).rules.rules  # within the default `Limits.work`
    assert sum(len(rule.moves) for rule in rules.values() if isinstance(rule, Network)) < 10_000


def test_keywords_do_not_multiply_what_strings_require() -> None:
    words = [f"{a}{b}" for a in ("min", "max", "name", "size", "style") for b in ("width", "label", "item")]
    items = " | ".join(f'"{word}"i value' for word in words)
    terminals = r"""
    value: STRING | QUOTED | NAME | NUMBER | "(" value* ")"
    NAME: /[a-z0-9_\-]+/i
    NUMBER: /[0-9]+(?![a-z])/
    STRING: "\"" ("\\\""|/[^"]/)* "\"" "i"?
    QUOTED: "'" ("\\'"|/[^']/)* "'" "i"?
    %ignore /\s+/
    %ignore /\/\*.*?\*\//s
    """
    grammar = f'start: "map"i item* "end"i\nitem: {items}\n{terminals}'
    options = LarkOptions(parser="lalr")
    assert GrammarSource(grammar, options=options, limits=Limits(work=1_500_000)).rules.rules


def test_reserved_words_do_not_multiply_what_a_name_requires() -> None:
    words = "|".join(
        f"{a}{b}" for a in ("END_", "VAR_", "UN", "") for b in ("IF", "CASE", "FOR", "WHILE", "ACTION")
    )
    grammar = rf"""
    start: (path ";")*
    path: NAME ("." NAME)* | DOTTED ":=" NUMBER
    NAME: /\b(?!({words})\b)[A-Z_][A-Z0-9_]*\b/i
    DOTTED: NAME ("." NAME)*
    NUMBER: /[0-9]+\b/
    %ignore /\s+/
    %ignore /\/\*.*?\*\//
    """
    assert GrammarSource(grammar, limits=Limits(work=1_500_000)).rules.rules


@pytest.mark.parametrize(
    ("lexer", "work"),
    [
        ("dynamic", 1_500_000),
        pytest.param("dynamic_complete", Limits().work, marks=pytest.mark.long),
    ],
)
def test_names_that_exclude_keywords_do_not_multiply_rules(lexer: Lexer, work: int) -> None:
    """Behind a name is what continues it, or the rest of a keyword, but not both."""
    words = (
        "and break do else elseif end false for function if in local nil not or repeat return then true "
        "until while"
    )
    levels = "".join(f'e{n}: e{n + 1} (("o{n}" | "p{n}") e{n + 1})*\n' for n in range(8))
    grammar = rf"""
    start: stat*
    stat: NAME "=" e0 ";"? | "while" e0 "do" stat* "end" | "if" e0 "then" stat* ("else" stat*)? "end"
    {levels}
    e8: NAME | "(" e0 ")" | "f" "(" [e0 ("," e0)*] ")"
    NAME: /(?!({words.replace(" ", "|")})\b)[A-Za-z_]\w*/
    %ignore /\s+/
    """
    assert GrammarSource(grammar, options=LarkOptions(lexer=lexer), limits=Limits(work=work)).rules.rules


def test_the_lalr_parser_of_a_long_production_takes_linear_work() -> None:
    def read(size: int) -> int:
        symbols = " ".join(f'"k{number}"' for number in range(size))
        source = GrammarSource(f"start: {symbols}", options=LarkOptions(parser="lalr"))
        _ = source.lark
        return counted(lambda: source.cfg)

    assert read(200) < 3 * read(100)


def test_a_chain_of_optional_rules_is_not_multiplied_out() -> None:
    """A deterministic automaton would have a move from each of them to each later one."""

    def read(size: int) -> int:
        rules = "\n".join(f'a{number}: "{chr(97 + number % 26)}"?' for number in range(size))
        source = GrammarSource(f"start: {' '.join(f'a{number}' for number in range(size))}\n{rules}")
        _ = source.cfg
        return counted(lambda: source.rules)

    assert read(200) < 6 * read(100)


def test_optional_calls_of_a_rule_by_itself_are_not_compared_with_all_ends() -> None:
    """The rule is a row of optional parts, each of which it may call itself behind."""

    def read(size: int) -> int:
        states = [0, *range(2, size + 2)]
        moves: list[Move] = [(states[size], None, 1)]
        for number in range(size):
            inside, after = size + 2 + number, states[number + 1]
            moves += [(states[number], None, after), (states[number], f"part{number}", inside)]
            moves += [(inside, "rule", after), (inside, None, after)]
        return counted(lambda: loop_back("rule", Graph(2 * size + 2, moves)))

    assert read(200) < 2.5 * read(100)


def test_the_closures_of_optional_rules_are_not_all_kept() -> None:
    """Each of the states in a row reaches all later ones without reading a symbol."""
    graph = Graph(2_000, [(state, None, state + 1) for state in range(1_999)])
    graph.moves += [(state, f"r{state}", state + 1) for state in range(1_999)]
    tracemalloc.start()
    try:
        assert minimal(graph) is graph
        assert tracemalloc.get_traced_memory()[1] < 30 * 2**20
    finally:
        tracemalloc.stop()


def test_looks_at_requirements_count_as_work() -> None:
    """Behind a letter each subset of 25 terminals may be one that must not match."""
    names = [f"T{number}" for number in range(25)]
    rules = "\n".join(f"{name}: /[a-z]+{chr(97 + number)}/" for number, name in enumerate(names))
    source = GrammarSource(f"start: ({'|'.join(names)})+\n{rules}", limits=Limits(work=2_000_000))
    _ = source.cfg

    def refuse() -> None:
        with pytest.raises(LimitExceeded, match="work="):
            _ = source.rules

    assert counted(refuse) < 1_500_000


def test_guards_of_recursion_do_not_write_terminals_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a terminal has all classes of its characters."""

    def refuse(_terminal: Terminal) -> str:
        raise AssertionError("a terminal was written as text")

    monkeypatch.setattr(Terminal, "__repr__", refuse)
    _ = GrammarSource('start: e\ne: o e A | A\no: "o"*\nA: /[a-y]/').rules


def test_counts_of_characters_of_all_alphabets_are_few_states() -> None:
    """Unrolled, each of the 190 letters of `EMAIL` would have hundreds of states for the bytes of its characters."""
    email = r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63})+"
    accepts = recognizer(GrammarSource(f'start: EMAIL ("," EMAIL)*\nEMAIL: /{email}/\n').cfg)
    pattern = re.compile(f"{email}(,{email})*")
    for text in [
        "a@b.c",
        "é.ü@ñ.中",
        "a@b.c,é@b.c.d",
        "a@b",
        "a@b..c",
        f"{'é' * 64}@b.c",
        f"{'é' * 65}@b.c",
        "€@b.c",
    ]:
        assert accepts(text) == bool(pattern.fullmatch(text)), text


def test_rules_that_call_each_other_are_searched_fewer_times_than_there_are_rules() -> None:
    def graphs(count: int) -> dict[str, Graph]:
        return {
            f"r{n}": Graph(moves=[(0, f"r{(7 * n + 1) % count}", 1), (0, f"r{(13 * n + 5) % count}", 1)])
            for n in range(count)
        }

    few, many = (counted(lambda count=count: kept_rules(graphs(count), ["r0"])) for count in (200, 800))  # type: ignore[misc]
    assert many < 7 * few  # the square of 4 is 16
    kept = kept_rules(graphs(800), ["r0"])
    calls = {name: {*called_rules(graph)} - kept for name, graph in graphs(800).items() if name not in kept}
    assert len(components(calls)) == len(calls)  # without the kept rules there is no cycle
    assert all(name not in callees for name, callees in calls.items())


def test_levels_of_operators_are_one_rule() -> None:
    operators = [f'OP{n}: "{chr(65 + n)}"' for n in range(12)]
    levels = [f"e{n}: e{n + 1} | e{n} OP{n} e{n + 1}" for n in range(12)]
    text = "\n".join(["start: e0", *levels, 'e12: "x" | "(" e0 ")"', *operators])
    rules = GrammarSource(text, options=LarkOptions(parser="lalr")).rules.rules
    assert len(rules) <= 3


def test_what_follows_the_first_token_of_a_rule_is_made_once() -> None:
    """A name behind `@1` cannot begin with 1, which would lengthen that token; what follows the name is the same."""
    rest = '\nlist: NAME "[" list ("," list)* "]" "{" NAME ":" list "}" | NAME "(" list ";" list ")" | NAME\n'

    def moves(contexts: int) -> int:
        start = "start: " + " | ".join(f"/@{n}+/ list" for n in range(contexts))
        text = start + rest + "NAME: /[a-z0-9]+/\n"
        rules = GrammarSource(text, options=LarkOptions(parser="lalr")).rules.rules
        return sum(len(rule.moves) for rule in rules.values() if isinstance(rule, Network))

    assert moves(8) - moves(2) <= 6 * 20


def test_what_alternatives_have_in_common_is_read_once() -> None:
    letters = " | ".join(f'"{letter}"' for letter in "abcdefghij")
    ends = " | ".join(f'x "{number}"' for number in range(10))
    source = GrammarSource(f"start: {ends}\nx: {letters}")
    (node,) = source.rules.rules.values()
    assert isinstance(node, Network)
    assert len(node.moves) < 30
