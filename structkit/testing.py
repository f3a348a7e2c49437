"""For tests: models without weights, small vocabularies, and a hypothesis strategy.

```python
from structkit.testing import RandomModel, ScriptedModel, strategy
```

`structkit.sample` makes example values without a model, and `structkit.check` proves that a type and its guide agree.
With pytest there is the fixture `structkit_model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structkit.models.scripted import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

if TYPE_CHECKING:
    from structkit.proof.strategy import strategy

__all__ = ["RandomModel", "ScriptedModel", "byte_vocabulary", "small_vocabulary", "strategy"]


def __getattr__(name: str) -> object:
    """Import the strategy when it is first used: it needs the kernels, and the models do not."""
    if name != "strategy":
        raise AttributeError(f"module 'structkit.testing' has no attribute {name!r}")
    from structkit.proof.strategy import strategy

    return strategy
