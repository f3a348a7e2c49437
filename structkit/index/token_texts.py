"""The tokens of texts: those that spell a text, are a prefix of it, or start with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.index.distance import tokenize
from structkit.vocabulary.trie import Trie

__all__ = ["TokenTexts"]


class TokenTexts:
    """Finds the tokens of texts.

    Args:
        trie: The tokens.
    """

    def __init__(self, trie: Trie) -> None:
        self._trie = trie

    def tokenize(self, text: bytes) -> tuple[int, ...] | None:
        """Return the fewest tokens that spell a text; `None` if there are none."""
        _, tokens = self._tokenize(text)
        return None if tokens is None else tuple(tokens.tolist())

    def fewest_tokens(self, texts: Iterable[bytes]) -> tuple[int, ...]:
        """Return the fewest tokens that spell one of the texts; empty if no text can be spelled.

        Texts at the end of another cost nothing more, so that the shortest texts of all iterations of a rule cost as
        much as the longest.
        """
        longest: list[tuple[bytes, list[int]]] = []
        best, tokens, fewest = b"", None, UNREACHABLE
        # Among equally long texts the order must not depend on that of a set: masks are equal in each process.
        for text in sorted(sorted(texts), key=len, reverse=True):
            spelled = None
            costs = next((costs[-1 - len(text) :] for end, costs in longest if end.endswith(text)), None)
            if costs is None:
                found, spelled = self._tokenize(text)
                costs = found.tolist()
                longest.append((text, costs))
            if costs[0] < fewest:
                best, tokens, fewest = text, spelled, costs[0]
        return tuple(tokens.tolist()) if tokens is not None else self.tokenize(best) or ()

    def _tokenize(self, text: bytes) -> tuple[NDArray[np.int64], NDArray[np.int32] | None]:
        """Return the fewest tokens from each byte on, and those of the whole text; `None` if there are none."""
        trie = self._trie
        (costs, ends), tokens = np.empty((2, len(text) + 1), np.int64), np.empty(len(text), np.int32)
        found = tokenize.tokenize(
            trie.child_first, trie.child_count, trie.child_byte, trie.child_node, trie.first, trie.token_ids,
            np.frombuffer(text, np.uint8), costs, ends, tokens,
        )  # fmt: skip
        return costs, tokens[:found] if found >= 0 else None

    def trie_node(self, text: bytes) -> int | None:
        """Return the trie node of a text; `None` if no token starts with it."""
        nodes = self._nodes(text)
        return int(nodes[-1]) if len(nodes) == len(text) else None

    def prefix_tokens(self, text: bytes) -> list[int]:
        """Return the tokens that are a prefix of a text."""
        trie = self._trie
        return [
            token
            for node in self._nodes(text).tolist()
            for token in trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist()
        ]

    def prefix_and_extension_tokens(self, text: bytes) -> list[int]:
        """Return the tokens that are a prefix of a text, and the tokens that start with the text."""
        trie, node = self._trie, self.trie_node(text) if text else None
        tokens = self.prefix_tokens(text)
        if node is not None:
            tokens += trie.token_ids[trie.first[node + 1] : trie.first[trie.end[node]]].tolist()
        return tokens

    def extension_tokens(self, texts: Sequence[bytes]) -> list[int]:
        """Return the tokens that start with one of the texts, which are sorted."""
        trie, tokens = self._trie, []
        strange: bytes | None = None
        for text in texts:
            if not text or (strange is not None and text.startswith(strange)):
                continue
            nodes = self._nodes(text)
            if len(nodes) < len(text):
                strange = text[: len(nodes) + 1]
            else:
                tokens += trie.token_ids[trie.first[nodes[-1]] : trie.first[trie.end[nodes[-1]]]].tolist()
        return tokens

    def _nodes(self, text: bytes) -> NDArray[np.int32]:
        """Return the trie nodes along a text, as far as the trie goes."""
        trie = self._trie
        nodes = np.empty(len(text), np.int32)
        found = tokenize.trie_path(
            trie.child_first, trie.child_count, trie.child_byte, trie.child_node, np.frombuffer(text, np.uint8), nodes
        )  # fmt: skip
        return nodes[:found]
