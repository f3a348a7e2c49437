"""Models without weights, for tests: one that writes given replies, and one that writes at random."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, partial
from itertools import count
from types import TracebackType
from typing import Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.checks import check_type
from structkit.arguments.names import names_arguments
from structkit.errors import ModelError, ScriptError
from structkit.models.capabilities import Capabilities
from structkit.models.protocols import Message
from structkit.models.scripted_reply import END_OF_THINKING, ScriptedReply
from structkit.vocabulary.control_tokens import CONTROL_BYTE, to_bytes
from structkit.vocabulary.vocabulary import Vocabulary, byte_vocabulary

__all__ = ["RandomModel", "Reply", "ScriptedModel", "byte_vocabulary", "small_vocabulary"]

Reply: TypeAlias = "str | NDArray[np.float32] | Callable[[str], str]"
"""A text, the logits of each step (float32[steps, width]), or a function from the prompt to a text."""

_REPLY_LOGIT, _RELATED_LOGIT, _CLOSING_LOGIT = 20.0, 10.0, 5.0
"""Logits of tokens that continue the reply, that continue it with other whitespace, and that end it."""

_CLOSING = tuple(bytes([byte]) for byte in b'"]}')

_WORDS = """
the of and to in is was for on that with as at by it from are this be have not or an has were their which one
had its all but also other new name age job city date time email phone price order item items total status
title type text value id key user address country company street number message note list true false null
null, true, false, Ana Maria John Smith Monday January Porto London nurse teacher engineer high low medium
open closed positive negative
""".split()

_JSON_PIECES = """
{" "} {} [] [{ }] }, ], ]} }} "] ": ", {"name ["a "," ":" "," "}] 00 10 20 19 12 2024 2025 -01 -0 .0 .5 ing ed
er es ly tion th he in an re on st en nd or ou ea ti it ar te al ll is ss un co de
""".split()


@cache
def small_vocabulary() -> Vocabulary:
    """Return a vocabulary of the 256 bytes, common pieces of JSON and English, a control token and two end tokens.

    >>> small_vocabulary().tokens[256:259]
    (b'{"', b'"}', b'{}')
    """
    spaced = ['", "', '": "', '": ', ", ", '"}, {"', "  ", ". "]
    pieces = [*_JSON_PIECES, *spaced, *_WORDS, *(f" {word}" for word in _WORDS)]
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [piece.encode() for piece in dict.fromkeys(pieces) if len(piece) > 1]
    return Vocabulary([*tokens, None], eos_token_ids=[len(tokens) + 1, len(tokens) + 2])


class _WeightlessModel:
    """Common parts of the models without weights: vocabulary, encoding, and recorded prompts."""

    def __init__(self, vocabulary: Vocabulary | None, context_length: int | None, name: str) -> None:
        self._vocabulary = small_vocabulary() if vocabulary is None else vocabulary
        self._context_length = context_length
        self._name = name
        self._last: tuple[str, list[int]] = ("", [])
        self.prompts: list[str] = []

    @property
    def name(self) -> str:
        """Name of the model in messages."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return Capabilities(logits="full", takes_messages=True)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self._vocabulary

    @property
    def context_length(self) -> int | None:
        """Maximum number of tokens of a sequence."""
        return self._context_length

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        """Encode a prompt; messages become lines such as `user: Hi`. Bytes without a token are dropped."""
        lines = [prompt] if isinstance(prompt, str) else [f"{m['role']}: {m['content']}" for m in prompt]
        text = "\n".join(lines)
        token_ids = self._tokenizer.encode(text.encode())
        self._last = (text, token_ids)
        return token_ids

    def encode_text(self, text: str) -> list[int]:
        """Encode a text, longest token first; bytes without a token are dropped."""
        return self._tokenizer.encode(text.encode())

    def encode_thinking(self, prompt: str | Sequence[Message]) -> list[int]:
        """Encode a prompt; the reply starts with the thinking, which `</think>` ends."""
        return self.encode(prompt)

    @property
    def end_of_thinking(self) -> tuple[int, ...]:
        """The tokens of `</think>`."""
        return tuple(self.encode_text(END_OF_THINKING.decode()))

    def decode(self, token_ids: Sequence[int]) -> str:
        """Decode tokens to text."""
        return b"".join(self._vocabulary.tokens[i] for i in token_ids).decode("utf-8", errors="replace")

    @cached_property
    def _tokenizer(self) -> _GreedyTokenizer:
        is_shared = self._vocabulary in (small_vocabulary(), byte_vocabulary())
        return (_shared_tokenizer if is_shared else _GreedyTokenizer)(self._vocabulary)

    def _start(self) -> tuple[str, list[int]]:
        """Record the start of a sequence, and return its prompt and the tokens of the prompt."""
        self.prompts.append(self._last[0])
        return self._last


@names_arguments
class ScriptedModel(_WeightlessModel):
    """A model that writes given texts, in order: one per generation, and one per retry.

    The logits favour tokens that continue the reply from the current text, then the end token. In brackets, and around
    a reply that is JSON, whitespace outside of strings may differ from the reply. Where a text differs otherwise,
    because the mask of the target or a budget excludes the reply, the generation raises `ScriptError`. With
    `strict=False` it continues instead: the logits favour tokens that close open values and end.

    As a context manager, the model raises `ScriptError` at the end if replies are left; so does `Agent.override`.

    Attributes:
        prompts: The prompt of each sequence so far.

    >>> import structkit as sk
    >>> model = ScriptedModel(['{"name": "Ana", "age": 34}'])
    >>> sk.extract(model, "Ana is 34.", dict[str, str | int])
    {'name': 'Ana', 'age': 34}
    >>> len(model.prompts)
    1
    >>> sk.extract(ScriptedModel(["[1, x]"]), "x", list[int])
    Traceback (most recent call last):
    structkit.errors.ScriptError: the reply '[1, x]' cannot be written: after '[1, ' the target, or ...
    """

    def __init__(
        self,
        replies: Sequence[Reply],
        vocabulary: Vocabulary | None = None,
        *,
        strict: bool = True,
        context_length: int | None = None,
        name: str = "scripted",
    ) -> None:
        """Store the replies.

        Args:
            replies: One per generation, and one more per rejected value and retry: a text, a function that takes the
                prompt and returns a text, or the logits of each step as float32[steps, width], whose last row repeats
                after the end.
            vocabulary: The tokens; by default `small_vocabulary()`.
            strict: Whether a text that differs from its reply raises `ScriptError`.
            context_length: Reported maximum number of tokens of a sequence.
            name: Name of the model in messages.
        """
        super().__init__(vocabulary, context_length, name)
        given: object = replies
        if isinstance(given, str) or not isinstance(given, Iterable):
            meant = f"[{given!r:.40}]" if isinstance(given, str) else "['...']"
            raise TypeError(
                f"replies is a list with one reply per generation, not {given!r:.40}; write {meant}"
            )
        self._replies = list(replies)
        for number, reply in enumerate(self._replies):
            if not (isinstance(reply, (str, np.ndarray)) or callable(reply)):
                given = getattr(reply, "model_dump_json", None)
                remedy = (
                    "json.dumps(...)" if given is None else f"{type(reply).__name__}(...).model_dump_json()"
                )
                raise TypeError(f"replies[{number}] must be a text, not {reply!r:.60}; write {remedy}")
        self._strict = strict
        self._started = 0

    def __repr__(self) -> str:
        count = len(self._replies)
        replies = "reply" if count == 1 else "replies"
        return f"<ScriptedModel {self._name}: {max(0, count - self._started)} of {count} {replies} left>"

    @property
    def checks_text(self) -> bool:
        """Whether a text that differs from its reply raises `ScriptError`."""
        return self._strict

    def check_finished(self) -> None:
        """Check that all replies were used.

        Raises:
            ScriptError: Replies are left; the error shows the first.
        """
        left = self._replies[self._started :]
        if left:
            raise ScriptError(
                f"{len(left)} of {len(self._replies)} replies were not used, the first of them {left[0]!r:.200}; leave "
                "them out, or find out why there were fewer generations",
                place=self.name,
            )

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.check_finished()

    def session(self) -> _ScriptedSession | _ArraySession:
        """Start the next reply.

        Raises:
            ModelError: There is no further reply.
        """
        prompt, prompt_ids = self._start()
        reply = self._next_reply(prompt)
        if isinstance(reply, np.ndarray):
            return _ArraySession(reply, len(prompt_ids))
        next_reply = partial(self._next_reply, prompt)
        vocabulary, tokenizer = self._reply_tokens
        prompt_bytes = b"".join(vocabulary.tokens[i] for i in prompt_ids)
        kind = _StrictSession if self._strict else _ScriptedSession
        return kind(to_bytes(reply), vocabulary, tokenizer, prompt_bytes, next_reply)

    @cached_property
    def _reply_tokens(self) -> tuple[Vocabulary, _GreedyTokenizer]:
        """The tokens of replies, in which the named tokens are written by name."""
        tokens = list(self._vocabulary.tokens)
        if not self._vocabulary.named_tokens:
            return self._vocabulary, self._tokenizer
        for name, token_id in self._vocabulary.named_tokens.items():
            tokens[token_id] = tokens[token_id] or name.encode()
        vocabulary = Vocabulary(tokens, self._vocabulary.eos_token_ids)
        return vocabulary, _GreedyTokenizer(vocabulary)

    def _next_reply(self, prompt: str) -> str | NDArray[np.float32]:
        self._started += 1
        if self._started > (count := len(self._replies)):
            raise ModelError(
                f"generation {self._started} started, but the script has {count} repl{'y' if count == 1 else 'ies'}; "
                "add one",
                place=self.name,
            )
        reply = self._replies[self._started - 1]
        return reply(prompt) if callable(reply) else reply


@names_arguments
class RandomModel(_WeightlessModel):
    """A model whose logits are Gaussian noise: the same for the same seed, sequence and position.

    >>> import structkit as sk
    >>> all(type(item) is bool for item in sk.extract(RandomModel(seed=1), "Anything", list[bool]))
    True
    """

    def __init__(
        self,
        seed: int = 0,
        vocabulary: Vocabulary | None = None,
        *,
        brevity: float = 0.0,
        context_length: int | None = None,
        name: str = "random",
    ) -> None:
        """Create a model.

        Args:
            seed: Seed of the noise.
            vocabulary: The tokens; by default `small_vocabulary()`.
            brevity: Added to the logits of end tokens and of tokens that start with a closing character (`"`, `]`,
                `}`). With 0, free text usually continues to the token budget, because most tokens continue it.
            context_length: Reported maximum number of tokens of a sequence.
            name: Name of the model in messages.
        """
        super().__init__(vocabulary, context_length, name)
        check_type("seed", seed, SupportsIndex, "an integer")
        self._seed = seed
        self._sessions = count()
        width = self._vocabulary.size
        # Every step is a window on one pool of noise: drawing 128,000 numbers per step takes a millisecond.
        self._pool = np.random.default_rng(seed).standard_normal(2 * width + 4096, dtype=np.float32)
        self._bias = np.zeros(width, np.float32)
        self._bias[[*self._tokenizer.closing_ids, *self._vocabulary.eos_token_ids]] = brevity
        self._biased = brevity != 0

    def __repr__(self) -> str:
        return f"<RandomModel {self._name}, seed {self._seed}>"

    @property
    def is_random(self) -> Literal[True]:
        """True: the logits are noise."""
        return True

    def session(self) -> _RandomSession:
        """Start a sequence with its own noise."""
        self._start()
        bias = self._bias if self._biased else None
        return _RandomSession(self._pool, bias, (self._seed, next(self._sessions)))


class _FedTokens:
    """The tokens fed to a session."""

    def __init__(self) -> None:
        self.token_ids: list[int] = []

    @property
    def length(self) -> int:
        """Number of tokens."""
        return len(self.token_ids)

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens."""
        del self.token_ids[length:]


class _ScriptedSession(_FedTokens):
    """A session that writes one reply; see `Session`."""

    def __init__(
        self,
        reply: bytes,
        vocabulary: Vocabulary,
        tokenizer: _GreedyTokenizer,
        prompt: bytes,
        next_reply: Callable[[], str | NDArray[np.float32]],
    ) -> None:
        super().__init__()
        self._reply = ScriptedReply(reply)
        self._next_reply = next_reply
        self._vocabulary = vocabulary
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._text = b""  # of the fed tokens

    def retry(self) -> None:
        """Continue with the next reply, after the current one was rejected."""
        reply = self._next_reply()
        self._reply = ScriptedReply(to_bytes(reply) if isinstance(reply, str) else b"")

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens."""
        super().crop(length)
        self._text = self._bytes(self.token_ids)

    def _bytes(self, token_ids: Sequence[int]) -> bytes:
        tokens = self._vocabulary.tokens
        return b"".join([tokens[i] for i in token_ids])

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; return logits that favour the rest of the reply."""
        self.token_ids += token_ids
        self._text += self._bytes(token_ids)
        tokens, text = self._vocabulary.tokens, self._text
        rest = self._prompt[len(text) :] + self._reply.after(text[len(self._prompt) :])
        logits = np.zeros(self._vocabulary.size, np.float32)
        logits[self._tokenizer.closing_ids] = _CLOSING_LOGIT
        if not rest:  # the reply is complete, or the text differs from the reply
            logits[list(self._vocabulary.eos_token_ids)] = _REPLY_LOGIT
            return logits
        stripped = rest.lstrip(b" \n\r\t")
        if not stripped:
            logits[list(self._vocabulary.eos_token_ids)] = _RELATED_LOGIT
        for text, logit in (
            (stripped, _RELATED_LOGIT),
            (b" " + stripped, _RELATED_LOGIT),
            (rest, _REPLY_LOGIT),
        ):
            for token_id in self._tokenizer.prefixes(text):
                logits[token_id] = logit + len(tokens[token_id]) / 256
        return logits


class _StrictSession(_ScriptedSession):
    """A session that raises `ScriptError` where the text differs from the reply; see `ChecksText`."""

    def check_text(self, token_ids: Sequence[int], *, is_complete: bool) -> None:
        """Check the tokens that were fed, followed by `token_ids`."""
        text = (self._text + self._bytes(token_ids))[len(self._prompt) :]
        reply = self._reply.text
        length, position = self._reply.common_length(text)
        rest = reply[position:]
        is_over = not rest or (not rest.strip() and reply.rstrip().endswith((b"}", b"]")))
        if length == len(text) and (is_over or not is_complete):
            return
        excluded = "the end" if is_over else repr(_shown(rest)[:60])
        allowed = f"for example {_shown(text[length:])[:60]!r}" if length < len(text) else "only the end"
        is_escape = b"\\u" in text[max(0, length - 6) : length]
        remedy = "write json.dumps(..., ensure_ascii=False)" if is_escape else "change the reply"
        raise ScriptError(
            f"the reply {_shown(reply)[:100]!r} cannot be written: after {_shown(text[:length])[-60:]!r} the "
            f"target, or the budget, does not allow {excluded}, but {allowed}; {remedy}, or pass strict=False "
            "to ScriptedModel"
        )


class _ArraySession(_FedTokens):
    """A session with given logits; see `Session`."""

    def __init__(self, rows: NDArray[np.float32], prompt_tokens: int) -> None:
        super().__init__()
        self._rows = rows
        self._prompt_tokens = prompt_tokens

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; return the row of the step, counted from the end of the prompt."""
        self.token_ids += token_ids
        step = min(max(len(self.token_ids) - self._prompt_tokens, 0), len(self._rows) - 1)
        row: NDArray[np.float32] = self._rows[step].astype(np.float32)
        return row


class _RandomSession(_FedTokens):
    """A session with random logits; see `Session`."""

    def __init__(
        self, pool: NDArray[np.float32], bias: NDArray[np.float32] | None, seed: tuple[int, int]
    ) -> None:
        super().__init__()
        self._pool = pool
        self._bias = bias
        self._seed = seed

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; return the noise of the position."""
        self.token_ids += token_ids
        generator = np.random.default_rng([*self._seed, len(self.token_ids)])
        width = (len(self._pool) - 4096) // 2
        start = int(generator.integers(len(self._pool) - width))
        window = self._pool[start : start + width]
        return window if self._bias is None else window + self._bias


class _GreedyTokenizer:
    """Encoder of text, longest token first."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        # Of tokens with equal bytes, the first is used.
        self._ids = {token: i for i, token in reversed(list(enumerate(vocabulary.tokens))) if token}
        lengths: dict[bytes, set[int]] = {}
        for token in self._ids:
            lengths.setdefault(token[:1], set()).add(len(token))
        self._lengths = {start: sorted(each, reverse=True) for start, each in lengths.items()}

    def encode(self, text: bytes) -> list[int]:
        """Encode a text; bytes without a token are dropped."""
        token_ids: list[int] = []
        start = 0
        while start < len(text):
            lengths = self._lengths.get(text[start : start + 1], ())
            length = next((n for n in lengths if text[start : start + n] in self._ids), None)
            if length is not None:
                token_ids.append(self._ids[text[start : start + length]])
            start += length or 1
        return token_ids

    def prefixes(self, text: bytes) -> list[int]:
        """Return the tokens that are prefixes of a text, shortest first."""
        lengths = [length for length in reversed(self._lengths.get(text[:1], ())) if length <= len(text)]
        return [self._ids[text[:length]] for length in lengths if text[:length] in self._ids]

    @cached_property
    def closing_ids(self) -> list[int]:
        """The tokens that start with a closing character of JSON."""
        return [token_id for token, token_id in self._ids.items() if token.startswith(_CLOSING)]


@cache
def _shared_tokenizer(vocabulary: Vocabulary) -> _GreedyTokenizer:
    return _GreedyTokenizer(vocabulary)


def _shown(text: bytes) -> str:
    return text.replace(CONTROL_BYTE, b"").decode(errors="replace")
