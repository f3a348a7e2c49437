"""Guides in vLLM: a logits processor that serves `LLM(logits_processors=[Guided])` and `vllm serve`.

`vllm serve MODEL --logits-processors structkit.integrations.vllm:Guided`; requests name their target in
`SamplingParams.extra_args`, or `vllm_xargs` over HTTP, as `arguments.read_target` describes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.integrations.vllm.processor import Guided

__all__ = ["Guided"]


def __getattr__(name: str) -> object:
    """Import the processor when it is used: only it needs vLLM."""
    if name != "Guided":
        raise AttributeError(name)
    from structkit.integrations.vllm.processor import Guided

    return Guided
