"""Guides, compiled languages over a vocabulary, and cursors, single sequences that follow a guide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from html import escape
from operator import index
from threading import Lock
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.shared import Shared
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.configurations import Outdated
from structkit.error_notes import add_location
from structkit.errors import LimitExceeded, StructkitError, TokenRejected
from structkit.export.residual import Residual, residual
from structkit.guide.other_names import OF_CURSORS, OF_GUIDES
from structkit.guide.parser import Parser
from structkit.guide.picture import automaton_graph
from structkit.guide.state import State
from structkit.index.guide_file import DiskKey, GuideFile
from structkit.index.index import Index
from structkit.regex.nodes import EMPTY, Rules
from structkit.trace.graph import draw_graph
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Cursor", "Guide"]

T = TypeVar("T")

_UINT32 = np.dtype(np.uint32)

_MAX_GROWN = 64 * 2**20
"""Maximum bytes of the tables of a guide whose texts create rules without bound, before the target is compiled again;
with their nodes these rules take about three times as much."""

_MIN_ROWS = 8
"""Rows of one guide that `fill_masks` writes together; fewer take less time one by one."""


class Guide(Shared):
    """A compiled language over a vocabulary, shared by any number of sequences and threads.

    Returned by `structkit.compile`.

    Attributes:
        vocabulary: The tokens.
        automaton: The language.
        reader: Reader of the automaton.
        index: The masks of the automaton's frames.
        parser: The parse states; when its arrays are full, another one takes its place.
        compile_seconds: Duration of the compilation.
        is_json: Whether all texts of the language are JSON.
        eos_mask: uint32[words], the end tokens.
    """

    other_attributes = OF_GUIDES
    pickle_remedy = "call structkit.compile in the other process, where the disk cache has the guide"

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        *,
        disk_key: DiskKey | None = None,
        guide_file: GuideFile | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.automaton = automaton
        self.compile_seconds = 0.0
        self.is_json = True
        self.index = Index(automaton, vocabulary, disk_key=disk_key, guide_file=guide_file)
        self.reader = self.index.reader
        self.eos_mask = _packed(vocabulary)
        self.parser = Parser(self.index)
        self._lock = Lock()
        self._eos_token_ids = frozenset(vocabulary.eos_token_ids)
        if not vocabulary.has_all_bytes:
            self.parser.check_spelling()

    def cursor(self) -> Cursor:
        """Return a new cursor at the start of the language."""
        return Cursor(self)

    def __repr__(self) -> str:
        built, count = len(self.automaton.built), len(self.automaton.start)
        return (
            f"<Guide: {built} of {count} rules built, {len(self.automaton.row)} states, "
            f"{self.vocabulary.size:,} tokens>"
        )

    def _repr_html_(self) -> str:
        """Draw the automaton of the first rule."""
        return f"<p>{escape(repr(self))}</p>{draw_graph(automaton_graph(self.automaton))}"

    def fill_masks(
        self,
        cursors: Sequence[Cursor | None],
        out: NDArray[np.uint32],
        budgets: Sequence[int | None] | None = None,
        *,
        return_exceptions: bool = False,
    ) -> dict[int, StructkitError]:
        """Write the masks of a batch, one row for each cursor, as `Cursor.fill_mask` writes one.

        The cursors may follow other guides over the same vocabulary. Rows are independent of each other: the error of
        one changes no other row. A row with an error is zeros, so that no token is allowed.

        The interpreter lock is released while the rows of a guide are written, if it has at least eight. It is held
        while the known parts of masks are looked up. Threads may call this method at the same time with other cursors
        and another `out`.

        Args:
            cursors: One for each row; `None` for a row that nothing constrains, which receives all bits.
            out: uint32[rows, ceil(vocabulary.size / 32)], receives the masks.
            budgets: The budget of each row; see `Cursor.fill_mask`.
            return_exceptions: Whether to return the errors of rows. Otherwise the first is raised, after all other
                rows are written.

        Returns:
            The error of each row that has one.

        Raises:
            ValueError: `out` or `budgets` has the wrong shape or dtype, or a cursor has another vocabulary.
            StructkitError: A row has an error, and `return_exceptions` is false.

        >>> from structkit.testing import byte_vocabulary
        >>> import structkit as sk
        >>> guide = sk.compile(bool, byte_vocabulary())
        >>> cursors = [guide.cursor(), guide.cursor()]
        >>> cursors[1].advance(ord("t"))
        >>> out = np.empty((2, guide.vocabulary.mask_words), np.uint32)
        >>> guide.fill_masks(cursors, out)
        {}
        >>> [bytes(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()) for row in out]
        [b'ft', b'r']
        """
        expected = (len(cursors), len(self.eos_mask))
        if out.dtype != _UINT32 or out.shape != expected:
            raise ValueError(f"out must be uint32{list(expected)}, not {out.dtype}{list(out.shape)}")
        if budgets is not None and len(budgets) != len(cursors):
            raise ValueError(f"there are {len(budgets)} budgets for {len(cursors)} cursors")
        masks = out if type(out) is np.ndarray and out.flags.carray else np.empty(expected, _UINT32)
        alone: list[int] = []
        for parser, rows in self._rows_by_parser(cursors, budgets, masks, alone).items():
            if len(rows) < _MIN_ROWS:
                alone += rows
                continue
            configurations = [cast(Cursor, cursors[row])._configurations[-1] for row in rows]
            limits = None if budgets is None else [budgets[row] for row in rows]
            alone += parser.fill_masks(configurations, limits, rows, masks)
        errors: dict[int, StructkitError] = {}
        for row in alone:
            try:
                cast(Cursor, cursors[row]).fill_mask(masks[row], None if budgets is None else budgets[row])
            except StructkitError as error:
                masks[row] = 0
                add_location(error, f"row {row}")
                errors[row] = error
        if masks is not out:
            out[:] = masks
        if errors and not return_exceptions:
            raise errors[min(errors)]
        return errors

    def _rows_by_parser(
        self,
        cursors: Sequence[Cursor | None],
        budgets: Sequence[int | None] | None,
        masks: NDArray[np.uint32],
        alone: list[int],
    ) -> dict[Parser, list[int]]:
        """Return the rows of each parser; write rows without a cursor, and add rows that need Python to `alone`."""
        groups: dict[Parser, list[int]] = {}
        for row, cursor in enumerate(cursors):
            if cursor is None:
                masks[row] = 0xFFFFFFFF
                continue
            if cursor.guide is not self and cursor.guide.vocabulary is not self.vocabulary:
                raise ValueError(f"the cursor of row {row} has another vocabulary than the guide")
            budget = None if budgets is None else budgets[row]
            if cursor._terminated or (budget is not None and budget <= 0) or cursor.pending_prompt:
                alone.append(row)
            else:
                groups.setdefault(cursor._parser, []).append(row)
        return groups

    @property
    def needs_recompiling(self) -> bool:
        """Whether a cache compiles the target again: texts made too many rules, or the others cannot be built."""
        is_overgrown = self.automaton.is_unbounded and self.automaton.tables.nbytes > _MAX_GROWN
        return is_overgrown or self.automaton.is_broken

    def precompute(self, max_states: int = 10_000) -> int:
        """Compute the masks of all states reachable by tokens, up to `max_states` states.

        Returns:
            The number of states visited.
        """
        parser, out = self.parser, np.empty(self.vocabulary.mask_words, np.uint32)
        seen, pending = {parser.start}, [parser.start]
        with suppress(Outdated):  # the memory is full
            while pending and len(seen) < max_states:
                configuration = pending.pop()
                parser.fill_mask(configuration, None, out)
                for token in parser.budgets.groups(parser.state(configuration)).representatives.tolist():
                    after = parser.advance(configuration, token)
                    if after >= 0 and after not in seen:
                        seen.add(after)
                        pending.append(after)
        self.save_soon()
        return len(seen)

    def save(self) -> None:
        """Write the rules built so far, and the masks that took long, to the disk cache, unless few of them are new."""
        if self.index.saver is not None:
            for _ in self.index.saver.save():
                pass

    def save_soon(self) -> None:
        """Let a background thread do what `save` does, unless the file would save less time than it takes to read.

        Called when a sequence ends.
        """
        saver = self.index.saver
        if saver is not None and saver.is_worth_it(self.compile_seconds):
            saver.save_soon()

    def renew(self, parser: Parser, configurations: int) -> tuple[Parser, bool]:
        """Replace an outdated parser, unless another cursor did; return the current one, and whether it is new.

        Args:
            parser: The outdated parser.
            configurations: The number of configurations of it that continue.
        """
        with self._lock:
            if is_new := self.parser is parser:
                self.parser = Parser(self.index, configurations)
            return self.parser, is_new


class Cursor(Shared):
    """One sequence that follows a guide. Mutable and not thread-safe.

    A cursor allows values of any depth, while pydantic rejects JSON nested more than 200 levels deep. A custom loop
    that may reach this depth can end the value with `budget=cursor.min_tokens_to_end()`.

    >>> from structkit.testing import byte_vocabulary
    >>> import structkit as sk
    >>> cursor = sk.compile(bool, byte_vocabulary()).cursor()
    >>> cursor.advance(ord("t"))
    >>> cursor.forced_bytes()
    b'rue'
    """

    other_attributes = OF_CURSORS
    pickle_remedy = "pass its tokens to the other process, and advance a cursor there"

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self._parser = guide.parser
        self._configurations = [self._parser.start]
        self._tokens: list[int] = []
        self._terminated = False

    def __repr__(self) -> str:
        tokens = self.guide.vocabulary.tokens
        text = b"".join(tokens[i] or b"" for i in self._tokens[-20:] if i < len(tokens))[-30:]
        end = "terminated" if self._terminated else "may end" if self.is_accepting else "not at an end"
        return f"<Cursor after {len(self._tokens)} token{'s' * (len(self._tokens) != 1)}, {text!r}, {end}>"

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens so far, including end tokens."""
        return tuple(self._tokens)

    @property
    def state(self) -> State:
        """The current parse state."""
        return self._ask(Parser.state)

    @property
    def pending_prompt(self) -> bytes:
        """The suffix of the prompt that must still be spelled; see `HealedCursor`."""
        return b""

    def continuing_mask(self) -> NDArray[np.uint32] | None:
        """Return the tokens that continue the prompt, in the language or not; `None` for all, with nothing pending."""
        return None

    @property
    def is_accepting(self) -> bool:
        """Whether the value is complete, so that an end token is allowed."""
        return bool(self._configurations[-1] & 1)

    @property
    def is_terminated(self) -> bool:
        """Whether an end token was taken."""
        return self._terminated

    @property
    def is_finished(self) -> bool:
        """Whether nothing but an end token can follow."""
        return self._terminated or (self.is_accepting and not self._ask(Parser.has_continuation))

    def fill_mask(self, out: NDArray[np.uint32], budget: int | None = None) -> None:
        """Write the mask of the tokens that may come next.

        Args:
            out: uint32[ceil(vocabulary.size / 32)]; bit t % 32 of word t // 32 is set if token t is allowed. End
                tokens are allowed if the value is complete; after an end token, only end tokens are allowed.
            budget: The number of tokens that may still be written, including the next one and excluding the end token.
                Only tokens after which the value can be completed within the budget are allowed.

        Raises:
            ValueError: `out` has the wrong shape or dtype.
            TypeError: `out` is no array of numpy.
        """
        if getattr(out, "dtype", None) is not _UINT32 or out.shape != self.guide.eos_mask.shape:
            self._check(out)
        mask = out if type(out) is np.ndarray and out.flags.carray else np.empty(np.shape(out), _UINT32)
        if self._terminated or (budget is not None and budget <= 0):
            mask[:] = self.guide.eos_mask if self.is_accepting else 0
        else:
            try:
                self._parser.fill_mask(self._configurations[-1], budget, mask)
            except Outdated:
                self._ask_again(lambda parser, configuration: parser.fill_mask(configuration, budget, mask))
            except LimitExceeded as error:
                raise self._placed(error) from None
        if mask is not out:
            out[:] = mask

    def advance(self, token_id: int) -> None:
        """Append a token to the sequence.

        Raises:
            TokenRejected: The mask forbids the token; the cursor is unchanged.
        """
        token_id = index(token_id)
        configuration = self._configurations[-1]
        if token_id in self.guide._eos_token_ids:
            if not (configuration & 1 or self._terminated):
                raise self._rejected(token_id, "the value is not complete")
            self._terminated = True
            self.guide.save_soon()
        else:
            after = -1
            if not self._terminated and 0 <= token_id < len(self.guide.vocabulary):
                try:
                    after = self._parser.advance(configuration, token_id)
                except Outdated:
                    after = self._ask_again(
                        lambda parser, configuration: parser.advance(configuration, token_id)
                    )
                except LimitExceeded as error:
                    raise self._placed(error) from None
            if after < 0:
                reason = "the text has ended" if self._terminated else "the language does not allow it"
                raise self._rejected(token_id, reason)
            configuration = after
        self._configurations.append(configuration)
        self._tokens.append(token_id)

    def min_tokens_to_end(self) -> int:
        """Return the minimum number of tokens that complete the value, excluding the end token."""
        return self._ask(Parser.min_tokens)

    def fits(self, budget: int) -> bool:
        """Return whether the value can be completed within `budget` more tokens."""
        return self._ask(lambda parser, configuration: parser.fits(configuration, budget))

    def forced_bytes(self) -> bytes:
        """Return the bytes that must come next; empty if there is a choice or the value may end."""
        return self._ask(Parser.forced_bytes)

    def residual(self) -> Residual:
        """Return the texts that may follow, to be printed as a regex or a grammar for another engine.

        Parts that must differ from each other may be equal there; see `Residual`.

        Raises:
            ValueError: The text ends inside a character.
            LimitExceeded: The rest of a counted repetition would be too large.

        >>> from structkit.testing import byte_vocabulary
        >>> import structkit as sk
        >>> cursor = sk.compile(sk.Choice(["yes", "yesterday"]), byte_vocabulary()).cursor()
        >>> for byte in b"yes":
        ...     cursor.advance(byte)
        >>> cursor.residual().to_regex()
        '(?:terday)?'
        """
        if self._terminated:
            return Residual(Rules(EMPTY, {}), self.guide.automaton.limits)
        return residual(self.guide.automaton, self.state.frames)

    def __copy__(self) -> Cursor:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Cursor:
        return self.fork()

    def fork(self) -> Cursor:
        """Return an independent copy of the cursor."""
        copy = Cursor(self.guide)
        copy._copy_from(self)
        return copy

    def rollback(self, n: int) -> None:
        """Remove the last `n` tokens.

        Raises:
            ValueError: The sequence has fewer than `n` tokens.
        """
        if not 0 <= n <= len(self._tokens):
            raise ValueError(f"cannot roll back {n} of {len(self._tokens)} tokens")
        if n:
            del self._configurations[-n:], self._tokens[-n:]
            self._terminated = bool(self._tokens) and self._tokens[-1] in self.guide.vocabulary.eos_token_ids

    def _ask(self, question: Callable[[Parser, int], T]) -> T:
        """Return the answer of the parser to a question about the current configuration."""
        try:
            return question(self._parser, self._configurations[-1])
        except Outdated:
            return self._ask_again(question)
        except LimitExceeded as error:
            raise self._placed(error) from None

    def _ask_again(self, question: Callable[[Parser, int], T]) -> T:
        """Return the answer of a new parser.

        Raises:
            LimitExceeded: One question needs more memory than a parser may have.
        """
        parser, is_new = self._parser, False
        while not is_new:  # that of another cursor can be full, too
            parser, is_new = self.guide.renew(parser, len(self._configurations))
            try:
                self._continue_with(parser)
                return question(parser, self._configurations[-1])
            except Outdated:
                continue
            except LimitExceeded as error:
                raise self._placed(error) from None
        row_bytes = self.guide.automaton.limits.row_bytes
        raise self._placed(LimitExceeded("row_bytes", row_bytes, "the ways to read a token of the language"))

    def _placed(self, error: LimitExceeded) -> LimitExceeded:
        """Return the error of a question with the position of the next token, if it has no place."""
        error.place = error.place or f"token {len(self._tokens)}"
        return error

    def _continue_with(self, parser: Parser) -> None:
        previous, made = self._parser, dict[int, int]()
        for configuration in self._configurations:
            if configuration not in made:
                made[configuration] = parser.adopt(previous, configuration)
        self._configurations = [made[configuration] for configuration in self._configurations]
        self._parser = parser

    def _copy_from(self, other: Cursor) -> None:
        self._parser = other._parser
        self._configurations = other._configurations.copy()
        self._tokens = other._tokens.copy()
        self._terminated = other._terminated

    def _check(self, out: NDArray[np.uint32]) -> None:
        shape = self.guide.eos_mask.shape
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be an array of numpy, uint32[{shape[0]}], not {out!r:.60}")
        if out.shape != shape or out.dtype != _UINT32:
            raise ValueError(f"out must be uint32[{shape[0]}], not {out.dtype}{list(out.shape)}")

    def _rejected(self, token_id: int, reason: str) -> TokenRejected:
        vocabulary = self.guide.vocabulary
        text = vocabulary.tokens[token_id] if 0 <= token_id < vocabulary.size else None
        name = f"token {token_id}" if text is None else f"token {token_id} ({text!r})"
        return TokenRejected(
            token_id,
            f"{name} is not allowed: {reason}; take one of the mask",
            place=f"token {len(self._tokens)}",
        )


@lru_cache(maxsize=4)
def _packed(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """Return the end tokens as a mask, uint32[words]."""
    ends = np.zeros(32 * vocabulary.mask_words, bool)
    ends[list(vocabulary.eos_token_ids)] = True
    packed = np.packbits(ends, bitorder="little").view(np.uint32)
    packed.setflags(write=False)
    return packed
