"""Prompts as tokens: the chat template, one beginning of sequence, and no control token that a person typed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, cast

from structkit.errors import ModelFailed
from structkit.models.protocols import Conversation, Message
from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["PromptEncoder"]

_KNOWN, _SHORT = 4_096, 256
"""Texts whose spellings are remembered, and the most characters that such a text has."""

_Turn: TypeAlias = "dict[str, object]"
"""A message as chat templates take it."""

_THINKING = ("enable_thinking", "thinking")
"""What templates of reasoning models are told: whether thoughts come first, or the answer begins at once."""


class PromptEncoder:
    """A tokenizer of transformers, used so that text stays text.

    A template's control tokens and those in a person's text look alike once rendered. So control tokens in the
    contents are put between marks, private-use characters that no content has, before the template sees them;
    the rendered text is cut at the marks, and what was between them is spelled with ordinary tokens.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        # Splitting control tokens is a switch inside the tokenizer, which threads would turn under each other.
        self._lock = Lock()
        # Every value of a target has the same keys, which are spelled once.
        self._known = lru_cache(maxsize=_KNOWN)(self._spelled)

    @property
    def takes_messages(self) -> bool:
        """Whether there is a template for messages."""
        return self._tokenizer.chat_template is not None or _is_mistral_common(self._tokenizer)

    @property
    def chat_template(self) -> str | None:
        """The text of the template; of several, all of them."""
        template: object = self._tokenizer.chat_template
        return None if template is None or _is_mistral_common(self._tokenizer) else str(template)

    def encode(self, prompt: str | Sequence[Message], *, thinking: bool = False) -> list[int]:
        """Turn a prompt into the first tokens of a sequence; see `LogitsModel.encode`.

        With `thinking` the template is told that thoughts come first.

        Raises:
            ModelFailed: There is no chat template for the messages, it refuses them, or the text is not Unicode.
        """
        messages = _messages(prompt)
        if _is_mistral_common(self._tokenizer):
            return self._templated(messages)
        tools = prompt.tools if isinstance(prompt, Conversation) else ()
        _check_unicode(json.dumps(tools, ensure_ascii=False))
        start, end, held = _unused_characters(3, json.dumps([messages, tools], ensure_ascii=False))
        mark = partial(self._marked, start=start, end=end)
        if self._tokenizer.chat_template is not None:
            arguments = _Arguments(held)
            turns = [_turn(message, mark, arguments) for message in messages]
            rendered = self._rendered(turns, _marked_in(tools, mark), thinking=thinking)
            if any(json.dumps(each)[1:-1] in rendered for each in (start, held)):
                raise ModelFailed(
                    "the chat template writes characters as escapes, so control tokens could not be told from text"
                )
            rendered = arguments.placed(rendered)
        elif isinstance(prompt, str):
            rendered = mark(messages[0]["content"])
        else:
            raise ModelFailed(
                "the tokenizer has no chat template, so it cannot take messages; "
                "pass the prompt as one string, or set tokenizer.chat_template"
            )
        pieces = re.split(f"{start}([^{start}{end}]*){end}|[{start}{end}]", rendered)
        return self._opened(self._encode_pieces([piece or "" for piece in pieces]))

    def encode_text(self, text: str) -> list[int]:
        """Spell text in the middle of a sequence as the tokenizer would; see `LogitsModel.encode_text`.

        Raises:
            ModelFailed: The text is not Unicode.
            VocabularyError: The tokenizer cannot spell it.
        """
        return list(self._known(text) if len(text) <= _SHORT else self._spelled(text))

    def _spelled(self, text: str) -> Sequence[int]:
        _check_unicode(text)
        if not text:
            return []
        wanted = text.encode()
        for ids in self._spellings(text):
            if b"".join(map(self._text_of, ids)) == wanted and all(map(self._text_of, ids)):
                return ids
        return self._vocabulary.spell(wanted)

    def encode_marker(self, text: str) -> list[int]:
        """The added token of a text such as `</think>`, or its spelling if there is none."""
        added = next((token_id for token_id, content in self._added.items() if content == text), None)
        return self.encode_text(text) if added is None else [added]

    def is_added(self, text: str) -> bool:
        """Whether there is an added token of a text."""
        return text in self._added.values()

    def control_token(self, name: str) -> int | None:
        """The control token of a name; see `Marking`."""
        ids = [token_id for token_id, content in self._added.items() if content == name]
        return next((token_id for token_id in ids if not self._text_of(token_id)), None)

    def _spellings(self, text: str) -> Iterable[list[int]]:
        yield self._plain(text, split_special_tokens=True)
        # A sentencepiece tokenizer writes a space before the first word; after a line break it does not.
        anchor = self._plain("\n")
        anchored = self._plain("\n" + text, split_special_tokens=True)
        if anchored[: len(anchor)] == anchor:
            yield anchored[len(anchor) :]

    def _text_of(self, token_id: int) -> bytes:
        return self._vocabulary.tokens[token_id] if token_id < self._vocabulary.size else b""

    def _plain(self, text: str, *, split_special_tokens: bool = False) -> list[int]:
        """The tokenizer, without the tokens it puts around a text."""
        if _is_mistral_common(self._tokenizer):
            # It never reads control tokens from text, and knows no such option.
            return list(self._tokenizer.encode(text, add_special_tokens=False))
        with self._lock:
            ids = self._tokenizer(
                text, add_special_tokens=False, split_special_tokens=split_special_tokens, verbose=False
            )["input_ids"]
        return list(ids)

    def _encode_pieces(self, pieces: list[str]) -> list[int]:
        """Encode a rendered prompt; every second piece is a control token that a person typed."""
        ids = self._plain(pieces[0])
        for typed, following in zip(pieces[1::2], pieces[2::2], strict=True):
            # Cut after its first character, it cannot be taken for the token, not even where that one is text.
            ids += self.encode_text(typed[:1]) + self.encode_text(typed[1:])
            control = self._controls.search(following)
            cut = control.start() if control else len(following)
            ids += self.encode_text(following[:cut]) + self._plain(following[cut:])
        return ids

    def _opened(self, ids: list[int]) -> list[int]:
        """Begin with what the tokenizer puts before every text, exactly once."""
        opening = self._opening
        while opening and ids[: len(opening)] == opening:
            ids = ids[len(opening) :]
        return opening + ids

    @cached_property
    def _opening(self) -> list[int]:
        plain = self._plain("a")
        whole = list(self._tokenizer("a", verbose=False)["input_ids"])
        starts = (start for start in range(len(whole)) if whole[start : start + len(plain)] == plain)
        return whole[: next(starts, 0)]

    @cached_property
    def _controls(self) -> re.Pattern[str]:
        """The added tokens that are not text."""
        return _any_of(content for token_id, content in self._added.items() if not self._text_of(token_id))

    @cached_property
    def _protocol(self) -> re.Pattern[str]:
        """Those, and the added tokens that the template writes, such as `<tool_call>`."""
        template = str(self._tokenizer.chat_template or "")
        return _any_of(
            content
            for token_id, content in self._added.items()
            if not self._text_of(token_id) or (content in template and content.strip())
        )

    @cached_property
    def _added(self) -> Mapping[int, str]:
        return {token_id: token.content for token_id, token in self._tokenizer.added_tokens_decoder.items()}

    def _marked(self, text: str, start: str, end: str, *, own: bool = False) -> str:
        # A model's own turns may hold the tokens its template writes, such as <think>; nobody else's may.
        pieces = (self._controls if own else self._protocol).split(text)
        typed = [position % 2 == 1 or self._hides_control(piece) for position, piece in enumerate(pieces)]
        return "".join(
            f"{start}{piece}{end}" if mark else piece for piece, mark in zip(pieces, typed, strict=True)
        )

    def _hides_control(self, text: str) -> bool:
        """Whether the tokenizer's normalizer makes a control token of the text, as NFKC does of full-width `＜`."""
        if getattr(getattr(self._tokenizer, "backend_tokenizer", None), "normalizer", None) is None:
            return False
        unknown = self._tokenizer.unk_token_id
        return any(token_id != unknown and not self._text_of(token_id) for token_id in self._plain(text))

    def _rendered(self, messages: list[_Turn], tools: object, *, thinking: bool) -> str:
        template: Callable[..., object] = self._tokenizer.apply_chat_template
        told: dict[str, object] = dict.fromkeys(_THINKING, thinking)
        if tools:
            told["tools"] = tools
        try:
            rendered: object = template(messages, tokenize=False, add_generation_prompt=True, **told)
        except ImportError as error:
            raise ModelFailed(
                "the chat template needs jinja2; install it with `pip install structkit[transformers]`"
            ) from error
        except Exception as error:  # the template is a program of the model's author and may raise anything
            raise ModelFailed(f"the model's chat template refuses these messages: {error}") from error
        return str(rendered)

    def _templated(self, messages: list[Message]) -> list[int]:
        """The messages as mistral-common encodes them; it reads no control tokens from text."""
        template: Callable[..., object] = self._tokenizer.apply_chat_template
        try:
            encoded: object = template(messages, tokenize=True, return_dict=True)
        except Exception as error:  # mistral-common validates conversations with exceptions of its own
            raise ModelFailed(f"the model's chat format refuses these messages: {error}") from error
        return list(cast("Mapping[str, list[int]]", encoded)["input_ids"])


class _Arguments:
    """The arguments of calls, which a template is given as placeholders, so that they stay as they were written."""

    def __init__(self, held: str) -> None:
        self._held = held
        self._texts: list[str] = []

    def hold(self, text: str) -> dict[str, int]:
        """An object that stands for a text."""
        self._texts.append(text)
        return {f"{self._held}{len(self._texts) - 1}{self._held}": 0}

    def placed(self, rendered: str) -> str:
        """What a template rendered, with the texts in place of what stands for them."""
        pattern = rf'\{{\s*"{self._held}(\d+){self._held}"\s*:\s*0\s*\}}'
        return re.sub(pattern, lambda found: self._texts[int(found[1])], rendered)


def _turn(message: Message, mark: Callable[..., str], arguments: _Arguments) -> _Turn:
    """A message as templates take it, with control tokens that were typed between marks."""
    role = mark(message["role"])
    if "calls" in message:
        calls = [
            {
                "type": "function",
                "id": mark(id),
                "function": {"name": mark(name), "arguments": arguments.hold(mark(text))},
            }
            for id, name, text in message["calls"]
        ]
        said = mark(message.get("said", ""), own=True)
        return {"role": role, "content": said, "tool_calls": calls}
    turn: _Turn = {"role": role, "content": mark(message["content"], own=message["role"] == "assistant")}
    if "name" in message:
        turn["name"] = mark(message["name"])
    if "id" in message:
        turn["tool_call_id"] = mark(message["id"])
    return turn


def _marked_in(value: object, mark: Callable[..., str]) -> object:
    """A JSON value with its texts marked, the names of fields too."""
    if isinstance(value, str):
        return mark(value)
    if isinstance(value, Mapping):
        return {mark(str(key)): _marked_in(each, mark) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked_in(each, mark) for each in value]
    return value


def _messages(prompt: str | Sequence[Message]) -> list[Message]:
    """Copies of the messages, or of the one that a string is."""
    messages: list[Message] = []
    for message in [Message(role="user", content=prompt)] if isinstance(prompt, str) else prompt:
        if not isinstance(prompt, Conversation) and not _is_plain(message):
            raise ModelFailed(
                "a message is {'role': ..., 'content': ...}, both of them strings; write all else into the content",
                place=f"prompt[{len(messages)}]",
            )
        called = "".join("".join(call) for call in message.get("calls", ()))
        named = message.get("name", "") + message.get("id", "")
        _check_unicode(message["role"] + message["content"] + named + called)
        messages.append(message.copy())
    return messages


def _is_plain(message: Mapping[str, object]) -> bool:
    return set(message) == {"role", "content"} and all(isinstance(text, str) for text in message.values())


def _any_of(contents: Iterable[str]) -> re.Pattern[str]:
    """A pattern, one group, for the longest of the contents that fits; it never matches if there are none."""
    longest_first = sorted(filter(None, contents), key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")


def _unused_characters(count: int, text: str) -> list[str]:
    """Private-use characters that are not in the text."""
    used = set(text)
    unused = (character for character in map(chr, range(0xF0000, 0xFFFFE)) if character not in used)
    return [next(unused) for _ in range(count)]


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ModelFailed(
            f"the text is not Unicode: character {error.start} is half of a surrogate pair; "
            "decode it with errors='replace'",
            place="prompt",
        ) from error


def _is_mistral_common(tokenizer: PreTrainedTokenizerBase) -> bool:
    return hasattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer")
