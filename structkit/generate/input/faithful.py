"""The options of faithful sampling, and those that cannot be used with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import cast

from structkit.arguments.checks import check_choice, check_count
from structkit.limits import Limits

__all__ = ["check_particles", "read_particles"]

_DEFAULT_PARTICLES = 32
"""Particles without `particles=`: as many rows as a batch has by default."""

_FUNCTIONS = frozenset({"extract", "aextract", "generate", "agenerate", "render_prompt"})
"""Functions that may use faithful sampling."""

_OWN, _REFUSED = "it draws from the model's own distribution", "a refused value weighs 0, and is not repaired"

_EXCLUDED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("min_p", "processors", "repetition_penalty", "top_k", "top_p", "typical_p"), _OWN),
        **dict.fromkeys(("min_repair_probability", "repair", "retries"), _REFUSED),
        "abstain": "it would change values after they are weighed",
        "assistant_model": "particles have no drafts",
        "thinking": "a thought cannot be weighed",
    }
)
"""Options that cannot be used with faithful sampling, and why."""


def read_particles(function: str, options: Mapping[str, object]) -> int | None:
    """Return the number of particles of a call; `None` without faithful sampling.

    Args:
        function: The name of the public function.
        options: Its keyword arguments.

    Raises:
        ValueError: The function cannot use faithful sampling, or `sampling` has another value.

    >>> read_particles("generate", {}), read_particles("generate", {"sampling": "faithful"})
    (None, 32)
    """
    method = options.get("sampling", "masked")
    check_choice("sampling", method, ("masked", "faithful"))
    if method == "masked":
        if options.get("particles") is not None:
            raise ValueError("particles=... is for sampling='faithful'; pass both, or leave it out")
        return None
    if function not in _FUNCTIONS:
        raise ValueError(
            f"{function}() cannot use sampling='faithful', which weighs complete values against each other; call "
            "generate for each prompt"
        )
    limits = options.get("limits")
    most = limits.batch_rows if isinstance(limits, Limits) else _DEFAULT_PARTICLES
    given = cast("int | None", options.get("particles"))
    return min(_DEFAULT_PARTICLES, most) if given is None else given


def check_particles(particles: object, given: Collection[str], limits: Limits, temperature: float) -> None:
    """Check the options of faithful sampling.

    Args:
        particles: The number of particles.
        given: The names of the options of the call.
        limits: The limits of the call.
        temperature: The temperature.

    Raises:
        TypeError: `particles` is not an integer.
        ValueError: `particles` is out of range, or the call has an option that cannot be used.
    """
    check_count("particles", particles, 1)
    if cast("int", particles) > limits.batch_rows:
        raise ValueError(
            f"{particles} particles may need as many rows, and Limits.batch_rows is {limits.batch_rows}; take fewer, "
            f"or pass limits=structkit.Limits(batch_rows={particles})"
        )
    for name in sorted(_EXCLUDED.keys() & given):
        raise ValueError(
            f"sampling='faithful' cannot be used with {name}=...: {_EXCLUDED[name]}; leave it out"
        )
    if not temperature:
        raise ValueError(
            "sampling='faithful' needs a temperature above 0, because at 0 nothing is drawn; the default is 1"
        )
