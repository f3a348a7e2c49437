"""The target `Grammar`: text of a context-free language."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

from structkit.grammar.cfg import Cfg
from structkit.grammar.constrain import UnseparatedTerminals
from structkit.grammar.lark_grammar import LarkGrammar, LarkOptions, Lexer, Parser, Priority
from structkit.grammar.network import rules_of
from structkit.regex.nodes import NEVER, Rules
from structkit.rejected import Rejected
from structkit.targets.specs import TextTarget

if TYPE_CHECKING:
    from lark import Tree

__all__ = ["Grammar", "Syntax", "TreeTransformer"]

T_co = TypeVar("T_co", covariant=True)

Syntax: TypeAlias = Literal["lark", "gbnf", "kbnf"]
"""The language in which a grammar is written."""


class TreeTransformer(Protocol[T_co]):
    """What turns a tree into a value, such as `lark.Transformer`."""

    def transform(self, tree: Any, /) -> T_co:
        """Return the value of a tree."""


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

    @overload
    def __init__(
        self: Grammar[str],
        text: str | os.PathLike[str],
        start: str | None = None,
        parser: Parser = "earley",
        lexer: Lexer = "auto",
        *,
        syntax: Syntax = "lark",
        postlex: None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
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
        postlex: None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
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
        postlex: None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
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
        postlex: None = None,
        import_paths: Sequence[str | os.PathLike[str]] = (),
        priority: Priority | None = "auto",
        maybe_placeholders: bool = True,
        g_regex_flags: int = 0,
        value: Literal["text", "tree"] = "text",
        transformer: TreeTransformer[T_co] | None = None,
    ) -> None:
        """Read a grammar. The arguments up to `g_regex_flags` are those of `lark.Lark`.

        Args:
            text: The grammar; a `pathlib.Path`, or a name that ends in `.lark`, `.gbnf` or `.kbnf`, is read.
            start: The rule of complete texts; by default `"start"`, or `"root"` for GBNF.
            parser: The parser.
            lexer: How the text is cut into terminals; `"auto"` is `"dynamic"`.
            syntax: The language in which the grammar is written. It is never guessed.
            postlex: Not supported.
            import_paths: Where `%import` looks, before the grammars of Lark. A grammar from a file also imports from
                its own folder.
            priority: What the priorities of rules and terminals mean for trees.
            maybe_placeholders: Whether `[x]` gives `None` in a tree where `x` is absent.
            g_regex_flags: The flags of `re` for each terminal.
            value: `"tree"` gives Lark's tree instead of the text.
            transformer: Turns Lark's tree into the value; exceptions other than bugs count as a rejected text.

        Raises:
            GrammarError: The grammar is invalid, a terminal is not regular, or no text is in the language.
            LimitExceeded: The grammar is too large.
            OSError: The file cannot be read.
        """
        path = _path(text)
        if value not in ("text", "tree"):
            raise ValueError(f"value must be 'text' or 'tree', not {value!r}")
        if syntax not in ("lark", "gbnf", "kbnf"):
            raise ValueError(f"syntax must be 'lark', 'gbnf' or 'kbnf', not {syntax!r}")
        if syntax != "lark" and (value == "tree" or transformer is not None):
            raise ValueError("only a Lark grammar has trees; write syntax='lark'")
        set_field = object.__setattr__
        set_field(self, "text", str(text) if path is None else Path(path).read_text(encoding="utf-8"))
        set_field(self, "path", path)
        set_field(self, "syntax", syntax)
        folders = tuple(os.fspath(folder) for folder in import_paths)
        start = start or ("root" if syntax == "gbnf" else "start")
        options = LarkOptions(start, parser, lexer, folders, priority, maybe_placeholders, int(g_regex_flags))
        set_field(self, "options", options)
        set_field(self, "value", value)
        set_field(self, "transformer", transformer)
        self.rules  # noqa: B018  # errors belong to the line that creates the grammar

    def __repr__(self) -> str:
        source = repr(self.text) if self.path is None else f"Path({self.path!r})"
        return f"Grammar({source if len(source) <= 60 else source[:57] + '...'})"

    @classmethod
    def read_again(cls, text: str, path: str | None, syntax: Syntax, options: Sequence[Any]) -> Grammar[str]:
        """Return a grammar from its parts, as the disk cache stores them."""
        grammar: Grammar[str] = cls.__new__(Grammar)
        start, parser, lexer, folders, priority, placeholders, flags = options
        read = LarkOptions(start, parser, lexer, tuple(folders), priority, placeholders, flags)
        parts = {
            "text": text,
            "path": path,
            "syntax": syntax,
            "options": read,
            "value": "text",
            "transformer": None,
        }
        for name, part in parts.items():
            object.__setattr__(grammar, name, part)
        return grammar

    @property
    def fingerprint(self) -> str:
        """A text that determines the language, with the contents of imported files."""
        files = self.lark.imported if self.syntax == "lark" else ()
        return f"Grammar {self.syntax} {self.options!r} {files!r} {self.text!r}"

    @cached_property
    def lark(self) -> LarkGrammar:
        """The grammar as Lark reads it."""
        return LarkGrammar(self.text, self.path, self.options)

    @cached_property
    def cfg(self) -> Cfg:
        """The rules of the grammar."""
        return self.lark.cfg

    @cached_property
    def rules(self) -> Rules:
        """The language.

        Raises:
            GrammarError: No text is in it.
        """
        try:
            rules = rules_of(self.cfg)
        except UnseparatedTerminals as error:
            raise self.lark.error(str(error), self.options.start) from None
        if rules.start is NEVER:
            raise self.lark.error("no text is in the language", self.options.start)
        return rules

    def parse(self, text: str) -> object | Rejected:
        """Return the value of a text, or why the transformer rejects it."""
        if self.value == "text" and self.transformer is None:
            return text
        try:
            tree = self.lark.parse(text)
            return tree if self.transformer is None else self.transformer.transform(tree)
        except Exception as error:  # the transformer is the user's
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            return Rejected((), str(cause) or type(cause).__name__, cause)


def _path(text: str | os.PathLike[str]) -> str | None:
    """Return the path of a grammar file; `None` for a text."""
    if isinstance(text, os.PathLike):
        return os.fspath(text)
    if not isinstance(text, str):
        raise TypeError(f"a grammar is a str or a path, not {type(text).__name__}")
    is_name = "\n" not in text and text.endswith((".lark", ".gbnf", ".kbnf"))
    return text if is_name and ":" not in text[2:] else None
