"""Logits processors for `processors=[...]`.

```python
import structkit as sk
from structkit.testing import RandomModel

sk.extract(RandomModel(), "A word.", sk.Regex("[a-z]{9}"), processors=[sk.processors.Suppress("[aeiou]")])
```
"""

from __future__ import annotations

from structkit.generate.sample.processors import MASK, Penalty, Processor, Suppress

__all__ = ["MASK", "Penalty", "Processor", "Suppress"]
