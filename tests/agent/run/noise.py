"""Runs of an agent with random models that often start calls, one for each seed."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import structkit as sk
from structkit.models.protocols import Session
from structkit.testing import RandomModel, small_vocabulary
from structkit.vocabulary.control_tokens import display_text

__all__ = ["Way", "random_runs"]

VOCABULARY = small_vocabulary()


Way = Literal["run", "arun", "stream"]


def random_runs(agent: sk.Agent[Any], n: int, seed: int = 0, way: Way = "run") -> list[sk.AgentResult[Any]]:
    """Return the results of `n` runs; pending calls are approved or denied at random."""
    setup = agent._config
    begins = setup.format.start_delimiters(multiple=setup.max_calls > 1)
    openings = [
        display_text(before + setup.format.call_prefix(tool.name)).encode()
        for before in begins
        for tool in setup.tools
    ]
    results = []
    for number in range(seed, seed + n):
        chance = random.Random(number)
        noisy = agent.with_model(_Caller(chance, openings))
        state: sk.RunState | None = None
        while True:
            try:
                if state is None:
                    results.append(_run(noisy, way))
                else:
                    approvals = {each.id: _decision(chance, each) for each in state.pending}
                    results.append(noisy.resume(state, approvals=approvals))
                break
            except sk.RunSuspended as paused:
                state = paused.state
    return results


def _run(agent: sk.Agent[Any], way: Way) -> sk.AgentResult[Any]:
    if way == "run":
        return agent.run("Anything.")
    if way == "arun":
        return asyncio.run(agent.arun("Anything."))
    *_, end = agent.stream("Anything.")
    assert isinstance(end, sk.RunEnd)
    return end.result


class _Caller(RandomModel):
    """A random model; two of three steps start with a call."""

    def __init__(self, chance: random.Random, openings: Sequence[bytes]) -> None:
        super().__init__(chance.randrange(2**32), VOCABULARY, brevity=chance.uniform(1, 6))
        self.chance = chance
        self.openings = openings

    def session(self) -> _Opening:  # type: ignore[override]
        noise = super().session()
        opening = self.chance.choice(self.openings) if self.chance.random() < 0.67 else b""
        return _Opening(noise, self, len(self._last[1]), opening)


class _Opening:
    """Random logits after a fixed opening; see `Session`."""

    def __init__(self, noise: Session, model: _Caller, prompt_tokens: int, opening: bytes) -> None:
        self.noise, self.model, self.prompt_tokens, self.opening = noise, model, prompt_tokens, opening
        self.fed: list[int] = []

    @property
    def length(self) -> int:
        return self.noise.length

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        self.fed += token_ids
        logits: NDArray[np.float32] = self.noise.logits(token_ids).copy()
        written = b"".join(VOCABULARY.tokens[token] for token in self.fed[self.prompt_tokens :])
        if self.opening.startswith(written):
            for token in self.model._tokenizer.prefixes(self.opening[len(written) :]):
                logits[token] += 20.0
        return logits

    def crop(self, length: int) -> None:
        self.noise.crop(length)
        del self.fed[length:]


def _decision(chance: random.Random, call: sk.PendingCall) -> sk.Approve | sk.Deny | bool:
    """Return a random decision; the arguments that the model wrote are valid as changed arguments too."""
    same = sk.Approve(arguments=json.loads(call.arguments))
    return chance.choice([True, False, sk.Deny("not now"), same])
