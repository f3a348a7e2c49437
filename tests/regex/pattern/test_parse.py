"""User patterns compared with Python's `re`, and errors of patterns that are not regular."""

from __future__ import annotations

import re
import unicodedata
from contextlib import nullcontext, suppress
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.errors import LimitExceeded, PatternError
from structkit.regex.nodes import LiteralText, Repeat
from structkit.regex.pattern.parse import parse
from tests.regex.oracle import holds

atoms = st.sampled_from(
    ["a", "b", "ab", ".", r"\.", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[ab]", "[^a]", r"[^\d]", r"[a-c\-]", "[]a]",
     "[^]a]", r"[\w-]", r"\x61", r"\u00e9", r"\n", "é", "[à-ü]", "(?i:A)", "(?i:É)", "(?s:.)", "-", "{", "^", "$", ""]
)  # fmt: skip
quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,1}?", "{,2}", "*?", "+?", "??", "{1,}"])
opening = st.sampled_from(["(", "(?:", "(?P<{}>"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds(lambda pattern, start: f"{start}{pattern})", inner, opening)
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        group,
        st.builds(lambda pattern, quantifier: f"(?:{pattern}){quantifier}", inner, quantifiers),
    )


patterns = st.recursive(atoms, larger, max_leaves=6)
texts = st.text("ab.-é1 \n{", max_size=6)


def numbered(pattern: str) -> str:
    """Give each named group its own name."""
    parts = pattern.split("{}")
    return parts[0] + "".join(f"g{index}{part}" for index, part in enumerate(parts[1:]))


def python(pattern: str) -> str:
    """Translate `$` for `re`, where it also matches before a final line break."""
    return re.sub(
        r"(\\.|\[\^?\]?(?:\\.|[^\]])*\])|\$", lambda found: found[1] or r"\Z", pattern, flags=re.DOTALL
    )


@given(patterns.map(numbered), texts)
@example("(^|a)*b", "ab")
@example("(?:a|$)(?:^|b)", "a")
@example("(?:^a?$)*", "")
def test_patterns_match_like_re(pattern: str, text: str) -> None:
    oracle = re.compile(python(pattern))
    assert holds(parse(pattern, search=False, unicode=True), text) == bool(oracle.fullmatch(text))
    assert holds(parse(pattern, search=True, unicode=True), text) == bool(oracle.search(text))


FRAGMENTS = [
    *r"a b é . \d \w \p{L} \Z \z \A [ ] ^ $ ( ) ) ) (?: (?i) (?i: (?s-i: (?) (?-i) (?P<n> (?<n> (?= (?! (?<=".split(),
    *r"(?<! | * + ? { } {2} {,3} {1,} {2,1} - \ \b \x41 \u0041 \u{41} \1 \07 \q # (?# : [a-c] [] [^ && -- [[".split(),
    *r", \- \_ \cJ \0 \400 (?a) (?u: (?L) (?x) (?> ++ \N{DASH} \N{COMMA} \N{ \N (?x: (?-x: (?xi) (?m)".split(),
    *(" ", "#", r"\ ", r"\#", "\n", "[ ]", "[#]", "{ 2}"),
]

NOT_REGULAR = re.compile(r"\\[1-9bB]|\(\?[a-zA-Z]*[Lmt]|\(\?(?:P=|\(|>|<?[=!])|[*+?}]\+")
"""What `re` accepts and `Regex` may refuse: back-references, some lookaround, flags, atomic parts with loops."""


@pytest.mark.filterwarnings("ignore:Possible")
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join), texts)
@example("(?)", "")
@example("a(?i)b", "ab")
@example(r"\p{L}", "a")
@example("(?<=a|bc)d", "d")
def test_patterns_that_re_rejects_are_rejected_and_no_others(pattern: str, text: str) -> None:
    try:
        re.compile(pattern)
    except re.error:
        with pytest.raises(PatternError):
            parse(pattern, search=False, unicode=True)
        return
    try:
        node = parse(pattern, search=False, unicode=True)
    except PatternError:
        assert NOT_REGULAR.search(pattern)
        return
    assert holds(node, text) == bool(re.fullmatch(python(pattern), text))


@pytest.mark.parametrize("pattern", ["(?)", "a(?)b", "(?", "(?i", "(?-)", "(?P<>a)", "a)("])
def test_no_dialect_accepts_what_no_engine_does(pattern: str) -> None:
    for options in ({"unicode": False}, {"unicode": True}, {"unicode": True, "rust": True}):
        with pytest.raises(PatternError):
            parse(pattern, search=True, **options)


@pytest.mark.parametrize(
    "pattern", [r"^\p{L}+$", r"^(?<n>a)$", r"[\d-z]", r"\u{41}", "(?i)a", r"(?P<n>a)\Z", "(?<=a|bc)$"]
)
def test_patterns_of_schemas_are_those_of_ecma_262_and_what_others_add(pattern: str) -> None:
    assert parse(pattern, search=True, unicode=False)


looks = st.builds(lambda kind, pattern: f"(?{kind}{pattern})", st.sampled_from("=!"), patterns)


@given(
    patterns.map(numbered),
    looks.map(numbered),
    patterns.map(numbered),
    st.sampled_from(["{}", "(?:{}|b)", "(?:{})?", "^{}"]),
    texts,
)
def test_lookaheads_outside_repetitions_match_like_re(
    before: str, look: str, after: str, around: str, text: str
) -> None:
    pattern = re.sub("P<g([0-9]+)>", ":", before + around.format(look + after) + after)
    oracle = re.compile(python(pattern))
    assert holds(parse(pattern, search=False, unicode=True), text) == bool(oracle.fullmatch(text))
    assert holds(parse(pattern, search=True, unicode=True), text) == bool(oracle.search(text))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"^(?=.*\d)(?=.*[a-z]).{4,6}$", "abc1 abcd12".split(), "abcd 1234 a1 abcdef1".split()),
        (r"^((?!ab).)*$", ["", "ba", "aaa"], ["ab", "cabc"]),
        (r"^(?:(?!ab)[a-z]){2,}$", ["ba", "aaa"], ["", "b", "cabc"]),
        (r"(?<!a)$", ["", "b"], ["a", "ba"]),
        (r"(?<=ab)\Z", ["ab", "cab"], ["", "ba"]),
        (r"^(?!(?:con|nul)$)[a-z]+$", ["cons", "x"], ["con", "nul", ""]),
        (r"^\p{Lu}\P{L}$", ["É1", "A-"], ["é1", "AA"]),
        (r"^\p{Script_Extensions}?x$|\A\pN\z", [], []),
        (r"^[\u{1F600}-\u{1F64F}]$", ["😀"], ["a"]),
        (r"^\ud83d\ude00$", ["😀"], [""]),
        (r"^[\ud83d\ude00]$", ["😀"], [""]),
        (r"^\cJ\0$", ["\n\0"], ["J"]),
        (r"^a(?#one)b$", ["ab"], ["a"]),
        (r"(?i)^straße$", ["STRAßE", "straẞe"], ["strasse"]),
        ("(?-i:a)(?i)b", ["aB", "ab"], ["Ab"]),
        (r"(?a)^\w$", ["a"], ["é"]),
        (r"(?:^|a){2}", ["a", "aa", "ab"], []),
        (r"(?<=b)^c|^a$", ["a"], ["cb", "c"]),
        (r"(?<!b)a?^c", ["c", "cb"], ["b"]),
        (r"^(?:a(?<=b))?$|^c$", ["", "c"], ["a"]),
        (r"(?:(?!ab)[a-z])*^ab", ["ab", "abc"], ["ba"]),
        (r"^(?:^|a){3}$", ["a", "aa", ""], ["aaaa", "b"]),
        (r"^(?:$|a){3}$", ["a", "aa", "aaa"], ["aaaa", "b"]),
    ],
)  # fmt: skip
def test_selected_patterns_match_the_expected_texts(pattern: str, yes: list[str], no: list[str]) -> None:
    if not yes:
        with pytest.raises(PatternError, match="general categories"):
            parse(pattern, search=True, unicode=True)
        return
    nodes = [parse(pattern, search=True, unicode=True, rust=True)]
    with suppress(re.error):
        re.compile(pattern)
        nodes.append(parse(pattern, search=True, unicode=True))
    for node in nodes:
        assert [text for text in yes if not holds(node, text)] == []
        assert [text for text in no if holds(node, text)] == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"^\d$", "1", "٣"),
        (r"^\w$", "a", "é"),
        (r"^\s$", "\ufeff", "\x1c"),
        (r"^.$", "\x85", "\r"),
        (r"^(?=.$)[^]$", "\x85", "\u2028"),
        (r"^.(?!a)[^]?$", "\x85", "\u2029"),
        (r"^(?s:.)$", "\r", ""),
        (r"^[^]$", "]", ""),
        (r"^[]$|a", "a", "]"),
        (r"^a{,2}$", "a{,2}", "aa"),
        (r"^[\w-.]$", "-", "/"),
        (r"^\/\-\_$", "/-_", "/"),
    ],
)
def test_classes_and_escapes_follow_ecma_262(pattern: str, yes: str, no: str) -> None:
    node = parse(pattern, search=True, unicode=False)
    assert holds(node, yes)
    assert not holds(node, no)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"^\d$", "1", "٣"),
        (r"^\D$", "x", "٣"),
        (r"^\w$", "éß語_9", "²\u0301‿"),
        (r"^[^\w]$", "- \n", "é\u0301²\u200d"),
        (r"^\s$", " \n\u2003\x85", "\x1c"),
        (r"^\S$", "aé-", "\x1c\x85 "),
        (r"^[^\S]$", " \n", "\x1c"),
    ],
)
def test_classes_contain_what_rust_and_python_agree_on(pattern: str, yes: str, no: str) -> None:
    node = parse(pattern, search=True, unicode=True, rust=True)
    assert [character for character in yes if not holds(node, character)] == []
    assert [character for character in no if holds(node, character)] == []


@pytest.mark.parametrize("part", ["k", "K", "[i-k]", "[I-K]", "[^k]", "é", r"[\w]"])
def test_the_flag_a_ignores_the_case_of_ascii_letters_only(part: str) -> None:
    node = parse(f"(?ai){part}", search=False, unicode=True)
    oracle = re.compile(f"(?ai){part}")
    for code in (*range(0x250), 0x212A):
        assert holds(node, chr(code)) == bool(oracle.fullmatch(chr(code))), chr(code)


def test_classes_can_be_nested_as_deep_as_the_error_says() -> None:
    def nested(depth: int) -> str:
        return "[a" * depth + "]" * depth

    assert holds(parse(nested(50), search=False, unicode=True, rust=True, engine="rust"), "a")
    with pytest.raises(PatternError, match="more than 50 levels"):
        parse(nested(51), search=False, unicode=True, rust=True, engine="rust")


@pytest.mark.parametrize("letter", "dwsDWS")
@pytest.mark.parametrize("form", [r"\{}", r"(?i)\{}", r"(?i)[k\{}]", r"(?i)[^\{}]"])
def test_classes_match_like_re(letter: str, form: str) -> None:
    """With `(?i)`, too: U+0345 is another case of a letter, and no letter."""
    node = parse(form.format(letter), search=False, unicode=True)
    oracle = re.compile(form.format(letter))
    codes = [
        *range(0x3000),
        *range(0xA000, 0xD800),
        *range(0xF900, 0x12000, 7),
        *range(0x12000, 0x110000, 601),
    ]
    assert [code for code in codes if holds(node, chr(code)) != bool(oracle.fullmatch(chr(code)))] == []


@pytest.mark.parametrize(
    ("pattern", "column", "message"),
    [
        ("x(a", 1, "not closed"),
        ("xa)", 2, "no matching"),
        ("x|*", 2, "nothing to repeat"),
        ("a**", 2, "follow another"),
        ("a^*", 2, "anchor"),
        ("a(?m)b", 1, "flag `m`"),
        ("a(?x)b", 1, "flag `x`"),
        (r"(a+)\1", 4, "back-reference"),
        (r"(?P<n>a+)(?P=n)", 9, "back-reference"),
        (r"(?<n>a)\k<n>", 7, "back-reference"),
        ("a(?>(?:b?)*)", 1, "atomic"),
        ("a(?>^b)", 1, "atomic"),
        ("(?:a?)*+", 7, "possessive"),
        ("(?:a?b?){2,}+", 12, "possessive"),
        ("(a)?(?(1)b)", 4, "conditional"),
        ("a(?=b)*", 6, "lookaround"),
        ("a[z-a]", 2, "greater than its end"),
        ("a[b", 1, "not closed"),
        (r"[\d-z]", 1, "single character"),
        ("a\\", 1, "backslash"),
        ("a{3,2}", 1, "greater"),
        (r"a\p{Greek}", 1, "categories"),
        (r"a\q", 1, "not supported"),
        (r"a\u12", 1, "hexadecimal"),
        (r"\u{110000}", 0, "does not exist"),
        ("a{99999999999}", 1, "too large"),
        ("(" * 60 + ")" * 60, 50, "deep"),
        ("(?#", 0, "comment"),
    ],
)  # fmt: skip
def test_invalid_patterns_are_rejected_with_their_column(pattern: str, column: int, message: str) -> None:
    with pytest.raises(PatternError, match=message) as caught:
        parse(pattern, search=True, unicode=True, path="$.name")
    assert caught.value.column == column
    assert "`$.name`" in str(caught.value)


@pytest.mark.parametrize("pattern", ["a++", "(?>a)", "a{2}+"])
@pytest.mark.parametrize("rust", [False, True])
def test_only_re_has_atomic_parts(pattern: str, rust: bool) -> None:
    """Rust reads `a++` as a repetition of a repetition, and ECMA-262 rejects it."""
    with pytest.raises(PatternError, match="only Python's `re`"):
        parse(pattern, search=True, unicode=rust, rust=rust)


@pytest.mark.parametrize("pattern", ["[[:alpha:]]", "[a&&b]", "[a--b]", "[a[b]]"])
def test_class_operators_of_rust_are_rejected(pattern: str) -> None:
    with pytest.raises(PatternError, match="Rust"):
        parse(pattern, search=True, unicode=True, rust=True)


@pytest.mark.long
def test_adversarial_patterns_are_rejected() -> None:
    with pytest.raises(LimitExceeded, match="pattern_length=10000"):
        parse("a" * 10_001, search=True, unicode=True)
    for pattern in ("(?:a|^|$)*" * 400, "(" * 40 + "a|^|$" + "|b)*" * 40):
        with pytest.raises(PatternError, match="too many anchors"):
            parse(pattern, search=True, unicode=True)
    assert parse("a{1000000}", search=False, unicode=True) == Repeat(LiteralText("a"), 1_000_000, 1_000_000)


def test_patterns_can_have_many_distinct_characters() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 9000)))
    assert parse(text, search=False, unicode=True) == LiteralText(text)
    assert holds(parse(f"[{text}]+", search=False, unicode=True), text)


@pytest.mark.parametrize("half", ["\ud800", r"\ud800", r"\udc80"], ids=ascii)
@pytest.mark.parametrize(("unicode", "rust"), [(False, False), (True, False), (True, True)])
def test_half_of_a_surrogate_pair_is_no_text(half: str, unicode: bool, rust: bool) -> None:
    """The bytes of `\ud800` do not exist, and `\udc80` was read as the byte 80, which is no UTF-8."""
    for pattern in (f"[{half}]|b", f"[{half}b]", f"[{half}-{half}b]", f"{half}x|b"):
        node = parse(pattern, search=False, unicode=unicode, rust=rust)
        assert node == LiteralText("b"), pattern


@pytest.mark.parametrize("anchor", [r"\b", r"\B"])
@pytest.mark.parametrize(
    "last", ["a", "-", "[ab]", "[-+]", "[a-]", r"[\w-]", r"\W", "a?", "(?:a|b)", "(?:a|-)", "(?:ab)*"]
)
def test_a_word_boundary_at_the_end_of_a_lookahead(last: str, anchor: str) -> None:
    """It is known if all texts before it end in a word character, or none does; otherwise the pattern is refused."""
    for before, look in product(("a", "-"), ("=", "!")):
        pattern = f"(?{look}{before}{last}{anchor})[ab+-]*"
        try:
            node = parse(pattern, search=False, unicode=True)
        except PatternError:
            continue
        for text in ("".join(letters) for size in range(5) for letters in product("ab-", repeat=size)):
            assert holds(node, text) == bool(re.fullmatch(pattern, text)), (pattern, text)
    is_known = last in ("a", "-", "[ab]", "[-+]", r"\W", "(?:a|b)")
    with nullcontext() if is_known else pytest.raises(PatternError, match="a word boundary"):
        parse(f"(?!-{last}{anchor})[ab+-]*", search=False, unicode=True)


@pytest.mark.parametrize("look", ["=", "!"])
@pytest.mark.parametrize("inside", ["a$", "^a", "^$", "b|a$", "a?$", "^b|a$", "$|b", "(?:a$)"])
def test_anchors_in_lookaheads(inside: str, look: str) -> None:
    """`$` of a type of Python matches before a final line break, too: nothing is allowed that `re` refuses."""
    pattern = f"(?{look}{inside})[ab\n]*"
    of_schema = parse(pattern, search=False, unicode=True)
    of_type = parse(pattern, search=False, unicode=True, rust=True)
    for text in ("".join(letters) for size in range(4) for letters in product("ab\n", repeat=size)):
        assert holds(of_schema, text) == bool(re.fullmatch(python(pattern), text))
        if text.endswith("\n"):
            assert not holds(of_type, text) or re.fullmatch(pattern, text)
        else:
            assert holds(of_type, text) == bool(re.fullmatch(pattern, text))


@pytest.mark.parametrize(
    ("pattern", "python", "ecma", "shared"),
    [
        (
            r"a\N{COMMA}",
            None,
            r"1: the escape `\\N` is not supported",
            r"1: the escape `\\N` is not supported",
        ),
        (r"a\N", r"1: `\\N` needs the name of a character in braces", "1: the escape", "1: the escape"),
        (r"a\N{NO}", r"1: `\\N` needs the name of a character in braces", "1: the escape", "1: the escape"),
        (r"a\p{", *[r"1: `\\p` needs the name of a category in braces"] * 3),
        (r"[a-\d]", "1: a range needs a single character on each side", None, "1: a range needs a single"),
        (
            "[a--b]",
            *["1: the start of this range is greater than its end"] * 2,
            "2: Rust reads `--` in a class as a ",
        ),
        ("[--a]", None, None, "1: engines read `--` in a class differently; escape it"),
        (r"a\<", None, None, r"1: `\\<` is a word boundary in Rust; write `<` for the character"),
        ("[a&&b]", None, None, "2: `&` in a class has a special meaning in Rust, and not in `re`; escape it"),
        ("[[a]", None, None, r"1: `\[` in a class has a special meaning in Rust"),
        ("[a~~b]", None, None, "2: `~` in a class has a special meaning in Rust"),
        (
            "(?x:[ a])",
            None,
            "5: Rust ignores this in a class of a verbose pattern",
            "5: Rust ignores this in a class",
        ),
        (r"[\b]", None, None, None),
        (r"\c1", *[r"0: the escape `\\c` is not supported"] * 3),
        (r"\x1", *[r"0: `\\x` needs 2 hexadecimal digits"] * 3),
    ],
)
def test_what_engines_read_differently_has_its_column(
    pattern: str, python: str | None, ecma: str | None, shared: str | None
) -> None:
    """Python reads a pattern of its own, ECMA-262 that of a schema, and two engines one that both must read alike."""
    for message, options in (
        (python, {"unicode": True}),
        (ecma, {"unicode": False}),
        (shared, {"unicode": True, "rust": True}),
    ):
        if message is None:
            parse(pattern, search=False, **options)
            continue
        with pytest.raises(PatternError) as error:
            parse(pattern, search=False, **options)
        assert re.match(message, f"{error.value.column}: {error.value.message}"), error.value.message


@pytest.mark.parametrize("name", ["COMMA", "LATIN SMALL LETTER E WITH ACUTE", "GRINNING FACE", "NULL"])
def test_a_named_character_is_the_one_of_unicode(name: str) -> None:
    character = unicodedata.lookup(name)
    for pattern in (rf"\N{{{name}}}", rf"[\N{{{name}}}]"):
        node = parse(pattern, search=False, unicode=True)
        assert holds(node, character) and not holds(node, "N") and not holds(node, character * 2)
        assert holds(parse(f"{pattern}b", search=False, unicode=True), f"{character}b")
    assert holds(parse(r"[\b-\n]", search=False, unicode=True), "\t")
