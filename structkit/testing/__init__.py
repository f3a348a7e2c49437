"""Test helpers: models without weights, small vocabularies, and a hypothesis strategy.

```python
from structkit.testing import RandomModel, ScriptedModel, strategy
```

`structkit.sample` generates example values without a model, and `structkit.check` searches for disagreements between a
type and its guide. With pytest, the fixture `structkit_model` is available.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.models.scripted import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary
    from structkit.testing.proof.strategy import strategy

__all__ = ["RandomModel", "ScriptedModel", "byte_vocabulary", "small_vocabulary", "strategy"]


def __getattr__(name: str) -> object:
    """Import a name on first use: pytest imports this package at startup, because of the plugin in it."""
    if name not in __all__:
        remedy = f"; write structkit.{name}" if name in ("check", "sample") else ""
        raise AttributeError(f"module 'structkit.testing' has no attribute {name!r}{remedy}")
    home = "structkit.testing.proof.strategy" if name == "strategy" else "structkit.models.scripted"
    return getattr(import_module(home), name)
