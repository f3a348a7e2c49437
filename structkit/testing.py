"""For tests: models without weights, small vocabularies, and a hypothesis strategy.

```python
from structkit.testing import RandomModel, ScriptedModel, strategy
```

`structkit.sample` makes example values without a model, and `structkit.check` proves that a type and its guide agree.
With pytest there is the fixture `structkit_model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from structkit.models.scripted import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

if TYPE_CHECKING:
    from structkit.proof.strategy import strategy
    from structkit.tools.agent import Agent
    from structkit.tools.state import AgentResult

__all__ = ["RandomModel", "ScriptedModel", "byte_vocabulary", "exercise", "small_vocabulary", "strategy"]

T = TypeVar("T")
D = TypeVar("D")


def __getattr__(name: str) -> object:
    """Import the strategy when it is first used: it needs the kernels, and the models do not."""
    if name != "strategy":
        raise AttributeError(f"module 'structkit.testing' has no attribute {name!r}")
    from structkit.proof.strategy import strategy

    return strategy


def exercise(
    agent: Agent[T, D],
    n: int = 100,
    *,
    prompt: str = "Anything.",
    deps: D | None = None,
    seed: int = 0,
) -> list[AgentResult[T]]:
    """Run an agent `n` times with a random model in the place of its own: a fuzz test of its tools.

    The model writes anything that the types of the parameters allow, so the tools are really called, with arguments
    that nobody thought of. Calls that need approval are approved of, or not, at random.

    Args:
        agent: The agent.
        n: How many runs.
        prompt: What the model is told.
        deps: As for `Agent.run`.
        seed: Another seed, other runs.

    Returns:
        The results of the runs.

    Raises:
        AgentError: A tool raised something else than `ToolError` or `Pause`, which is the cause; the message has the
            call and the seed of its run.
        StructkitError: What `Agent.run` raises.

    >>> import structkit as sk
    >>> def half(number: int) -> float:
    ...     return 1 / number
    >>> _ = exercise(sk.Agent(RandomModel(), tools=[half]))
    Traceback (most recent call last):
    structkit.errors.AgentError: half(number=0) raised ZeroDivisionError: division by zero at `seed=...`
    """
    from structkit.tools.exercise import exercised

    return exercised(agent, n, prompt, cast("D", deps), seed)
