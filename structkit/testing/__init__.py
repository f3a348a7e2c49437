"""For tests: models without weights, small vocabularies, and a hypothesis strategy.

```python
from structkit.testing import RandomModel, ScriptedModel, strategy
```

`structkit.sample` makes example values without a model, and `structkit.check` proves that a type and its guide agree.
With pytest there is the fixture `structkit_model`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.models.scripted import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary
    from structkit.testing.proof.strategy import strategy

__all__ = ["RandomModel", "ScriptedModel", "byte_vocabulary", "small_vocabulary", "strategy"]


def __getattr__(name: str) -> object:
    """Import a name when it is first used: pytest imports this package at its start, for the plugin in it."""
    if name not in __all__:
        raise AttributeError(f"module 'structkit.testing' has no attribute {name!r}")
    home = "structkit.testing.proof.strategy" if name == "strategy" else "structkit.models.scripted"
    return getattr(import_module(home), name)
