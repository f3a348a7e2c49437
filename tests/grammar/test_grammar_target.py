"""`structkit.Grammar` as a target."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from lark import Lark, Transformer, Tree
from lark.exceptions import LarkError
from lark.lark import LarkOptions
from lark.visitors import Interpreter
from pydantic import TypeAdapter

import structkit as sk
from structkit.cli import main
from structkit.grammar.syntax.lark_grammar import Lexer
from structkit.targets.targets import read_target
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.grammar.grammar_cases import SUM, accepts


def test_the_value_is_the_text() -> None:
    assert sk.extract(ScriptedModel(["1 + 2"]), "One plus two", sk.Grammar(SUM)) == "1 + 2"


def test_the_value_can_be_a_tree() -> None:
    tree = sk.extract(ScriptedModel(["1 + 2"]), "One plus two", sk.Grammar(SUM, value="tree"))
    assert isinstance(tree, Tree)
    assert [str(token) for token in tree.children] == ["1", "2"]


@pytest.mark.parametrize(
    ("grammar", "text"),
    [('?start: A | A "+" A\nA: "a"', "a"), ('?start: [A]\nA: "a"', ""), ('?start: A | hole\nA: "a"', "a")],
)
def test_the_tree_of_a_start_that_is_left_out_is_what_lark_returns(grammar: str, text: str) -> None:
    target = sk.Grammar(grammar, value="tree", holes={"hole": int} if "hole" in grammar else {})
    assert sk.extract(ScriptedModel([text]), "x", target) == Lark(f'{grammar}\nhole: "1"').parse(text)


@pytest.mark.parametrize(
    "option",
    [
        {"parser": "lalr"},
        {"lexer": "basic"},
        {"import_paths": ["."]},
        {"priority": None},
        {"maybe_placeholders": False},
        {"g_regex_flags": re.IGNORECASE},
        {"strict": True},
    ],
)
@pytest.mark.parametrize("syntax", ["gbnf", "kbnf"])
def test_an_argument_of_lark_needs_its_syntax(option: dict[str, Any], syntax: Any) -> None:
    (name,) = option
    with pytest.raises(ValueError, match=f"only a Lark grammar has the argument {name}"):
        sk.Grammar('root ::= "a"', syntax=syntax, **option)
    assert (
        sk.Grammar('root ::= "a";'[: 12 + (syntax == "kbnf")], "root", syntax=syntax).options.start == "root"
    )


def test_each_other_argument_of_lark_is_refused_with_a_reason() -> None:
    known = inspect.signature(sk.Grammar).parameters
    others = [name for name in LarkOptions._defaults if name not in known and not name.startswith("_")]
    assert {"regex", "use_bytes", "ambiguity"} <= set(others)
    for name in others:
        options: Any = {name: True}
        with pytest.raises(TypeError, match=f"no argument '{name}'; leave it out"):
            sk.Grammar('start: "a"', **options)


class Adder(Transformer):  # type: ignore[type-arg]
    def start(self, numbers: list[str]) -> int:
        total = sum(map(int, numbers))
        if total > 100:
            raise ValueError("too large")
        return total


def test_a_transformer_gives_the_value() -> None:
    sums = sk.Grammar(SUM, transformer=Adder())
    assert sk.extract(ScriptedModel(["1 + 2"]), "One plus two", sums) == 3
    with pytest.raises(sk.OutputValidationError, match="too large"):
        sk.extract(ScriptedModel([f"99 + {n}" for n in range(2, 9)], strict=False), "One plus two", sums)


def test_a_bug_in_a_transformer_is_raised() -> None:
    class Broken(Transformer):  # type: ignore[type-arg]
        def start(self, numbers: list[str]) -> int:
            return len(self.missing)

    with pytest.raises(AttributeError, match="missing"):
        sk.extract(ScriptedModel(["1"]), "One", sk.Grammar(SUM, transformer=Broken()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"holes": {"start": "Person"}},
            "at `holes\\['start'\\]`:\n  invalid target 'Person'\n  pass the class Person",
        ),
        ({"transformer": Transformer}, "the transformer is a class; pass an object of it"),
        ({"transformer": len}, "the transformer must be a lark.Transformer, not <built-in function len>"),
        ({"holes": [int]}, "holes must be a dict of rules and their types, not "),
        (
            {"transformer": Interpreter()},
            "the transformer must be a lark.Transformer, not <lark.visitors.Interp",
        ),
        ({"holes": {"_person": int}}, "trees have no rules that begin with `_`; rename the hole '_person'"),
        ({"holes": {"Person": int}}, "the name of a hole is that of a rule, in lower case, not 'Person'"),
        ({"start": ["a", "b"]}, "start must be the name of one rule, or None"),
        ({"g_regex_flags": "i"}, "g_regex_flags must be flags of re, such as re.IGNORECASE, not 'i'"),
        (
            {"keep_all_tokens": True},
            "'keep_all_tokens'; leave it out: it is not of the language",
        ),
        ({"text": Lark('start: "a"')}, "not Lark; pass its source_grammar"),
        ({"text": b"start: A"}, "not bytes; pass the text or a Path"),
    ],
    ids=lambda given: given if isinstance(given, str) else "".join(given),  # no object, which has an address
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((sk.SchemaError, TypeError, ValueError), match=message):
        sk.Grammar(**{"text": "%ignore / /", **arguments})


def test_a_lark_object_is_no_target() -> None:
    with pytest.raises(sk.SchemaError, match="write structkit"):
        read_target(Lark('start: "a"'))


def test_limits_and_encodings(tmp_path: Path) -> None:
    with pytest.raises(sk.LimitExceeded, match="grammar_length=10"):
        sk.Grammar(SUM, limits=sk.Limits(grammar_length=10))
    long = SUM + "// " + "x" * 70_000
    assert accepts(sk.Grammar(long, limits=sk.Limits(grammar_length=100_000)), "1+2")
    (tmp_path / "latin.lark").write_bytes(b'start: "a"\n// caf\xe9')
    with pytest.raises(sk.GrammarError, match="not UTF-8") as caught:
        sk.Grammar(tmp_path / "latin.lark")
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_a_budget_ends_the_text() -> None:
    for seed in range(20):
        result = sk.generate(RandomModel(seed=seed), "x", sk.Grammar(SUM), max_tokens=7)
        assert Lark(SUM, parser="earley").parse(result.text)


def test_the_disk_cache_stores_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numbers.lark").write_text("NUMBER: /[0-9]+/\n")
    text = '%import .numbers (NUMBER)\nstart: NUMBER ("+" NUMBER)*\n'
    grammar = sk.Grammar(text, import_paths=[tmp_path])
    first = sk.compile(grammar, byte_vocabulary(), precompute=True)
    first.save()
    assert accepts(grammar, "1+2")
    again = sk.compile(sk.Grammar(text, import_paths=[tmp_path]), byte_vocabulary()).cursor()
    out = np.zeros(first.vocabulary.mask_words, np.uint32)
    again.fill_mask(out)
    assert out[ord("1") // 32] >> ord("1") % 32 & 1
    (tmp_path / "numbers.lark").write_text("NUMBER: /[a-z]+/\n")  # an imported file is part of the grammar
    assert accepts(sk.Grammar(text, import_paths=[tmp_path]), "a+b")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "yes.lark"
    path.write_text('start: "yes" "!"\n')
    assert main(["extract", "Yes?", "--grammar", str(path)]) == 0
    assert capsys.readouterr().out.strip() == "yes!"
    assert main(["extract", "Yes?", "--grammar", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == "yes!"
    assert main(["extract", "Yes?", "--grammar", str(path), "--start", "nothing"]) != 0
    assert main(["extract", "Yes?", "--grammar", str(tmp_path / "absent.lark")]) != 0


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("start: foo", 1, 8, "'foo' used but not defined"),
        (
            "%import common.NOPE\nstart: NOPE",
            1,
            16,
            "(?s)the grammar common does not define what is imported",
        ),
        ("start: X\n%import common.NUMER -> X", 1, 8, "(?s)does not define what is imported.*import NUMBER"),
        (
            "%import common.NOPE -> X\nstart: X",
            1,
            24,
            "(?s)the grammar common does not define what is imported",
        ),
        ("%import common (INT, NOPE)\nstart: INT NOPE", 1, 22, "(?s)the grammar common does not define what"),
        (
            "%import common.INT -> NUMBER\nstart: INT NUMBER",
            1,
            16,
            "(?s)'INT' used but not defined.*import it: `%import common.INT`",
        ),
        ('start: "a"\nfoo: (', 2, 7, "Expecting a value"),
        ('start: aB\naB: "a"', 2, 1, "(?s)aB mixes cases.*upper case"),
        ('Start: "a"', 1, 1, "(?s)Start mixes cases"),
        ('start: "a")', 1, 11, "(?s)Unexpected `\\)`.*remove it"),
        ('start = "a"', 1, 7, "(?s)Unexpected input.*`name: ...`"),
        ('start: "a" ;', 1, 12, "remove the `;`"),
        ('start: <b>\nb: "b"', 1, 8, "without `<` and `>`"),
        ("start <- a / b", 1, 7, "(?s)Unexpected input.*`name: ...`"),
        ('start "a"', 1, 7, "(?s)missing colon.*`name: ...`"),
        ("start: NAME", 1, 8, "(?s)write CNAME, and import it: `%import common.CNAME`"),
        ("start: NAME\n%import common.CNAME", 1, 8, "(?s)write CNAME$"),
        ('start: "a" _DEDENT', 1, 12, "(?s)declare it for the postlex: `%declare _DEDENT`"),
        ("start: 'a'", 1, 8, "double quotation marks"),
        ("start: [a-z]+", 1, 10, "as a pattern"),
        ("start: a-b", 1, 9, "`_` in place of `-`"),
        ("// foo bar\nstart: bar", 2, 8, "'bar' used but not defined"),
        ('start: A\nA: ""', 2, 4, "(?s)Empty terminals are .*leave it out"),
        ("start: A\nA: /a*/", 2, 1, "the terminal A matches the empty text"),
        ('start: n A\nn: "n"\nA: /(b|\\n)*/i', 3, 1, "the terminal A matches the empty text"),
        ('start: /b+/ ("-" /[^-\\n]*/ "-")?', 1, 18, "this pattern matches the empty text"),
        (r"start: A" "\n" r"A: /(a+)\1/", 2, 1, "back-reference"),
        (r'start: "b" x' "\n" r"x: /<<(?P<n>a+)\n(?P=n)/", 2, 4, r"pattern /<<.*back-reference"),
        ('start: "a" start', 1, 1, "no text ends"),
        ("%import .x (y)\nstart: y", 1, 1, "x.lark is not found"),
        ('s: "a"', 1, 1, "start"),
        ('start: "a"\nstart: "b"', 2, 1, "(?s)more than once.*join its definitions"),
        ('start: A\nA: b\nb: "x"', 2, 1, "(?s)the terminal A contains the rule b.*write b as a terminal"),
        ('start: x\nx: "b"\n%ignore x', 3, 1, "(?s)%ignore takes terminals, and x is a rule.*write"),
        ('start: A\nA: A "b" | "c"', 2, 1, "(?s)Recursion in terminal 'A'.*write it as a rule"),
        ('start: _x\n_x: "a" -> q', 2, 1, "(?s)the rule _x has an alias, .*remove the alias or the `_`"),
        ('start: "a" -> B', 1, 15, "(?s)lowercase name.*write the alias in lower case"),
        ('t{x, y}: x y\nstart: t{"a"}', 1, 1, "(?s)Wrong number of .* got 1.*pass one for each parameter"),
        ('start: "a"\n  | "b"~2..1', 2, 8, r"(?s)the count ~2..1 is empty.*write the smaller one first"),
        ('start: "a"\n  | "b".."ef"', 2, 8, '(?s)two characters in order.*write it as in `"a".."z"`'),
        ('start: "a"\n%override x: "b"', 2, 11, "(?s)nonexisting rule x.*define it without"),
        ('start: "a"\n%extend x: "b"', 2, 9, "(?s)Can't extend rule x .*define it before"),
        ("start: /[/", 1, 9, "unterminated"),
        ('start: t{"a"}\nt{x}: x | t{u{x}}\nu{y}: y y\n', 2, 1, "larger arguments"),
        ('\N{BYTE ORDER MARK}start: "a"', 1, 1, "(?s)byte order mark.*utf-8-sig"),
        (f"start: {'(' * 3000}", 1, 3008, "Expecting a value"),
        ("", 1, 1, "start"),
    ],
)
def test_errors_have_a_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(sk.GrammarError, match=message) as caught:
        sk.Grammar(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_slips_in_arguments() -> None:
    with pytest.raises(
        sk.GrammarError, match=r"(?s)a terminal cannot be the start; write start: A, and leave out start='A'"
    ):
        sk.Grammar('A: "a"', start="A")
    with pytest.raises(TypeError, match=r"a list of folders; write \['grammars'\]"):
        sk.Grammar("start: A\n%import x.A", import_paths="grammars")
    with pytest.raises(ValueError, match="in lower case, not 'N'; write another one"):
        sk.Grammar('start: "a" N', holes={"N": int})


@pytest.mark.parametrize(
    ("text", "options", "place", "message"),
    [
        (
            'start: A " " B\nA: /[a-z]/\nB: /[b-z]/',
            {"parser": "lalr", "lexer": "basic"},
            (3, 1),
            "B: .*priority",
        ),
        (
            'start: N " > " N (TEXT "\\n")+\nN: /[0-9]/\nTEXT: /[^0-9\\n].*/',
            {"lexer": "basic"},
            (1, 10),
            '" > ": the lexer reads .* as TEXT .*priority',
        ),
        (
            'start: N " > " N\nN: /[0-9]/\nREST: /[^0-9\\n].*/\n%ignore REST',
            {"lexer": "basic"},
            (1, 10),
            '" > ": the lexer ignores .*priority',
        ),
        ('start: "a" b "c"\nb: x*\nx: "a" | "c"', {"parser": "lalr"}, (2, 1), "conflict b: .*'ac'"),
        ('start: A "a"\nA: /a+/', {}, (1, 1), "leaves characters"),
    ],
)
def test_what_a_grammar_without_texts_loses(
    text: str, options: dict[str, Any], place: tuple[int, int], message: str
) -> None:
    with pytest.raises(sk.GrammarError, match=f"(?s)no text is in the language.*{message}") as caught:
        sk.Grammar(text, **options)
    assert (caught.value.line, caught.value.column) == place


def test_a_tab_is_shown_as_a_blank() -> None:
    with pytest.raises(sk.GrammarError, match=r"\n  start : \"a\" x\n              \^\n"):
        sk.Grammar('start\t:\t"a" x')


@pytest.mark.parametrize("parser", ["earley", "lalr"])
def test_a_pattern_that_re_rejects_has_a_place_and_a_remedy(parser: Literal["earley", "lalr"]) -> None:
    for pattern, column, message in [
        (r"/[a-z]\p{Lu}+/", 10, r"no \\p\b.*write the characters"),
        ("/ x{3,1} /x", 8, "min repeat greater than max repeat"),
    ]:
        with pytest.raises(sk.GrammarError, match=f"(?s){message}") as caught:
            sk.Grammar(f'start: "x" A\nA: {pattern}', parser=parser)
        assert (caught.value.line, caught.value.column) == (2, column)


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_a_terminal_that_matches_the_empty_text_has_a_place(lexer: Lexer) -> None:
    for terminal, place in [("A\nA: /(b|\\n)*/", 3), ("/(b|\\n)*/", 2)]:
        with pytest.raises(sk.GrammarError, match="matches the empty text") as caught:
            sk.Grammar(f'start: "n" n\nn: "n" {terminal}', parser="lalr", lexer=lexer)
        assert caught.value.line == place


@pytest.mark.parametrize(
    "options",
    [{"lexer": "contextual"}, {"parser": "lalr", "lexer": "dynamic"}, {"parser": "cyk"}, {"lexer": "x"}],
)
def test_lexers_that_a_parser_does_not_have(options: dict[str, Any]) -> None:
    with pytest.raises(sk.GrammarError, match=r"is not supported|has no lexer"):
        sk.Grammar(SUM, **options)


def test_it_is_a_value() -> None:
    grammar = sk.Grammar(SUM)
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar == sk.Grammar(SUM)
    assert accepts(again, "1+2")
    schema = TypeAdapter(Annotated[str, grammar]).json_schema()
    assert json.loads(json.dumps(schema)) == schema


def test_explain_names_what_is_unused() -> None:
    (row,) = sk.explain(sk.Grammar('start: "a"\nb: "b"\nC: "c"')).rows
    assert row.reason == "never used: b, C"


def test_check_asks_lark() -> None:
    assert sk.check(sk.Grammar(SUM), n=30).ok


@pytest.mark.parametrize("name", ["stream", "extract_many", "aextract", "agent", "drafts"])
def test_it_is_used_like_a_type(name: str) -> None:
    grammar = sk.Grammar(SUM)
    if name == "stream":
        assert [*sk.stream(ScriptedModel(["1+2"]), "x", grammar)][-1].result.value == "1+2"  # type: ignore[union-attr]
    elif name == "extract_many":
        assert sk.extract_many(ScriptedModel(["1+2", "3"]), ["x", "y"], grammar) == ["1+2", "3"]
    elif name == "aextract":
        assert asyncio.run(sk.aextract(ScriptedModel(["1+2"]), "x", grammar)) == "1+2"
    elif name == "agent":
        assert sk.Agent(ScriptedModel(["1+2"]), output_type=grammar).run("x").value == "1+2"
    else:
        fixed = sk.Grammar('start: "the quick brown fox " NAME " jumps"\nNAME: /[a-z]{2,5}/')
        assert sk.generate(RandomModel(seed=1), "x", fixed).usage.forced_tokens > 0


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.lark"
    path.write_text("start: foo\n")
    with pytest.raises(sk.GrammarError) as caught:
        sk.Grammar(path)
    assert caught.value.place == str(path)
    with pytest.raises(FileNotFoundError):
        sk.Grammar(tmp_path / "absent.lark")


@pytest.mark.parametrize(
    "text",
    [
        'start: ("a"|"b")~20',
        'start: ["x" | ("a"|"b"?|"c")~1..9]',
        "start: " + '"a"? "b"? "c"? ' * 10,
        'start: (("a"~0..49)~0..49)~0..49',
        'start: "a"~1..100000',
        'start: A\nA: "a"~1..100000',
        'start: A\nA: ("a" | "b")~1..100000',
    ],
)
def test_large_counts_are_small(text: str) -> None:
    guide = sk.compile(sk.Grammar(text), byte_vocabulary(), cache=False)
    assert len(guide.automaton.rule_of) < 20_000


@pytest.mark.long(every=2)
@pytest.mark.parametrize(
    ("rule", "texts"),
    [
        ('start: [A (A|B)~9 "c"] "e"', ["e", "abababababce"]),
        ('!start: [A (A|B)~9 "c"] "e"', ["e", "abababababce"]),
        ('start: [A (A|B)~9 "c" [A "d" /x/] (B|_D x)] "e"', ["e", "ababababaacbe", "ababababaacadxbe"]),
        ('start: ["x" ((A|B)~9 | ("c"|A)~3) /y/ "a".."b" (A|B)~50 _y* x?] "e"', ["e"]),
    ],
)
def test_an_absent_part_with_many_productions_has_the_children_of_lark(rule: str, texts: list[str]) -> None:
    text = f'{rule}\nA: "a"\nB: "b"\n_D: "d"\nx: A | B\n_y: "z"'
    lark, grammar = Lark(text), sk.Grammar(text, value="tree")
    for each in texts:
        assert sk.extract(ScriptedModel([each]), "?", grammar) == lark.parse(each)


@pytest.mark.parametrize(
    ("grammar", "line"),
    [
        ('start: stmt+\nstmt: "a" list\nlist: "x"\n | "y" stmt', None),
        ('start: stmt+\nstmt: "a" _list\n_list: (item "x")+\nitem: "(" item ")"', 4),
        ('start: "a" | _list{start} | x\nx: _list{x}\n_list{y}: y y', None),
        ('start: "a" _list{start} | x\nx: "b" x\n_list{y}: (y y)+', 1),
    ],
)
@pytest.mark.parametrize("parser", ["earley", "lalr"])
def test_the_rule_that_needs_itself_is_named(grammar: str, line: int | None, parser: Any) -> None:
    if line is None:
        assert sk.Grammar(grammar, parser="earley")
    else:
        with pytest.raises(sk.GrammarError, match="needs itself") as caught:
            sk.Grammar(grammar, parser=parser)
        assert caught.value.line == line


@pytest.mark.parametrize(
    ("rule", "alternative"),
    [
        ("A | [A] A?", "A"),
        ('A [(A | B)~9] [[(A | B)~9] "e"]', "A A A A A A A A A A 'e'"),
        ('"a"? ([y y? "a"? | "b" "a" y] "b"? y)~0..3 A -> x | B', "y y A"),
        ('(A | B)~9 | "c" | (A | B)~9 "d"? -> x', "A A A A A A A A A"),
        ("(A | B)~9 [A]~50", "A"),
        ("(A | B)~9 ([B] [B] y)+", "B y"),
    ],
)
def test_alternatives_that_differ_only_in_trees_are_refused(rule: str, alternative: str) -> None:
    """Lark says that rules are defined twice; here also where it would write out too many of them."""
    with pytest.raises(sk.GrammarError, match="with other parts absent") as caught:
        sk.Grammar(f'A: "a"\nstart: {rule}\ny: "y" | start\nB: "b"')
    assert (caught.value.line, caught.value.column) == (2, 1)
    assert f"the rule `start` has the alternative `{alternative}`" in str(caught.value)
    unlike = re.sub(r"\[(\w)\]", r"\1", rule).replace("[", "(").replace("]", ")").split("->")[0]
    assert sk.Grammar(f'A: "a"\nstart: {unlike}\ny: "y" | start\nB: "b"')


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete", "basic"])
def test_a_terminal_without_a_text_leaves_no_text(lexer: Any) -> None:
    with pytest.raises(sk.GrammarError, match="no text is in the language"):
        sk.Grammar('start: "x" A\nA: /[ab]+\\bb/', lexer=lexer)
    guide = sk.compile(sk.Grammar('start: "x" A | "y"\nA: /[ab]+\\bb/', lexer=lexer), byte_vocabulary())
    assert guide.cursor().forced_bytes() == b"y"


def test_large_grammars_are_refused() -> None:
    with pytest.raises(sk.LimitExceeded, match="grammar_length"):
        sk.Grammar("".join(f'r{number}: "a"\n' for number in range(100_000)))
    with pytest.raises(sk.LimitExceeded):
        sk.Grammar("start: /(a|b)*a(a|b){20}/")


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@pytest.mark.parametrize(
    ("grammar", "texts"),
    [
        ('start: A "a"\nA: /a+/', ["a", "aa", "aaa"]),
        ("start: A B\nA: /a+/\nB: /ab/", ["aab", "ab", "aaab"]),
        ("start: A\nA: /a|ab/", ["a", "ab"]),
        ('start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "', ["ifx", "if if", "if", " if x "]),
        ('start: n "-" n\nn: SIGNED_INT\n%import common.SIGNED_INT', ["1-2", "1--2", "1-"]),
        ('start: "a" " b"\n%ignore / +/', ["a b", "a  b", "ab"]),
        ("start: A /b+/\nA: /ab*(?!b)/", ["ab", "abb", "a"]),
        ('start: A "b"\nA: /a(?=b)/', ["ab", "a"]),
        ('start: "a" B\nB: /(?<=a)b/', ["ab"]),
        ('start: "x" B\nB: /(?<!a)b/', ["xb"]),
        ('start: A " "? B\nA: /\\w+\\b/\nB: /\\w+/', ["a b", "ab"]),
        ("start: C? A\nA: /(?<=a)b|d/\nC: /\\w+\\b/", ["d", "ab", "cd", "aab"]),
        ('start: "a" | ', ["", "a"]),
        ('start:\n%ignore " "', ["", " ", "  "]),
    ],
)
def test_the_language_is_that_of_lark(grammar: str, texts: list[str], lexer: str) -> None:
    lark = Lark(grammar, parser="earley", lexer=lexer)
    for text in texts:
        try:
            lark.parse(text)
            expected = True
        except LarkError:
            expected = False
        except RuntimeError:  # lark-parser/lark#1576: the text is in the language
            expected = True
        try:
            found = accepts(sk.Grammar(grammar, lexer=lexer), text)  # type: ignore[arg-type]
        except sk.GrammarError:  # no text is in the language
            found = False
        assert found == expected, (text, expected)


def test_arguments_of_templates_that_double_are_refused() -> None:
    def doubled(levels: int) -> str:
        steps = "".join(f"t{n}{{x}}: t{n + 1}{{pair{{x,x}}}}\n" for n in range(1, levels))
        return f'start: t1{{"a"}}\npair{{x,y}}: x y\n{steps}t{levels}{{x}}: x\n'

    assert accepts(sk.Grammar(doubled(3)), "aaaa")
    with pytest.raises(sk.LimitExceeded, match="template pair"):
        sk.Grammar(doubled(40))


def test_a_parser_is_built_when_a_value_is_read() -> None:
    """Lark takes seconds for the parser of many rules that begin with each other."""
    rules = "".join(f'r{n}: r{(n + 1) % 90} "a" | r{(n * 7 + 3) % 90} "b" | "c"\n' for n in range(90))
    grammar = sk.Grammar(f"start: r0\n{rules}")
    assert accepts(grammar, "caab")
    assert not hasattr(grammar.source.lark.lark.parser, "parse")


def test_tokens_that_continue_each_other_at_every_end_of_a_rule() -> None:
    """Each rule can end behind each byte of a token: more places than there are trie nodes."""
    levels = "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(5))
    tokens = [b"x" * length for length in range(1, 41)]
    vocabulary = sk.Vocabulary(tokens=[*tokens, b""], eos_token_ids={len(tokens)})
    cursor = sk.compile(sk.Grammar(f'start: r0\n{levels}r5: "x"?'), vocabulary, cache=False).cursor()
    mask = np.zeros(2, np.uint32)
    for written in range(0, 32, 3):
        cursor.fill_mask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        assert allowed.tolist() == [*range(32 - written), len(tokens)]
        cursor.advance(2 if written < 30 else 1)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('start: A\nA: ""', "write ? behind what is optional"),
        ('start: "a"**', "an inner repetition in parentheses"),
        ("%import common.NUMBR\nstart: NUMBR", "write NUMBER"),
        ('%ignore WS\nstart: "a"', "`%import common.WS`"),
    ],
)
def test_an_error_of_lark_has_a_remedy(text: str, remedy: str) -> None:
    with pytest.raises(sk.GrammarError) as caught:
        sk.Grammar(text)
    assert remedy in (caught.value.remedy or "")
