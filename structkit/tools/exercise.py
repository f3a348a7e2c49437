"""Agents run with a random model, which finds arguments that nobody thought of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import AgentError, Pause, ToolError
from structkit.generate.sample import check_whole
from structkit.models.base import Session
from structkit.models.scripted import RandomModel, small_vocabulary
from structkit.tools.agent import Agent
from structkit.tools.saying import EMPTY_LINE
from structkit.tools.state import AgentResult, RunPaused
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["exercised"]

T = TypeVar("T")
D = TypeVar("D")

_WANTED = 20.0
"""The logit of tokens that begin the call that was chosen, beside noise of about 1."""

_SAID = ("Let me see.", 'Well:\n  - 1 < 2, "quoted" {braces}\nso it is.', "é")
"""What is said before a call or the result with `text=True`."""

_ROUNDS = 3
"""How often a run may pause before all that waits is denied."""


def exercised(agent: Agent[T, D], n: int, prompt: str, deps: D, seed: int) -> list[AgentResult[T]]:
    """See `structkit.testing.exercise`."""
    if not isinstance(agent, Agent):
        raise TypeError(f"exercise takes an agent, such as structkit.Agent(model, tools), not {agent!r:.60}")
    check_whole("n", n, 1)
    vocabulary = small_vocabulary()
    texts = _Texts.of(agent.with_model(RandomModel(seed, vocabulary)))
    results = []
    for number in range(seed, seed + n):
        chance = random.Random(number)
        tried = agent.with_model(_Caller(number, vocabulary, texts, chance))
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


def _resumed(agent: Agent[T, D], paused: RunPaused, deps: D, chance: random.Random) -> AgentResult[T]:
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


@dataclass(frozen=True, slots=True)
class _Texts:
    """What calls begin with, and what stands around several: before them, after each, and between two.

    `said`: what may be said before a call or the result.
    """

    openings: Sequence[str]
    before: str
    closed: str
    between: str
    several: bool
    said: Sequence[str]

    @classmethod
    def of(cls, agent: Agent[T, D]) -> _Texts:
        setup = agent._setup
        around = setup.format.around()
        said = [f"{text}{EMPTY_LINE}" for text in _SAID] if setup.text else []
        return cls(agent.openings, around.before, setup.format.closed(), around.between, setup.most > 1, said)


class _Caller(RandomModel):
    """A random model that begins any of the calls twice as often as the result, or several; the rest is noise.

    Where it may, it says something before half of them.
    """

    def __init__(self, seed: int, vocabulary: Vocabulary, texts: _Texts, chance: random.Random) -> None:
        super().__init__(seed, vocabulary, brevity=chance.uniform(1, 6), name="exercise")
        self._texts = texts
        self._chance = chance

    def session(self) -> _Opening:  # type: ignore[override]
        """Begin a step."""
        noise = super().session()
        texts, more = self._texts, ""
        opening = self._chance.choice([*texts.openings, *texts.openings, ""])
        if opening and texts.several and self._chance.random() < 0.5:
            more = texts.closed + texts.between + self._chance.choice(texts.openings)
            opening = texts.before + opening
        if texts.said and self._chance.random() < 0.5:
            opening = self._chance.choice(texts.said) + opening
        prompt = b"".join(self.vocabulary.tokens[token] for token in self._last[1])
        return _Opening(noise, prompt + opening.encode(), more.encode(), len(texts.closed.encode()), self)

    def begin(self, opening: bytes, written: bytes) -> list[int]:
        """The tokens that go on with an opening."""
        return self._speller.beginnings(opening[len(written) :]) if opening.startswith(written) else []


class _Opening:
    """Noise after an opening, which begins with the prompt, and after another call is begun; see `Session`.

    Args:
        noise: The noise.
        opening: What is written first.
        more: The end of a call and the beginning of the next.
        closed: Bytes of that end.
        model: The model.
    """

    def __init__(self, noise: Session, opening: bytes, more: bytes, closed: int, model: _Caller) -> None:
        self._noise = noise
        self._opening = opening
        self._more = more
        self._closed = closed
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
        for token in self._model.begin(self._opening, written) or self._again(written):
            logits[token] += _WANTED
        return logits

    def _again(self, written: bytes) -> list[int]:
        """The tokens that begin another call where one has ended."""
        more = self._more
        ended = next(
            (at for at in range(len(more) - 1, self._closed - 1, -1) if written.endswith(more[:at])), 0
        )
        return self._model.begin(more, more[:ended]) if ended else []

    def crop(self, length: int) -> None:
        """Forget all but the first tokens."""
        self._noise.crop(length)
        del self._fed[length:]
