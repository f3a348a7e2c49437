"""Encoding of prompts: chat template, one beginning-of-sequence token, no control tokens from user text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Protocol, TypeAlias, cast

from structkit.errors import MissingExtra, ModelError
from structkit.models.protocols import Conversation, Message
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["AddedToken", "ChatTokenizer", "PromptEncoder"]

_MAX_CACHED, _MAX_CACHED_LENGTH = 4_096, 256
"""Size of the cache of encoded texts, and maximum number of characters of a cached text."""

_TemplateMessage: TypeAlias = "dict[str, object]"
"""A message in the format of chat templates."""

_THINKING_FLAGS = ("enable_thinking", "thinking")
"""Template variables of reasoning models: whether to think before the answer."""


class AddedToken(Protocol):
    """A token that a tokenizer finds in a text before it splits the text, such as `<|im_end|>`."""

    @property
    def content(self) -> str:
        """The text of the token."""
        ...


class ChatTokenizer(Protocol):
    """The interface of a tokenizer with a chat template; transformers has many of them."""

    @property
    def chat_template(self) -> object:
        """The source of the chat template, or sources by name."""
        ...

    @property
    def unk_token_id(self) -> int | None:
        """The id of the unknown token."""
        ...

    @property
    def added_tokens_decoder(self) -> Mapping[int, AddedToken]:
        """The added tokens by id."""
        ...

    def __call__(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        split_special_tokens: bool = False,
        verbose: bool = True,
    ) -> Mapping[str, Sequence[int]]:
        """Encode a text, and return its tokens as `input_ids`.

        Args:
            text: The text.
            add_special_tokens: Whether to put the special tokens around the text that start and end a sequence.
            split_special_tokens: Whether control tokens in the text are read as text.
            verbose: Whether to warn about long texts.
        """
        ...

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Sequence[int]:
        """Encode a text."""
        ...

    def apply_chat_template(self, conversation: list[_TemplateMessage], **options: object) -> object:
        """Render messages; `options` are those of transformers, and variables of the template."""
        ...


class PromptEncoder:
    """Encoder of a tokenizer that keeps text as text.

    After rendering, control tokens of the template and the same strings in user text are indistinguishable. So control
    tokens in contents are delimited with private-use characters that occur in no content, before the template reads
    them. The rendered text is split at these characters, and the parts between them are encoded as ordinary tokens.
    """

    def __init__(self, tokenizer: ChatTokenizer, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        # The split of control tokens is mutable state of the tokenizer, so threads need a lock.
        self._lock = Lock()
        # Cached, because every value of a target has the same keys.
        self._cached_ids = lru_cache(maxsize=_MAX_CACHED)(self._encode_uncached)

    @property
    def takes_messages(self) -> bool:
        """Whether there is a chat template."""
        return self._tokenizer.chat_template is not None or _is_mistral_common(self._tokenizer)

    @property
    def chat_template(self) -> str | None:
        """The source of the chat template, or of all chat templates if there is more than one."""
        template: object = self._tokenizer.chat_template
        return None if template is None or _is_mistral_common(self._tokenizer) else str(template)

    def encode(self, prompt: str | Sequence[Message], *, thinking: bool = False) -> list[int]:
        """Encode a prompt as the first tokens of a sequence; see `LogitsModel.encode`.

        With `thinking`, the template variables enable thinking before the answer.

        Raises:
            ModelError: Messages without a chat template, the template raises, or the text is not Unicode.
        """
        messages = _copied_messages(prompt)
        if _is_mistral_common(self._tokenizer):
            return self._encode_mistral(messages)
        tools = prompt.tools if isinstance(prompt, Conversation) else ()
        _check_unicode(json.dumps(tools, ensure_ascii=False))
        start, end, placeholder = _unused_characters(3, json.dumps([messages, tools], ensure_ascii=False))
        delimit = partial(self._delimit_controls, start=start, end=end)
        if self._tokenizer.chat_template is not None:
            arguments = _ArgumentPlaceholders(placeholder)
            turns = [_template_message(message, delimit, arguments) for message in messages]
            rendered = self._render(turns, _delimit_in(tools, delimit), thinking=thinking)
            if any(json.dumps(each)[1:-1] in rendered for each in (start, placeholder)):
                raise ModelError(
                    "the chat template escapes characters, so control tokens cannot be distinguished from text; "
                    "pass a prompt as a string"
                )
            rendered = arguments.restore(rendered)
        elif isinstance(prompt, str):
            return self.encode_plain(prompt)
        else:
            raise ModelError(
                "the tokenizer has no chat template, so it cannot encode messages; "
                "pass the prompt as one string, or set tokenizer.chat_template"
            )
        return self._encode_delimited(rendered, start, end)

    def encode_plain(self, text: str) -> list[int]:
        """Encode a text without a chat template; see `SupportsPlainText.encode_plain`.

        Raises:
            ModelError: The text is not Unicode.
        """
        _check_unicode(text)
        if _is_mistral_common(self._tokenizer):
            return self._with_bos(self.encode_text(text))
        start, end = _unused_characters(2, text)
        return self._encode_delimited(self._delimit_controls(text, start, end), start, end)

    def _encode_delimited(self, rendered: str, start: str, end: str) -> list[int]:
        pieces = re.split(f"{start}([^{start}{end}]*){end}|[{start}{end}]", rendered)
        return self._with_bos(self._encode_pieces([piece or "" for piece in pieces]))

    def encode_text(self, text: str) -> list[int]:
        """Encode text in the middle of a sequence; see `LogitsModel.encode_text`.

        Raises:
            ModelError: The text is not Unicode.
            VocabularyError: The tokenizer cannot encode it.
        """
        return list(
            self._cached_ids(text) if len(text) <= _MAX_CACHED_LENGTH else self._encode_uncached(text)
        )

    def _encode_uncached(self, text: str) -> Sequence[int]:
        _check_unicode(text)
        if not text:
            return []
        content = text.encode()
        for ids in self._candidate_encodings(text):
            if b"".join(map(self._text_of, ids)) == content and all(map(self._text_of, ids)):
                return ids
        return self._vocabulary.tokenize(content)

    def encode_tag(self, text: str) -> list[int]:
        """Return the added token of a text such as `</think>`, or its encoding if there is none."""
        added = next((token_id for token_id, content in self._added.items() if content == text), None)
        return self.encode_text(text) if added is None else [added]

    def is_added(self, text: str) -> bool:
        """Return whether the text is an added token."""
        return text in self._added.values()

    def control_token(self, name: str) -> int | None:
        """Return the control token of a name; see `SupportsControlTokens`."""
        ids = [token_id for token_id, content in self._added.items() if content == name]
        return next((token_id for token_id in ids if not self._text_of(token_id)), None)

    def _candidate_encodings(self, text: str) -> Iterable[list[int]]:
        yield self._encode_bare(text, split_special_tokens=True)
        # A sentencepiece tokenizer inserts a space before the first word, but not after a line break.
        anchor = self._encode_bare("\n")
        anchored = self._encode_bare("\n" + text, split_special_tokens=True)
        if anchored[: len(anchor)] == anchor:
            yield anchored[len(anchor) :]

    def _text_of(self, token_id: int) -> bytes:
        return self._vocabulary.tokens[token_id] if token_id < self._vocabulary.size else b""

    def _encode_bare(self, text: str, *, split_special_tokens: bool = False) -> list[int]:
        """Encode without the special tokens that the tokenizer adds around a text."""
        if _is_mistral_common(self._tokenizer):
            # mistral-common never parses control tokens from text, and has no such option.
            return list(self._tokenizer.encode(text, add_special_tokens=False))
        with self._lock:
            ids = self._tokenizer(
                text, add_special_tokens=False, split_special_tokens=split_special_tokens, verbose=False
            )["input_ids"]
        return list(ids)

    def _encode_pieces(self, pieces: list[str]) -> list[int]:
        """Encode a rendered prompt; every second piece is a control token from user text."""
        ids = self._encode_bare(pieces[0])
        for user_text, following in zip(pieces[1::2], pieces[2::2], strict=True):
            # Split after the first character, the text cannot match the token, even where added tokens are matched.
            ids += self.encode_text(user_text[:1]) + self.encode_text(user_text[1:])
            control = self._control_pattern.search(following)
            text_end = control.start() if control else len(following)
            ids += self.encode_text(following[:text_end]) + self._encode_bare(following[text_end:])
        return ids

    def _with_bos(self, ids: list[int]) -> list[int]:
        """Add the tokens that the tokenizer puts before every text, exactly once."""
        opening = self._bos_ids
        while opening and ids[: len(opening)] == opening:
            ids = ids[len(opening) :]
        return opening + ids

    @cached_property
    def _bos_ids(self) -> list[int]:
        plain = self._encode_bare("a")
        with self._lock:
            with_special = list(self._tokenizer("a", verbose=False)["input_ids"])
        starts = (
            start for start in range(len(with_special)) if with_special[start : start + len(plain)] == plain
        )
        return with_special[: next(starts, 0)]

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        """Pattern of the added tokens that are not text."""
        return _alternation(
            content for token_id, content in self._added.items() if not self._text_of(token_id)
        )

    @cached_property
    def _template_token_pattern(self) -> re.Pattern[str]:
        """Pattern of the control tokens and the added tokens that the template writes, such as `<tool_call>`."""
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
        # Only messages of the model may contain tokens that its template writes, such as <think>.
        pieces = (self._control_pattern if from_model else self._template_token_pattern).split(text)
        return "".join(
            f"{start}{piece}{end}" if position % 2 == 1 or self._hides_control(piece) else piece
            for position, piece in enumerate(pieces)
        )

    def _hides_control(self, text: str) -> bool:
        """Return whether the tokenizer's normalizer creates a control token, as NFKC does from full-width `＜`."""
        if getattr(getattr(self._tokenizer, "backend_tokenizer", None), "normalizer", None) is None:
            return False
        unknown = self._tokenizer.unk_token_id
        return any(
            token_id != unknown and not self._text_of(token_id) for token_id in self._encode_bare(text)
        )

    def _render(self, messages: list[_TemplateMessage], tools: object, *, thinking: bool) -> str:
        template: Callable[..., object] = self._tokenizer.apply_chat_template
        variables: dict[str, object] = dict.fromkeys(_THINKING_FLAGS, thinking)
        if tools:
            variables["tools"] = tools
        try:
            rendered: object = template(messages, tokenize=False, add_generation_prompt=True, **variables)
        except ImportError as error:
            raise MissingExtra("transformers", "the chat template needs", "jinja2") from error
        except Exception as error:  # the template is code of the model's author
            raise ModelError(
                f"the model's chat template rejected the messages: {error}; write roles in the order that it takes"
            ) from error
        return str(rendered)

    def _encode_mistral(self, messages: list[Message]) -> list[int]:
        """Encode messages with mistral-common, which parses no control tokens from text."""
        template: Callable[..., object] = self._tokenizer.apply_chat_template
        try:
            encoded: object = template(messages, tokenize=True, return_dict=True)
        except Exception as error:  # mistral-common has its own exceptions
            raise ModelError(
                f"the model's chat format rejected the messages: {error}; write roles in the order that it takes"
            ) from error
        return list(cast("Mapping[str, list[int]]", encoded)["input_ids"])


class _ArgumentPlaceholders:
    """Placeholders for the arguments of calls, so that a template does not reformat the arguments."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._texts: list[str] = []

    def placeholder(self, text: str) -> dict[str, int]:
        """Return an object as placeholder of a text."""
        self._texts.append(text)
        return {f"{self._marker}{len(self._texts) - 1}{self._marker}": 0}

    def restore(self, rendered: str) -> str:
        """Replace the placeholders in rendered text by their texts."""
        pattern = rf'\{{\s*"{self._marker}(\d+){self._marker}"\s*:\s*0\s*\}}'
        return re.sub(pattern, lambda match: self._texts[int(match[1])], rendered)


def _template_message(
    message: Message, delimit: Callable[..., str], arguments: _ArgumentPlaceholders
) -> _TemplateMessage:
    """Return a message in the format of templates, with control tokens of its contents delimited."""
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
        preamble = delimit(message.get("text", ""), from_model=True)
        return {"role": role, "content": preamble, "tool_calls": calls}
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
    """Return a JSON value with its strings and keys delimited."""
    if isinstance(value, str):
        return delimit(value)
    if isinstance(value, Mapping):
        return {delimit(str(key)): _delimit_in(each, delimit) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_delimit_in(each, delimit) for each in value]
    return value


def _copied_messages(prompt: str | Sequence[Message]) -> list[Message]:
    """Return copies of the messages; a string becomes one message."""
    messages: list[Message] = []
    for message in [Message(role="user", content=prompt)] if isinstance(prompt, str) else prompt:
        if not isinstance(prompt, Conversation) and not _is_plain(message):
            raise ModelError(
                "a message must be {'role': ..., 'content': ...} with strings as values; write other data into the "
                "content",
                place=f"prompt[{len(messages)}]",
            )
        calls = "".join("".join(call) for call in message.get("tool_calls", ()))
        names = message.get("name", "") + message.get("tool_call_id", "")
        _check_unicode(message["role"] + message["content"] + names + calls)
        messages.append(message.copy())
    return messages


def _is_plain(message: Mapping[str, object]) -> bool:
    return set(message) == {"role", "content"} and all(isinstance(text, str) for text in message.values())


def _alternation(contents: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern with one group that matches the longest of the contents; without contents, it never matches."""
    longest_first = sorted(filter(None, contents), key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")


def _unused_characters(count: int, text: str) -> list[str]:
    """Return private-use characters that do not occur in the text."""
    used = set(text)
    unused = (character for character in map(chr, range(0xF0000, 0xFFFFE)) if character not in used)
    return [next(unused) for _ in range(count)]


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ModelError(
            f"the text is not Unicode: character {error.start} is a lone surrogate; "
            "decode it with errors='replace'",
            place="prompt",
        ) from error


def _is_mistral_common(tokenizer: ChatTokenizer) -> bool:
    return hasattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer")
