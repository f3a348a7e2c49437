"""One lock for each model: a model computes one step at a time."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from structkit.generate.input.arguments import check_model
from structkit.models.protocols import LogitsModel

__all__ = ["MODEL_LOCKS", "ModelLocks"]


class ModelLocks:
    """The locks of models. A lock is held for one step, and is reentrant: the code of a model may use the model."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[LogitsModel, threading.RLock] = WeakKeyDictionary()
        self._guard = threading.Lock()

    def lock_of(self, model: LogitsModel) -> threading.RLock:
        """Return the lock of a model."""
        check_model(model)
        with self._guard:
            return self._locks.setdefault(model, threading.RLock())


MODEL_LOCKS = ModelLocks()
"""The locks of all models."""
