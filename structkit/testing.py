"""For tests: models without weights, and small vocabularies.

```python
from structkit.testing import RandomModel, ScriptedModel
```
"""

from __future__ import annotations

from structkit.models.scripted import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

__all__ = ["RandomModel", "ScriptedModel", "byte_vocabulary", "small_vocabulary"]
