"""Prompts as tokens: the chat template, one beginning of sequence, and no control token that a person typed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, cast

from structkit.errors import ModelError
from structkit.models.protocols import Conversation, Message
from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["PromptEncoder"]

_MAX_CACHED, _MAX_CACHED_LENGTH = 4_096, 256
"""Texts whose spellings are remembered, and the most characters that such a text has."""

_TemplateMessage: TypeAlias = "dict[str, object]"
"""A message as chat templates take it."""

_THINKING_FLAGS = ("enable_thinking", "thinking")
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
        self._cached_ids = lru_cache(maxsize=_MAX_CACHED)(self._encode_uncached)

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
            ModelError: There is no chat template for the messages, it refuses them, or the text is not Unicode.
        """
        messages = _copied_messages(prompt)
        if _is_mistral_common(self._tokenizer):
            return self._encode_mistral(messages)
        tools = prompt.tools if isinstance(prompt, Conversation) else ()
        _check_unicode(json.dumps(tools, ensure_ascii=False))
        start, end, held = _unused_characters(3, json.dumps([messages, tools], ensure_ascii=False))
        mark = partial(self._delimit_controls, start=start, end=end)
        if self._tokenizer.chat_template is not None:
            arguments = _ArgumentPlaceholders(held)
            turns = [_template_message(message, mark, arguments) for message in messages]
            rendered = self._render(turns, _delimit_in(tools, mark), thinking=thinking)
            if any(json.dumps(each)[1:-1] in rendered for each in (start, held)):
                raise ModelError(
                    "the chat template writes characters as escapes, so control tokens could not be told from text"
                )
            rendered = arguments.restore(rendered)
        elif isinstance(prompt, str):
            rendered = mark(messages[0]["content"])
        else:
            raise ModelError(
                "the tokenizer has no chat template, so it cannot take messages; "
                "pass the prompt as one string, or set tokenizer.chat_template"
            )
        pieces = re.split(f"{start}([^{start}{end}]*){end}|[{start}{end}]", rendered)
        return self._with_bos(self._encode_pieces([piece or "" for piece in pieces]))

    def encode_text(self, text: str) -> list[int]:
        """Spell text in the middle of a sequence as the tokenizer would; see `LogitsModel.encode_text`.

        Raises:
            ModelError: The text is not Unicode.
            VocabularyError: The tokenizer cannot spell it.
        """
        return list(
            self._cached_ids(text) if len(text) <= _MAX_CACHED_LENGTH else self._encode_uncached(text)
        )

    def _encode_uncached(self, text: str) -> Sequence[int]:
        _check_unicode(text)
        if not text:
            return []
        wanted = text.encode()
        for ids in self._candidate_encodings(text):
            if b"".join(map(self._text_of, ids)) == wanted and all(map(self._text_of, ids)):
                return ids
        return self._vocabulary.tokenize(wanted)

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

    def _candidate_encodings(self, text: str) -> Iterable[list[int]]:
        yield self._encode_bare(text, split_special_tokens=True)
        # A sentencepiece tokenizer writes a space before the first word; after a line break it does not.
        anchor = self._encode_bare("\n")
        anchored = self._encode_bare("\n" + text, split_special_tokens=True)
        if anchored[: len(anchor)] == anchor:
            yield anchored[len(anchor) :]

    def _text_of(self, token_id: int) -> bytes:
        return self._vocabulary.tokens[token_id] if token_id < self._vocabulary.size else b""

    def _encode_bare(self, text: str, *, split_special_tokens: bool = False) -> list[int]:
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
        ids = self._encode_bare(pieces[0])
        for typed, following in zip(pieces[1::2], pieces[2::2], strict=True):
            # Cut after its first character, it cannot be taken for the token, not even where that one is text.
            ids += self.encode_text(typed[:1]) + self.encode_text(typed[1:])
            control = self._control_pattern.search(following)
            cut = control.start() if control else len(following)
            ids += self.encode_text(following[:cut]) + self._encode_bare(following[cut:])
        return ids

    def _with_bos(self, ids: list[int]) -> list[int]:
        """Begin with what the tokenizer puts before every text, exactly once."""
        opening = self._bos_ids
        while opening and ids[: len(opening)] == opening:
            ids = ids[len(opening) :]
        return opening + ids

    @cached_property
    def _bos_ids(self) -> list[int]:
        plain = self._encode_bare("a")
        whole = list(self._tokenizer("a", verbose=False)["input_ids"])
        starts = (start for start in range(len(whole)) if whole[start : start + len(plain)] == plain)
        return whole[: next(starts, 0)]

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        """The added tokens that are not text."""
        return _alternation(
            content for token_id, content in self._added.items() if not self._text_of(token_id)
        )

    @cached_property
    def _template_token_pattern(self) -> re.Pattern[str]:
        """Those, and the added tokens that the template writes, such as `<tool_call>`."""
        template = str(self._tokenizer.chat_template or "")
        return _alternation(
            content
            for token_id, content in self._added.items()
            if not self._text_of(token_id) or (content in template and content.strip())
        )

    @cached_property
    def _added(self) -> Mapping[int, str]:
        return {token_id: token.content for token_id, token in self._tokenizer.added_tokens_decoder.items()}

    def _delimit_controls(self, text: str, start: str, end: str, *, from_model: bool = False) -> str:
        # A model's own turns may hold the tokens its template writes, such as <think>; nobody else's may.
        pieces = (self._control_pattern if from_model else self._template_token_pattern).split(text)
        typed = [position % 2 == 1 or self._hides_control(piece) for position, piece in enumerate(pieces)]
        return "".join(
            f"{start}{piece}{end}" if mark else piece for piece, mark in zip(pieces, typed, strict=True)
        )

    def _hides_control(self, text: str) -> bool:
        """Whether the tokenizer's normalizer makes a control token of the text, as NFKC does of full-width `＜`."""
        if getattr(getattr(self._tokenizer, "backend_tokenizer", None), "normalizer", None) is None:
            return False
        unknown = self._tokenizer.unk_token_id
        return any(
            token_id != unknown and not self._text_of(token_id) for token_id in self._encode_bare(text)
        )

    def _render(self, messages: list[_TemplateMessage], tools: object, *, thinking: bool) -> str:
        template: Callable[..., object] = self._tokenizer.apply_chat_template
        told: dict[str, object] = dict.fromkeys(_THINKING_FLAGS, thinking)
        if tools:
            told["tools"] = tools
        try:
            rendered: object = template(messages, tokenize=False, add_generation_prompt=True, **told)
        except ImportError as error:
            raise ModelError(
                "the chat template needs jinja2; install it with `pip install structkit[transformers]`"
            ) from error
        except Exception as error:  # the template is a program of the model's author and may raise anything
            raise ModelError(f"the model's chat template refuses these messages: {error}") from error
        return str(rendered)

    def _encode_mistral(self, messages: list[Message]) -> list[int]:
        """The messages as mistral-common encodes them; it reads no control tokens from text."""
        template: Callable[..., object] = self._tokenizer.apply_chat_template
        try:
            encoded: object = template(messages, tokenize=True, return_dict=True)
        except Exception as error:  # mistral-common validates conversations with exceptions of its own
            raise ModelError(f"the model's chat format refuses these messages: {error}") from error
        return list(cast("Mapping[str, list[int]]", encoded)["input_ids"])


class _ArgumentPlaceholders:
    """The arguments of calls, which a template is given as placeholders, so that they stay as they were written."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._texts: list[str] = []

    def placeholder(self, text: str) -> dict[str, int]:
        """An object that stands for a text."""
        self._texts.append(text)
        return {f"{self._marker}{len(self._texts) - 1}{self._marker}": 0}

    def restore(self, rendered: str) -> str:
        """What a template rendered, with the texts in place of what stands for them."""
        pattern = rf'\{{\s*"{self._marker}(\d+){self._marker}"\s*:\s*0\s*\}}'
        return re.sub(pattern, lambda found: self._texts[int(found[1])], rendered)


def _template_message(
    message: Message, delimit: Callable[..., str], arguments: _ArgumentPlaceholders
) -> _TemplateMessage:
    """A message as templates take it, with control tokens that were typed between marks."""
    role = delimit(message["role"])
    if "tool_calls" in message:
        calls = [
            {
                "type": "function",
                "id": delimit(id),
                "function": {"name": delimit(name), "arguments": arguments.placeholder(delimit(text))},
            }
            for id, name, text in message["tool_calls"]
        ]
        said = delimit(message.get("text", ""), from_model=True)
        return {"role": role, "content": said, "tool_calls": calls}
    turn: _TemplateMessage = {
        "role": role,
        "content": delimit(message["content"], from_model=message["role"] == "assistant"),
    }
    if "name" in message:
        turn["name"] = delimit(message["name"])
    if "tool_call_id" in message:
        turn["tool_call_id"] = delimit(message["tool_call_id"])
    return turn


def _delimit_in(value: object, delimit: Callable[..., str]) -> object:
    """A JSON value with its texts marked, the names of fields too."""
    if isinstance(value, str):
        return delimit(value)
    if isinstance(value, Mapping):
        return {delimit(str(key)): _delimit_in(each, delimit) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_delimit_in(each, delimit) for each in value]
    return value


def _copied_messages(prompt: str | Sequence[Message]) -> list[Message]:
    """Copies of the messages, or of the one that a string is."""
    messages: list[Message] = []
    for message in [Message(role="user", content=prompt)] if isinstance(prompt, str) else prompt:
        if not isinstance(prompt, Conversation) and not _is_plain(message):
            raise ModelError(
                "a message is {'role': ..., 'content': ...}, both of them strings; write all else into the content",
                place=f"prompt[{len(messages)}]",
            )
        called = "".join("".join(call) for call in message.get("tool_calls", ()))
        named = message.get("name", "") + message.get("tool_call_id", "")
        _check_unicode(message["role"] + message["content"] + named + called)
        messages.append(message.copy())
    return messages


def _is_plain(message: Mapping[str, object]) -> bool:
    return set(message) == {"role", "content"} and all(isinstance(text, str) for text in message.values())


def _alternation(contents: Iterable[str]) -> re.Pattern[str]:
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
        raise ModelError(
            f"the text is not Unicode: character {error.start} is half of a surrogate pair; "
            "decode it with errors='replace'",
            place="prompt",
        ) from error


def _is_mistral_common(tokenizer: PreTrainedTokenizerBase) -> bool:
    return hasattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer")
