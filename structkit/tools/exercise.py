"""Agents run with a random model, which finds arguments that nobody thought of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import AgentError, Pause, ToolError
from structkit.models.base import Session
from structkit.models.scripted import RandomModel, small_vocabulary
from structkit.tools.agent import Agent
from structkit.tools.state import AgentResult, RunPaused
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["exercised"]

T = TypeVar("T")

_WANTED = 20.0
"""The logit of tokens that begin the call that was chosen, beside noise of about 1."""

_ROUNDS = 3
"""How often a run may pause before all that waits is denied."""


def exercised(agent: Agent[T], n: int, prompt: str, deps: object, seed: int) -> list[AgentResult[T]]:
    """See `structkit.testing.exercise`."""
    vocabulary = small_vocabulary()
    openings = agent.with_model(RandomModel(seed, vocabulary)).openings
    results = []
    for number in range(seed, seed + n):
        chance = random.Random(number)
        tried = agent.with_model(_Caller(number, vocabulary, openings, chance))
        try:
            result = tried.run(prompt, deps=deps)
        except RunPaused as paused:
            result = _resumed(tried, paused, deps, chance)
        _check(result, number)
        results.append(result)
    return results


def _check(result: AgentResult[T], seed: int) -> None:
    for call in result.calls:
        if call.raised is not None and not isinstance(call.raised, (ToolError, Pause)):
            arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            raise AgentError(
                f"{call.name}({arguments}) raised {call.error}", place=f"seed={seed}"
            ) from call.raised


def _resumed(agent: Agent[T], paused: RunPaused, deps: object, chance: random.Random) -> AgentResult[T]:
    """Go on with a run, whatever it waits for."""
    rounds = 0
    while True:
        rounds += 1
        ways: list[bool | str] = [True, False, "not now"] if rounds <= _ROUNDS else [False]
        approvals = {each.id: chance.choice(ways) for each in paused.state.pending}
        try:
            return agent.resume(paused.state, approvals=approvals, deps=deps)
        except RunPaused as again:
            paused = again


class _Caller(RandomModel):
    """A random model that begins any of the calls twice as often as the result; the rest is noise."""

    def __init__(
        self, seed: int, vocabulary: Vocabulary, openings: Sequence[str], chance: random.Random
    ) -> None:
        super().__init__(seed, vocabulary, brevity=chance.uniform(1, 6), name="exercise")
        self._openings = openings
        self._chance = chance

    def session(self) -> _Opening:  # type: ignore[override]
        """Begin a step."""
        noise = super().session()
        opening = self._chance.choice([*self._openings, *self._openings, ""])
        prompt = b"".join(self.vocabulary.tokens[token] for token in self._last[1])
        return _Opening(noise, prompt + opening.encode(), self)

    def begin(self, opening: bytes, written: bytes) -> list[int]:
        """The tokens that go on with an opening."""
        return self._speller.beginnings(opening[len(written) :]) if opening.startswith(written) else []


class _Opening:
    """Noise after an opening, which begins with the prompt; see `Session`."""

    def __init__(self, noise: Session, opening: bytes, model: _Caller) -> None:
        self._noise = noise
        self._opening = opening
        self._model = model
        self._fed: list[int] = []

    @property
    def length(self) -> int:
        """How many tokens were fed."""
        return self._noise.length

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens."""
        self._fed += token_ids
        logits: NDArray[np.float32] = self._noise.logits(token_ids).copy()
        tokens = self._model.vocabulary.tokens
        written = b"".join(tokens[token] for token in self._fed)
        for token in self._model.begin(self._opening, written):
            logits[token] += _WANTED
        return logits

    def crop(self, length: int) -> None:
        """Forget all but the first tokens."""
        self._noise.crop(length)
        del self._fed[length:]
