"""The target `Grammar`: text of a context-free language."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from typing_extensions import TypeForm

from structkit.arguments.checks import check_choice, check_type
from structkit.arguments.names import hints_arguments
from structkit.errors import GrammarError, SchemaError
from structkit.grammar.read import GrammarSource, Syntax
from structkit.grammar.syntax.holes import Hole
from structkit.grammar.syntax.indenter import read_indenter
from structkit.grammar.syntax.lark_grammar import LarkOptions, Lexer, Parser, Priority, TreeTransformer
from structkit.limits import Limits
from structkit.schema.markers.grammar import described_with
from structkit.targets.mistakes import reject_value
from structkit.targets.python_call import PythonCall
from structkit.targets.specs import Choice, Regex, TextTarget
from structkit.targets.valid_grammars import recalled

if TYPE_CHECKING:
    from lark import Tree
    from lark.indenter import Indenter

__all__ = ["Grammar", "Lexer", "Parser", "Syntax"]

T_co = TypeVar("T_co", covariant=True)

_LIMITS = Limits()
_NO_OPTIONS = LarkOptions()
_OF_TREES = (
    "ambiguity",
    "cache",
    "cache_grammar",
    "debug",
    "keep_all_tokens",
    "lexer_callbacks",
    "ordered_sets",
    "propagate_positions",
    "tree_class",
)
"""Arguments of `lark.Lark` that change no text."""

_REFUSED = {
    **dict.fromkeys(
        _OF_TREES, "leave it out: it is not of the language, but of trees; parse the text with Lark"
    ),
    "regex": "leave it out: patterns are those of Python's re, and the package regex has others that are not regular",
    "use_bytes": "leave it out: a language is of texts; write bytes as a text",
    "edit_terminals": "leave it out; change the terminals in the text of the grammar",
    "source_path": "leave it out; pass the path in place of the text, or import_paths",
}
"""Arguments of `lark.Lark` that a grammar does not have, and what to do."""

_NO_HOLES: Mapping[str, Any] = MappingProxyType({})


@hints_arguments(_REFUSED)
@dataclass(frozen=True, init=False, repr=False)
class Grammar(TextTarget[T_co]):
    r"""Text of a context-free language.

    The language is exactly the set of texts that `lark.Lark` accepts with the same arguments; for GBNF that of
    llama.cpp, for KBNF that of kbnf without its stop at the first accepting point.

    Attributes:
        text: The grammar.
        path: Its file; `None` for a text.
        syntax: The language in which it is written.
        options: The arguments of Lark.
        value: `"text"` or `"tree"`.
        transformer: What turns Lark's tree into the value.
        holes: The rules that are defined by a target.
        limits: Bounds on the size of the grammar.
        read_seconds: How long reading it took.

    >>> import structkit as sk
    >>> sums = sk.Grammar('start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]/')
    >>> sk.extract(sk.testing.ScriptedModel(["1+2"]), "One plus two", sums)
    '1+2'
    """

    text: str
    path: str | None
    syntax: Syntax
    options: LarkOptions
    value: Literal["text", "tree"]
    transformer: TreeTransformer[T_co] | None
    holes: tuple[tuple[str, TypeForm[object] | TextTarget[object]], ...]
    limits: Limits
    read_seconds: float = field(compare=False)

    @overload
    def __init__(
        self: Grammar[str],
        text: str | os.PathLike[str],
        start: str | None = None,
        parser: Parser = "earley",
        lexer: Lexer = "auto",
        *,
        syntax: Syntax = "lark",
        postlex: Indenter | None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
        strict: bool = False,
        limits: Limits = _LIMITS,
        holes: Mapping[str, TypeForm[object] | TextTarget[object]] = _NO_HOLES,
        value: Literal["text"] = "text",
    ) -> None: ...

    @overload
    def __init__(
        self: Grammar[Tree[Any]],
        text: str | os.PathLike[str],
        start: str | None = None,
        parser: Parser = "earley",
        lexer: Lexer = "auto",
        *,
        syntax: Literal["lark"] = "lark",
        postlex: Indenter | None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
        strict: bool = False,
        limits: Limits = _LIMITS,
        holes: Mapping[str, TypeForm[object] | TextTarget[object]] = _NO_HOLES,
        value: Literal["tree"],
    ) -> None: ...

    @overload
    def __init__(
        self,
        text: str | os.PathLike[str],
        start: str | None = None,
        parser: Parser = "earley",
        lexer: Lexer = "auto",
        *,
        syntax: Literal["lark"] = "lark",
        postlex: Indenter | None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
        strict: bool = False,
        limits: Limits = _LIMITS,
        holes: Mapping[str, TypeForm[object] | TextTarget[object]] = _NO_HOLES,
        transformer: TreeTransformer[T_co],
    ) -> None: ...

    def __init__(
        self,
        text: str | os.PathLike[str],
        start: str | None = None,
        parser: Parser = "earley",
        lexer: Lexer = "auto",
        *,
        syntax: Syntax = "lark",
        postlex: Indenter | None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
        strict: bool = False,
        limits: Limits = _LIMITS,
        holes: Mapping[str, TypeForm[object] | TextTarget[object]] = _NO_HOLES,
        value: Literal["text", "tree"] = "text",
        transformer: TreeTransformer[T_co] | None = None,
    ) -> None:
        """Read a grammar. The arguments up to `strict` are those of `lark.Lark`.

        Args:
            text: The grammar; a `pathlib.Path`, or a name that ends in `.lark`, `.gbnf` or `.kbnf`, is read.
            start: The rule of complete texts; by default `"start"`, or `"root"` for GBNF.
            parser: The parser.
            lexer: How the text is cut into terminals; `"auto"` is `"dynamic"`, or `"contextual"` with `parser="lalr"`.
            syntax: The language in which the grammar is written. It is never guessed.
            postlex: An object of `lark.indenter.Indenter`, such as `lark.indenter.PythonIndenter()`, for a lexer that
                is `"basic"` or `"contextual"`. A block can be indented by at most 16 columns more than the lines
                around it.
            import_paths: Where `%import` looks, before the grammars of Lark. A grammar from a file also imports from
                its own folder.
            priority: What the priorities of rules and terminals mean for trees.
            maybe_placeholders: Whether `[x]` gives `None` in a tree where `x` is absent.
            g_regex_flags: The flags of `re` for each terminal.
            strict: Whether a grammar is refused in which the LALR parser has a shift/reduce conflict, or in which two
                terminals of the basic or contextual lexer contain the same text.
            limits: Bounds on the size of the grammar; those of the compilation bound its automata.
            holes: Rules that the grammar uses and does not define: their texts are those of a type, `Regex`,
                `Choice` or `PythonCall`. In a tree, the rule's only child is the validated value.
            value: `"tree"` gives Lark's tree instead of the text.
            transformer: Turns Lark's tree into the value. A `ValueError` or an `AssertionError` rejects the text, as in
                pydantic's validators; other exceptions are raised.

        Raises:
            GrammarError: The grammar is invalid, a terminal is not regular, or no text is in the language.
            SchemaError: A hole is no target.
            LimitExceeded: The grammar is too large.
            OSError: The file cannot be read.
            TypeError: An argument has the wrong type, or the transformer is a class.
        """
        _check_values(syntax, value, uses_lark=bool(value == "tree" or transformer or holes), postlex=postlex)
        _check_transformer(transformer)
        check_type("start", start, (str, type(None)), "the name of one rule, or None")
        _check_import_paths(import_paths)
        check_type("g_regex_flags", g_regex_flags, Integral, "flags of re, such as re.IGNORECASE")
        _check_holes(holes)
        path = _path(text)
        options = LarkOptions(
            start or ("root" if syntax == "gbnf" else "start"),
            parser,
            lexer,
            tuple(os.fspath(folder) for folder in import_paths),
            priority,
            maybe_placeholders,
            int(g_regex_flags),
            strict,
            None if postlex is None else read_indenter(postlex),
        )
        _check_options(syntax, options)
        self._set(
            text=str(text) if path is None else _read(path),
            path=path,
            syntax=syntax,
            options=options,
            value=value,
            transformer=transformer,
            holes=tuple(holes.items()),
            limits=limits,
        )
        self._check()

    def _set(self, **fields: object) -> None:
        """Set the fields of the new object."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _check(self) -> None:
        """Read the grammar, so that its errors belong to the line that creates it; not one that is known to be valid.

        Raises:
            GrammarError: See `__init__`; of a grammar in another syntax the error names the syntax.
        """
        start_time = time.perf_counter()
        try:
            if self.source.known_files is None:
                _ = self.source.rules
        except GrammarError as error:
            if self.syntax != "lark" or not re.search(r"^\s*[\w-]+\s*::=", self.text, re.MULTILINE):
                raise
            other = "kbnf" if self.text.rstrip().endswith(";") else "gbnf"
            raise GrammarError(
                f"{error.cause}; rules with ::= are those of {other.upper()}: pass syntax={other!r}",
                line=error.line,
                column=error.column,
                source=error.source,
                place=error.place,
            ) from None
        self._set(read_seconds=time.perf_counter() - start_time)
        for rule, _ in self.holes:
            if not re.search(rf"(?<!\w){rule}(?!\w)", self.text):
                raise ValueError(
                    f"the grammar does not use the hole {rule!r}; write {rule} in a rule, or leave it out"
                )

    def __repr__(self) -> str:
        source = repr(self.text) if self.path is None else f"Path({self.path!r})"
        return f"Grammar({source if len(source) <= 60 else source[:57] + '...'})"

    @cached_property
    def source(self) -> GrammarSource:
        """The grammar to read."""
        holes = tuple(_hole(*each) for each in self.holes)
        return recalled(GrammarSource(self.text, self.path, self.syntax, self.options, holes, self.limits))

    @property
    def parts(self) -> list[object]:
        """The text, the path, the syntax and the options, as JSON stores them."""
        return [self.text, self.path, self.syntax, [*map(_as_json, astuple(self.options))]]

    def __getstate__(self) -> dict[str, object]:
        # What was read is read again, because Lark's parser cannot be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "source"}

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Add the grammar to the JSON Schema of a string, for `Annotated[str, Grammar(...)]`."""
        if self.value != "text" or self.transformer is not None or self.holes:
            raise SchemaError("a field has the text of its grammar; remove value, transformer and holes")
        if self.options.indenter is not None:
            raise SchemaError(
                "a field cannot have the text of a grammar with a postlex; generate the text alone"
            )
        if self.source.named_tokens:
            raise SchemaError("a JSON string is text; remove the terminals that are tokens from the grammar")
        return described_with(handler(core_schema), self.parts)


def _check_values(syntax: str, value: str, *, uses_lark: bool, postlex: object) -> None:
    """Check the arguments that have few values.

    Raises:
        ValueError: One has another value, or is for Lark's syntax alone.
    """
    check_choice("value", value, ("text", "tree"))
    check_choice("syntax", syntax, ("lark", "gbnf", "kbnf"))
    if syntax != "lark" and uses_lark:
        raise ValueError("only a Lark grammar has trees and holes; write syntax='lark'")
    if syntax != "lark" and postlex is not None:
        raise ValueError("only a Lark grammar has a postlex; write syntax='lark'")


def _check_options(syntax: str, options: LarkOptions) -> None:
    """Check that no argument is for Lark's syntax alone.

    Raises:
        ValueError: One is.
    """
    given = replace(options, start=_NO_OPTIONS.start)
    names = [
        each.name for each in fields(given) if getattr(given, each.name) != getattr(_NO_OPTIONS, each.name)
    ]
    if syntax != "lark" and names:
        raise ValueError(
            f"only a Lark grammar has the argument {names[0]}; leave it out, or write syntax='lark'"
        )


def _read(path: str) -> str:
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        fault = f"no such file in {Path.cwd()}; give the path of a grammar, or its text"
        raise FileNotFoundError(error.errno, fault, path) from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        source = before[before.rfind("\n") + 1 :]
        raise GrammarError(
            "the file is not UTF-8; save it as UTF-8", line=line, column=column, source=source, place=path
        ) from None


def _as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _hole(rule: str, target: object) -> Hole:
    try:
        reject_value(target)
    except SchemaError as error:
        error.place = f"holes[{rule!r}]"
        raise
    if isinstance(target, Regex):
        return Hole(rule, pattern=target.pattern)
    if isinstance(target, Choice) and target.is_raw:
        return Hole(rule, options=tuple(target.options))
    if isinstance(target, Grammar):
        raise ValueError(f"the hole {rule} is a Grammar; write its rules into this grammar, or import them")
    if isinstance(target, PythonCall):
        return Hole(rule, functions=target.names)
    return Hole(rule)


def _check_transformer(transformer: object) -> None:
    """Raise `TypeError` for what is no transformer of Lark."""
    if isinstance(transformer, type):
        raise TypeError(f"the transformer is a class; pass an object of it, {transformer.__name__}()")
    # An instance of Lark's Interpreter answers for every attribute, its class only for those that it has.
    if transformer is not None and not hasattr(type(transformer), "transform"):
        raise TypeError(f"the transformer must be a lark.Transformer, not {transformer!r:.60}")


def _check_import_paths(folders: object) -> None:
    if isinstance(folders, (str, os.PathLike)):  # the letters of a text would be folders
        raise TypeError(f"import_paths must be a list of folders; write [{os.fspath(folders)!r}]")


def _check_holes(holes: Mapping[str, object]) -> None:
    """Raise an error for names that rules of a grammar cannot have."""
    check_type("holes", holes, Mapping, "a dict of rules and their types")
    for rule in holes:
        if not (str(rule).isidentifier() and str(rule).islower()):
            raise ValueError(
                f"the name of a hole is that of a rule, in lower case, not {rule!r:.60}; write another one here and in "
                "the grammar"
            )
        if rule.startswith("_"):
            raise ValueError(f"Lark's trees have no rules that begin with `_`; rename the hole {rule!r:.60}")


def _path(text: str | os.PathLike[str]) -> str | None:
    """Return the path of a grammar file; `None` for a text."""
    if isinstance(text, os.PathLike):
        return os.fspath(text)
    if not isinstance(text, str):
        is_lark = isinstance(getattr(text, "source_grammar", None), str)
        remedy = "pass its source_grammar, and the arguments it has" if is_lark else "pass the text or a Path"
        raise TypeError(f"a grammar is a str or a path, not {type(text).__name__}; {remedy}")
    is_name = "\n" not in text and text.endswith((".lark", ".gbnf", ".kbnf"))
    return text if is_name and ":" not in text[2:] else None
